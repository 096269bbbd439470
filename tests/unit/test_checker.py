"""The checker, by faults planted in a recorded run: each is found and named, and an untouched run is clean."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lab.checker.check import check_run
from lab.checker.comparison import value_of
from lab.checker.measures import nearest_rank
from lab.checker.phases import phases_of, seconds
from lab.checker.recording import UnreadableError, read_recording
from lab.desk.border import carry_out
from lab.desk.check import check
from lab.reporter.build import build_report
from tests.journals import SMALL, arm_events, small, write_arm

Event = dict[str, Any]
Events = list[Event]


@pytest.fixture(scope="module")
def recorded() -> Events:
    """One arm in which jobs are shed, expire, and are late."""
    return recorded_from(SMALL)


def recorded_from(text: str) -> Events:
    scenario, text = small(text)
    return list(arm_events(scenario, text, "B", rate_per_s=5.0))


def run_of(folder: Path, events: Events, planted: Callable[[Events], None] | None = None) -> Path:
    """A run of one arm whose report was made before anything was planted in its journal."""
    path = write_arm(folder, "B-1", events)
    build_report(folder)
    if planted is not None:
        changed = [dict(event) for event in events]
        planted(changed)
        lines = (json.dumps(event, separators=(",", ":")) + "\n" for event in changed)
        path.write_text("".join(lines), encoding="utf-8")
    return folder


def first(events: Events, kind: str, **fields: Any) -> Event:
    return next(e for e in events if e["event"] == kind and all(e[name] == value for name, value in fields.items()))


def lose_a_job(events: Events) -> None:
    events.remove(first(events, "outcome"))


def run_a_job_twice(events: Events) -> None:
    ran = first(events, "attempt")
    events.insert(events.index(ran) + 1, ran | {"worker_id": "worker-2", "source": "worker-2"})


def settle_a_job_twice(events: Events) -> None:
    settled = first(events, "outcome", outcome="ok")
    events.insert(events.index(settled) + 1, settled | {"worker_id": "worker-2", "source": "worker-2"})


def settle_an_expired_job(events: Events) -> None:
    settled = first(events, "outcome", outcome="ok")
    events.insert(events.index(settled), settled | {"outcome": "expired"})
    settled["duplicate"] = True


def call_a_late_job_in_time(events: Events) -> None:
    settled = first(events, "outcome", outcome="ok")
    settled["finished_at"] = settled["deadline_at"] + 0.5


def cut_the_journal(events: Events) -> None:
    del events[-3:]


def forget_a_client_record(events: Events) -> None:
    events.remove(first(events, "request", status=429))


def settle_what_nobody_admitted(events: Events) -> None:
    settled = first(events, "outcome")
    events.insert(events.index(settled), settled | {"job_id": "j-stray", "request_id": "r-stray"})


def record_a_client_twice(events: Events) -> None:
    events.insert(-1, dict(first(events, "request")))


@pytest.mark.parametrize(
    ("planted", "sentence"),
    [
        (lose_a_job, "was lost: admitted, and nothing tells of its end"),
        (run_a_job_twice, "ran 2 times, and no declared fault explains a second delivery"),
        (settle_a_job_twice, "was settled 2 times; the first settlement alone may count"),
        (settle_an_expired_job, "was settled after expiry: it is both expired and done"),
        (call_a_late_job_in_time, "was settled after expiry: `ok`, 0.500 s past its deadline"),
        (cut_the_journal, "the journal is cut short"),
        (forget_a_client_record, "and the client recorded"),
        (settle_what_nobody_admitted, "job j-stray was settled, and no client's request was admitted as it"),
        (record_a_client_twice, "has 2 client records"),
    ],
)
def test_a_fault_planted_in_the_journal_is_found(
    recorded: Events, tmp_path: Path, planted: Callable[[Events], None], sentence: str
) -> None:
    problems = check_run(run_of(tmp_path / "run", recorded, planted)).problems
    assert any(sentence in problem for problem in problems), problems
    assert all(problem.startswith("arm B-1: ") for problem in problems)


def test_an_untouched_run_is_clean(recorded: Events, tmp_path: Path) -> None:
    run_dir = run_of(tmp_path / "run", recorded)
    found = check_run(run_dir)
    assert found.problems == ()
    numbers = found.arms[0].measured
    assert numbers["all"].offered == sum(numbers[phase].offered for phase in ("baseline", "fault", "recovery"))
    assert numbers["fault"].shed > 0
    assert carry_out(lambda: check(str(run_dir))) == 0


def tamper(run_dir: Path, phase: str, name: str, value: Any) -> None:
    path = run_dir / "report.json"
    document = json.loads(path.read_text(encoding="utf-8"))
    document["arms"][0]["phases"][phase][name] = value
    path.write_text(json.dumps(document), encoding="utf-8")


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("offered", 1, "fault, offered: the journal says"),
        ("shed_count", 10_000, "fault, shed_count: the journal says"),
        ("deadline_miss_rate", 0.987654, "report.json says 0.987654"),
        ("p95_ttft_s", 0.001, "report.json says 0.001"),
        ("p95_turnaround_s", None, "report.json says no sample"),
        ("p95_turnaround_s", "infinite", "report.json says infinite"),
        ("end_s", 11.0, "fault, end_s: the journal says 12, report.json says 11"),
    ],
)
def test_a_number_of_the_report_that_was_tampered_with_is_found(
    recorded: Events, tmp_path: Path, name: str, value: Any, words: str
) -> None:
    run_dir = run_of(tmp_path / "run", recorded)
    tamper(run_dir, "fault", name, value)
    (problem,) = check_run(run_dir).problems
    assert words in problem
    assert problem.startswith("arm B-1: fault, ")
    assert carry_out(lambda: check(str(run_dir))) == 1


def test_a_shed_counted_wrongly_in_the_ledger_is_found(recorded: Events, tmp_path: Path) -> None:
    run_dir = run_of(tmp_path / "run", recorded)
    path = run_dir / "report.json"
    document = json.loads(path.read_text(encoding="utf-8"))
    document["arms"][0]["ledger"]["shed"] += 1
    path.write_text(json.dumps(document), encoding="utf-8")
    (problem,) = check_run(run_dir).problems
    assert "ledger, shed: the journal says" in problem


def test_a_percentile_one_rank_off_is_found(recorded: Events, tmp_path: Path) -> None:
    """As an interpolated percentile would be: close to the right one, and another number."""
    run_dir = run_of(tmp_path / "run", recorded)
    right = check_run(run_dir).arms[0].measured["all"].p95_ttft_s
    assert right is not None
    tamper(run_dir, "all", "p95_ttft_s", right - 0.001)
    (problem,) = check_run(run_dir).problems
    assert "all, p95_ttft_s" in problem


def test_an_arm_that_the_report_forgot_is_found(recorded: Events, tmp_path: Path) -> None:
    run_dir = run_of(tmp_path / "run", recorded)
    write_arm(run_dir, "A-1", recorded)
    assert check_run(run_dir).problems == ("arm A-1: report.json does not have this arm",)


def test_a_second_run_after_a_worker_stood_still_is_told_and_allowed(tmp_path: Path) -> None:
    fault = "{kind: process, at: 6s, for: 6s, service: worker, action: pause}"
    events = recorded_from(SMALL.replace("{kind: latency, at: 6s, for: 6s, link: model, latency: 800ms}", fault))
    run_a_job_twice(events)
    found = check_run(run_of(tmp_path / "run", events))
    assert found.problems == ()
    assert "1 jobs ran more than once after a fault that explains it" in found.arms[0].notes[0]


def test_the_fault_phase_ends_when_the_service_is_ready_again(recorded: Events, tmp_path: Path) -> None:
    changed = [dict(event) for event in recorded]
    revert = first(changed, "fault", action="revert")
    revert["ready_at"] = revert["intended_at"] + 1.25
    write_arm(tmp_path, "B-1", changed)
    found = {phase.name: (phase.start_s, phase.end_s) for phase in phases_of(read_recording(tmp_path / "B-1"))}
    assert found == {"baseline": (0.0, 6.0), "fault": (6.0, 13.25), "recovery": (13.25, 18.0)}


def test_a_revert_that_came_before_the_declared_end_does_not_shorten_the_phase(
    recorded: Events, tmp_path: Path
) -> None:
    def answer_early(events: Events) -> None:
        first(events, "fault", action="revert")["ready_at"] = 0.0

    assert check_run(run_of(tmp_path / "run", recorded, answer_early)).problems == ()


@pytest.mark.parametrize(
    ("written", "sentence"),
    [
        (("B-1/journal.jsonl", ""), "is no run event"),
        (("B-1/journal.jsonl", "not json\n"), "is no event"),
        (("B-1/journal.jsonl", '{"event":"run","at":1}\n'), "a field is missing or of the wrong type"),
        (("report.json", "{}"), "is no report of the lab"),
        (("report.json", "["), "is no report of the lab"),
    ],
)
def test_what_cannot_be_read_is_said_in_one_sentence(
    recorded: Events, tmp_path: Path, capsys: pytest.CaptureFixture[str], written: tuple[str, str], sentence: str
) -> None:
    run_dir = run_of(tmp_path / "run", recorded)
    file, text = written
    (run_dir / file).write_text(text, encoding="utf-8")
    with pytest.raises(UnreadableError, match=sentence):
        check_run(run_dir)
    assert carry_out(lambda: check(str(run_dir))) == 3
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_a_missing_report_and_a_missing_run_have_codes_of_their_own(recorded: Events, tmp_path: Path) -> None:
    run_dir = run_of(tmp_path / "run", recorded)
    (run_dir / "report.json").unlink()
    assert carry_out(lambda: check(str(run_dir))) == 3
    assert carry_out(lambda: check(str(tmp_path / "nowhere"))) == 2


def test_both_forms_of_infinite_are_one_and_no_sample_is_another() -> None:
    assert value_of({"p95_ttft_s": "infinite"}, "p95_ttft_s") == float("inf")
    assert value_of({"p95_ttft_s": None, "p95_ttft_is_infinite": True}, "p95_ttft_s") == float("inf")
    assert value_of({"p95_ttft_s": None}, "p95_ttft_s") is None
    assert value_of({}, "p95_ttft_s") == "nothing"


def test_nearest_rank_by_hand() -> None:
    """Of 20 values the 19th, of 21 the 20th (19.95 rounded up), of one that one, of none nothing."""
    assert nearest_rank([float(n) for n in range(20, 0, -1)]) == 19.0
    assert nearest_rank([float(n) for n in range(1, 22)]) == 20.0
    assert nearest_rank([4.0]) == 4.0
    assert nearest_rank([]) is None


@pytest.mark.parametrize(("said", "value"), [("350ms", 0.35), ("6s", 6.0), ("2m", 120.0), (1.5, 1.5)])
def test_durations_as_a_journal_writes_them(said: str | float, value: float) -> None:
    assert seconds(said) == pytest.approx(value)
    with pytest.raises(ValueError, match="is no duration"):
        seconds("soon")
