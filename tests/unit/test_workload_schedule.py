"""Schedules: fixed by the seed, each aspect from a stream of its own."""

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lab.contract.messages import ScheduledRequest
from lab.contract.workload_spec import Workload
from lab.workload.errors import WorkloadError
from lab.workload.schedule import make_schedule, write_schedule

HERE = Path(__file__).parent
POISSON = {"kind": "poisson", "rate": "40/s"}


def workload(arrivals: dict[str, Any], *, duration: str = "30s", **changes: Any) -> Workload:
    chat = {
        "service": {"kind": "tokens", "first_token": "100ms", "per_output_token": "5ms"},
        "output_tokens": {"kind": "lognormal", "mean": 60, "cv": 0.8, "most": 400},
        "deadline": {"low": "1s", "high": "2s"},
    }
    batch = {"weight": 3, "service": {"kind": "uniform", "low": "1s", "high": "3s"}, "deadline": "9s"}
    declared = {"seed": 7, "duration": duration, "arrivals": arrivals, "classes": {"chat": chat, "batch": batch}}
    return Workload.model_validate({**declared, **changes})


def played(declared: Workload, repeat: int = 1) -> tuple[ScheduledRequest, ...]:
    return make_schedule(declared, repeat, HERE)


def dues(declared: Workload) -> list[float]:
    return [request.due_s for request in played(declared)]


def test_the_same_seed_gives_the_same_bytes_and_another_repeat_does_not(tmp_path: Path) -> None:
    declared = workload(POISSON)
    first = write_schedule(played(declared), tmp_path / "a")
    assert write_schedule(played(declared), tmp_path / "b") == first
    assert write_schedule(played(declared, repeat=2), tmp_path / "c") != first
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_a_schedule_is_pinned_so_that_no_version_plays_other_arrivals(tmp_path: Path) -> None:
    digest = write_schedule(played(workload(POISSON, duration="2s")), tmp_path / "pinned")
    assert digest == PINNED


PINNED = "56975ed267d496df41b3e5712927c3dff70f572cdca2e67d2d037f72812f8061"


def test_a_change_of_deadlines_leaves_arrivals_classes_and_service_as_they_were() -> None:
    before = played(workload(POISSON))
    classes = workload(POISSON).model_dump(mode="json")["classes"]
    classes["chat"]["deadline"] = "5s"
    after = played(workload(POISSON, classes=classes))
    same = ("request_id", "due_s", "job_class", "output_tokens", "work_s", "first_token_s")
    assert [[getattr(r, name) for name in same] for r in before] == [[getattr(r, name) for name in same] for r in after]
    assert {r.deadline_s for r in after if r.job_class == "chat"} == {5.0}


def test_constant_arrivals_are_evenly_spaced_and_end_before_the_duration() -> None:
    assert dues(workload({"kind": "constant", "rate": "4/s"}, duration="2s")) == [n / 4 for n in range(8)]


def test_poisson_arrivals_have_the_declared_rate_and_exponential_gaps() -> None:
    times = np.array(dues(workload(POISSON, duration="500s")))
    gaps = np.diff(times)
    # Five standard deviations of a Poisson count of 20,000 are 3.5 %.
    assert len(times) == pytest.approx(20_000, rel=0.035)
    assert gaps.std() / gaps.mean() == pytest.approx(1, abs=0.05)


@pytest.mark.parametrize("process", ["poisson", "constant"])
def test_a_ramp_has_a_third_of_a_steps_arrivals_in_its_first_half(process: str) -> None:
    ramp = {
        "kind": "stages",
        "process": process,
        "stages": [{"lasts": "200s", "start_rate": "0/s", "end_rate": "100/s"}],
    }
    times = np.array(dues(workload(ramp, duration="200s")))
    assert len(times) == pytest.approx(10_000, rel=0.05)
    assert (times < 100).mean() == pytest.approx(0.25, abs=0.02)
    assert times.max() < 200


