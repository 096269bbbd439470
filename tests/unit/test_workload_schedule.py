"""Schedules: fixed by the seed, each aspect from a stream of its own."""

import hashlib
from pathlib import Path
from typing import Any

import pytest

from lab.contract.messages import ScheduledRequest
from lab.contract.workload_spec import Workload
from lab.workload.errors import WorkloadError
from lab.workload.schedule import make_schedule, schedule_sha256, write_schedule

HERE = Path(__file__).parent
POISSON = {"kind": "poisson", "rate": "40/s"}
# What version of what library runs must not change what is played.
PINNED = "6933297d6f99852f8c6ded533155f3670b4f9b2e1a3be117e796dda7dcc45d22"
CHAT = {
    "service": {"kind": "tokens", "first_token": "100ms", "per_output_token": "5ms"},
    "output_tokens": {"kind": "lognormal", "mean": 60, "cv": 0.8, "most": 400},
    "deadline": {"low": "1s", "high": "2s"},
}
BATCH = {"weight": 3, "tenant": "night", "service": {"kind": "uniform", "low": "1s", "high": "3s"}, "deadline": "9s"}


def workload(arrivals: dict[str, Any] = POISSON, duration: str = "30s", **classes: dict[str, Any]) -> Workload:
    declared = classes or {"chat": CHAT, "batch": BATCH}
    return Workload.model_validate({"seed": 7, "duration": duration, "arrivals": arrivals, "classes": declared})


def played(declared: Workload, repeat: int = 1) -> tuple[ScheduledRequest, ...]:
    return make_schedule(declared, repeat, HERE)


def fields(requests: tuple[ScheduledRequest, ...], *names: str) -> list[list[Any]]:
    return [[getattr(request, name) for name in names] for request in requests]


def test_the_same_seed_gives_the_same_bytes_and_another_repeat_or_seed_does_not(tmp_path: Path) -> None:
    first = write_schedule(played(workload()), tmp_path / "a")
    assert write_schedule(played(workload()), tmp_path / "b") == first
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert schedule_sha256(played(workload(), repeat=2)) != first
    assert schedule_sha256(played(workload().model_copy(update={"seed": 8}))) != first


def test_the_hash_is_that_of_the_file_with_one_request_a_line(tmp_path: Path) -> None:
    requests = played(workload())
    assert write_schedule(requests, tmp_path / "s") == schedule_sha256(requests)
    data = (tmp_path / "s").read_bytes()
    assert hashlib.sha256(data).hexdigest() == schedule_sha256(requests)
    assert tuple(ScheduledRequest.model_validate_json(line) for line in data.splitlines()) == requests


def test_a_schedule_is_pinned_so_that_no_version_plays_other_arrivals() -> None:
    assert schedule_sha256(played(workload(duration="2s"))) == PINNED


def test_requests_are_numbered_in_order_of_due_time_within_the_duration() -> None:
    requests = played(workload())
    assert [request.request_id for request in requests] == [f"r{n + 1:06d}" for n in range(len(requests))]
    dues = [request.due_s for request in requests]
    assert dues == sorted(dues)
    assert max(dues) < 30


def test_times_are_whole_microseconds() -> None:
    times = fields(played(workload()), "due_s", "work_s", "first_token_s", "deadline_s")
    assert all(time == round(time, 6) for row in times for time in row)


def test_a_change_of_deadlines_leaves_all_else_as_it_was() -> None:
    after = played(workload(chat={**CHAT, "deadline": "5s"}, batch=BATCH))
    same = ("request_id", "due_s", "job_class", "input_tokens", "output_tokens", "work_s", "first_token_s")
    assert fields(after, *same) == fields(played(workload()), *same)
    assert {request.deadline_s for request in after if request.job_class == "chat"} == {5.0}


def test_a_change_of_token_law_leaves_arrivals_classes_and_deadlines_as_they_were() -> None:
    after = played(workload(chat={**CHAT, "output_tokens": {"kind": "uniform", "low": 1, "high": 9}}, batch=BATCH))
    assert fields(after, "due_s", "job_class", "deadline_s") == fields(
        played(workload()), "due_s", "job_class", "deadline_s"
    )


def test_a_change_of_arrivals_leaves_the_nth_request_what_it_was() -> None:
    before, after = played(workload()), played(workload({"kind": "constant", "rate": "10/s"}))
    same = ("request_id", "job_class", "output_tokens", "work_s", "deadline_s")
    assert fields(after, *same) == fields(before[: len(after)], *same)


def test_each_class_keeps_its_own_laws_and_tenant() -> None:
    requests = played(workload())
    chats = [request for request in requests if request.job_class == "chat"]
    batches = [request for request in requests if request.job_class == "batch"]
    assert len(chats) + len(batches) == len(requests)
    assert all(r.work_s == pytest.approx(0.1 + 0.005 * (r.output_tokens - 1)) for r in chats)
    assert all(r.first_token_s == 0.1 and 1 <= r.deadline_s <= 2 for r in chats)
    assert all(1 <= r.work_s <= 3 and r.first_token_s == pytest.approx(r.work_s / 4, abs=1e-6) for r in batches)
    assert {r.tenant for r in chats} == {"default"}
    assert {r.tenant for r in batches} == {"night"}


def test_a_replay_plays_recorded_times_and_tokens(tmp_path: Path) -> None:
    (tmp_path / "trace.csv").write_text("TIMESTAMP,ContextTokens,GeneratedTokens\n5,4808,7\n6.5,10,3\n")
    requests = make_schedule(workload({"kind": "replay", "file": "trace.csv"}, chat=CHAT), 1, tmp_path)
    assert fields(requests, "due_s", "input_tokens", "output_tokens", "work_s") == [
        [0.0, 4808, 7, pytest.approx(0.13)],
        [1.5, 10, 3, pytest.approx(0.11)],
    ]


def test_nothing_due_and_far_too_much_due_are_refused() -> None:
    with pytest.raises(WorkloadError, match="no request is due"):
        played(workload({"kind": "poisson", "rate": "0/s"}))
    with pytest.raises(WorkloadError, match="more than 1,000,000"):
        played(workload({"kind": "constant", "rate": "1000000/s"}))


def test_work_that_no_arm_could_carry_is_refused_with_its_class() -> None:
    slow = {"service": {"kind": "constant", "time": "48h"}, "deadline": "9s"}
    with pytest.raises(
        WorkloadError, match="class slow: a request with work_s 172,800 is due; it can be at most 86,400"
    ):
        played(workload(slow=slow))
    longest = {"service": {"kind": "constant", "time": "24h"}, "deadline": "24h"}
    assert played(workload(slow=longest))[0].work_s == 86_400


def test_more_tokens_than_a_message_carries_are_refused_with_their_class() -> None:
    tokens = {"kind": "constant", "value": 10_000_000}
    assert played(workload(long={**CHAT, "input_tokens": tokens}))[0].input_tokens == 10_000_000
    with pytest.raises(WorkloadError, match="class long: a request with input_tokens 10,000,001 is due; it can be"):
        played(workload(long={**CHAT, "input_tokens": {**tokens, "value": 10_000_001}}))