def test_bursts_come_and_go_as_declared() -> None:
    bursts = {"kind": "on_off", "on_rate": "50/s", "off_rate": "0/s", "mean_on": "2s", "mean_off": "6s"}
    times = np.array(dues(workload(bursts, duration="2000s")))
    active = np.bincount(times.astype(int), minlength=2000) > 0
    assert len(times) / 2000 == pytest.approx(50 * 2 / 8, rel=0.25)
    assert 0.2 < active.mean() < 0.5


def test_classes_come_by_weight_and_keep_their_own_laws() -> None:
    requests = played(workload(POISSON, duration="200s"))
    shares = Counter(request.job_class for request in requests)
    assert shares["batch"] / len(requests) == pytest.approx(0.75, abs=0.03)
    chats = [r for r in requests if r.job_class == "chat"]
    assert all(r.work_s == pytest.approx(0.1 + 0.005 * r.output_tokens) for r in chats)
    assert np.mean([r.output_tokens for r in chats]) == pytest.approx(60, rel=0.1)
    assert all(
        1 <= r.work_s <= 3 and r.first_token_s == pytest.approx(r.work_s / 4, abs=1e-5)
        for r in requests
        if r not in chats
    )


def replay(**changes: Any) -> dict[str, Any]:
    return {"kind": "replay", "file": "trace.csv", **changes}


def make_trace(folder: Path, lines: str) -> Path:
    (folder / "trace.csv").write_text("TIMESTAMP,ContextTokens,GeneratedTokens\n" + lines, encoding="utf-8")
    return folder


def test_a_replay_plays_recorded_times_and_tokens_in_order(tmp_path: Path) -> None:
    folder = make_trace(tmp_path, "2023-11-16 18:17:04.0000000,10,3\n2023-11-16 18:17:03.9799600,4808,7\n")
    first, second = make_schedule(workload(replay()), 1, folder)
    assert (first.due_s, first.input_tokens, first.output_tokens) == (0.0, 4808, 7)
    assert (second.due_s, second.output_tokens) == (pytest.approx(0.02004), 3)


def test_a_replay_is_compressed_thinned_and_cut(tmp_path: Path) -> None:
    folder = make_trace(tmp_path, "".join(f"{n},10,3\n" for n in range(100)))
    fast = make_schedule(workload(replay(time_scale=2), duration="10s"), 1, folder)
    assert [request.due_s for request in fast] == [n / 2 for n in range(20)]
    doubled = make_schedule(workload(replay(rate_scale=2), duration="10s"), 1, folder)
    assert len(doubled) == 20
    thinned = make_schedule(workload(replay(rate_scale=0.5), duration="100s"), 1, folder)
    assert 25 < len(thinned) < 75


@pytest.mark.parametrize(
    ("lines", "sentence"),
    [("1,2,3\nnoon,2,3\n", r"trace.csv:3: 'noon', '2', '3' are not a timestamp"), ("1,2\n", r"trace.csv:2: ")],
    ids=["bad stamp", "short line"],
)
def test_a_bad_line_of_a_trace_is_named(tmp_path: Path, lines: str, sentence: str) -> None:
    with pytest.raises(WorkloadError, match=sentence):
        make_schedule(workload(replay()), 1, make_trace(tmp_path, lines))


def test_a_trace_without_the_column_or_the_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(WorkloadError, match="cannot be read"):
        make_schedule(workload(replay()), 1, tmp_path)
    with pytest.raises(WorkloadError, match="has no column 'when'; it has TIMESTAMP"):
        make_schedule(workload(replay(timestamp_column="when")), 1, make_trace(tmp_path, "1,2,3\n"))


def test_nothing_due_and_far_too_much_due_are_refused() -> None:
    with pytest.raises(WorkloadError, match="no request is due"):
        played(workload({"kind": "poisson", "rate": "0/s"}))
    with pytest.raises(WorkloadError, match="more than 1,000,000"):
        played(workload({"kind": "constant", "rate": "1000000/s"}))
