from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lab.reporter.arm import ArmReport, report_arm
from lab.reporter.doubts import CODES, schedule_doubts, too_few
from lab.reporter.read import read_arm
from tests.journals import SMALL, START_AT, Event, arm_events, small, write_arm

# Calm: at one request a second and more samples than p80 needs, nothing gives rise to a doubt.
CALM = SMALL.replace("duration: 18s", "duration: 150s").replace("at: 6s, for: 6s", "at: 50s, for: 50s")


@pytest.fixture
def doubts_of(tmp_path: Path) -> Callable[..., dict[str, list[str]]]:
    def find(change: Callable[[Event], Any] = lambda _event: None, text: str = CALM) -> dict[str, list[str]]:
        scenario, text = small(text)
        events = arm_events(scenario, text, "A", rate_per_s=1.0)
        return _doubts(_arm(tmp_path, [event for event in events if change(event) != "lost"]))

    return find


def _arm(run_dir: Path, events: list[Event]) -> ArmReport:
    write_arm(run_dir, "A-1", events)
    journal = read_arm(run_dir / "A-1")
    assert journal.header is not None
    return report_arm(journal, journal.header)


def _doubts(arm: ArmReport) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for doubt in arm.doubts:
        assert doubt.advice == CODES[doubt.code]
        found.setdefault(doubt.code, []).append(doubt.sentence)
    return found


def where(kind: str, **fields: Any) -> Callable[[Event], None]:
    """Changes every event of a kind; `name` picks among the checks."""
    name = fields.pop("check", None)

    def change(event: Event) -> None:
        if event["event"] == kind and (name is None or event["name"] == name):
            event.update(fields)

    return change


def between(kind: str, begin_s: float, end_s: float, **fields: Any) -> Callable[[Event], None]:
    """Changes every event of a kind at some seconds of the load, the end left out."""

    def change(event: Event) -> None:
        if event["event"] == kind and begin_s <= event["at"] - START_AT < end_s:
            event.update(fields)

    return change


def test_a_calm_run_gives_rise_to_no_doubt(doubts_of: Callable[..., dict[str, list[str]]]) -> None:
    assert doubts_of() == {}


def late(event: Event) -> None:
    if event["event"] == "request":
        event["sent_at"] = event["due_at"] + 0.06


def unsent(event: Event) -> str | None:
    if event["event"] == "request" and int(event["request_id"][2:]) % 20 == 0:
        event.update(sent_at=None, answered_at=None, status=None, job_id=None)
        return None
    number = event.get("request_id", "r-1")[2:]
    return "lost" if event["event"] in ("decision", "outcome") and int(number) % 20 == 0 else None


def drifting(event: Event) -> None:
    slow = event["event"] == "outcome" and 25 <= event["enqueued_at"] - START_AT < 50
    if slow:
        event["first_token_at"] += 0.6


def breaching(event: Event) -> None:
    if event["event"] == "outcome":
        event["first_token_at"] += 1.5


def lost_outcome(event: Event) -> str | None:
    return "lost" if event["event"] == "outcome" and event["job_id"] == "j-000003" else None


def no_injection(event: Event) -> str | None:
    return "lost" if event["event"] == "fault" else None


def no_proof(event: Event) -> str | None:
    return "lost" if event.get("name") == "clean_state" else None


FIRING: dict[str, tuple[Callable[[Event], Any], str, str]] = {
    "sends are late": (late, "generator_late", "p99 send lag is 60 ms; at most 50 ms is sound"),
    "a part was never sent": (unsent, "generator_late", "one in a hundred was never sent; at most 50 ms is sound"),
    "the machine is busy": (
        where("host", cpu_ratio=0.95),
        "host_saturated",
        "the machine was 95 % busy over the load; the limit is 90 %",
    ),
    "something else takes a core": (
        between("host", 20.0, 38.0, other_cpu_cores=0.9, cpu_pressure_ratio=0.5),
        "other_work",
        "other work took 0.9 of 2 cores between second 19 and 37; tasks waited for a core 50 % of that time",
    ),
    "the baseline drifts": (
        drifting,
        "no_steady_state",
        "the baseline drifts: p95 time to first token goes from 0.33 s",
    ),
    "the baseline breaches": (breaching, "no_steady_state", "the baseline itself breaches the SLO: p80 time to first"),
    "a fault touched nothing": (
        where("fault", touched_connections=0),
        "fault_touched_nothing",
        "the fault latency-1 touched no connection",
    ),
    "a fault was not injected": (no_injection, "fault_touched_nothing", "0 of 1 declared faults were injected"),
    "an injection failed": (where("fault", ok=False), "fault_touched_nothing", "0 of 1 declared faults were injected"),
    "something was left": (
        where("check", check="clean_state", ok=False, detail="a toxic is left"),
        "leftovers",
        "the stack was not clean afterwards: a toxic is left",
    ),
    "nothing proves a clean state": (no_proof, "leftovers", "the journal holds no proof that the stack was clean"),
    "a worker's line is lost": (lost_outcome, "unbalanced_book", "1 admitted job has no outcome from a worker"),
    "the warm-up failed": (
        where("check", check="steady_state", ok=False, detail="probes took 3 s"),
        "warm_up_not_reached",
        "the steady state was not reached before the load: probes took 3 s",
    ),
    "the clocks disagree": (
        where("check", check="clock", ok=False, detail="by 80 ms"),
        "clock_skew",
        "the clocks disagree: by 80 ms",
    ),
}


@pytest.mark.parametrize("what", FIRING)
def test_there_is_a_doubt_where(what: str, doubts_of: Callable[..., dict[str, list[str]]]) -> None:
    change, code, sentence = FIRING[what]
    found = doubts_of(change)
    assert set(found) == {code}
    assert found[code][0].startswith(sentence)


def test_too_few_requests_sent_is_told_with_the_share(doubts_of: Callable[..., dict[str, list[str]]]) -> None:
    assert any(
        "of the offered requests were sent; at least 98 %" in said for said in doubts_of(unsent)["generator_late"]
    )


def test_a_load_that_begins_with_its_fault_has_no_steady_state(
    doubts_of: Callable[..., dict[str, list[str]]],
) -> None:
    found = doubts_of(text=CALM.replace("at: 50s", "at: 0s"))
    assert found["no_steady_state"] == ["the fault begins with the load, so there is no baseline before it"]


def unknown_for_a_while(event: Event) -> None:
    """Redis is away from second 60 to 62."""
    if event["event"] == "signals" and 60 <= event["at"] - START_AT < 62:
        event.update(dict.fromkeys(set(event) - {"event", "at", "source"}))


def test_signals_that_were_not_known_are_a_hole_and_no_zero(tmp_path: Path) -> None:
    scenario, text = small(CALM)
    events = list(arm_events(scenario, text, "A", rate_per_s=1.0))
    for event in events:
        unknown_for_a_while(event)
    series = _arm(tmp_path, events).series.signals
    hole = series[series["second"].between(60, 61.5)]
    assert len(hole) == 1
    assert hole[["queue_age_s", "queue_depth", "utilization_ratio"]].isna().all(axis=None)


def killed_by_the_fault(event: Event) -> None:
    """Every job of the baseline takes 4 s longer; those still under way at second 50, when the fault begins, fail."""
    if event["event"] == "outcome" and event["enqueued_at"] < START_AT + 50:
        event["finished_at"] += 4.0
        if event["finished_at"] >= START_AT + 50:
            event.update(outcome="error", first_token_at=None)


def test_jobs_under_way_as_the_fault_began_are_no_drift_of_the_baseline(
    doubts_of: Callable[..., dict[str, list[str]]],
) -> None:
    """They are more than 5 % of its second half, whose p95 would be infinite with them."""
    assert doubts_of(killed_by_the_fault) == {}


def test_a_baseline_in_which_nothing_ended_is_no_reference(doubts_of: Callable[..., dict[str, list[str]]]) -> None:
    def endless(event: Event) -> None:
        if event["event"] == "outcome" and event["enqueued_at"] < START_AT + 50:
            event.update(outcome="error", first_token_at=None, finished_at=START_AT + 51)

    said = doubts_of(endless)["no_steady_state"]
    assert said == ["no admitted job ended before the fault began, so there is nothing to tell it from"]


def test_a_short_phase_has_too_few_samples(doubts_of: Callable[..., dict[str, list[str]]]) -> None:
    found = doubts_of(text=CALM.replace("percentile: 80", "percentile: 95"))
    sentences = found["too_few_samples"]
    assert [sentence.split(":")[0] for sentence in sentences] == ["baseline", "fault", "recovery"]
    assert all(sentence.endswith("admitted jobs, fewer than 5 beyond it") for sentence in sentences)


@pytest.mark.parametrize(
    ("count", "percent", "few"), [(100, 95, False), (99, 95, True), (500, 99, False), (10, 50, False)]
)
def test_so_many_samples_are_too_few(count: float, percent: float, few: bool) -> None:
    assert too_few(count, percent) is few


def test_arms_of_one_repeat_must_have_played_one_schedule() -> None:
    played = {"A-1": (1, "x"), "A-2": (2, "y"), "B-1": (1, "x"), "B-2": (2, "z")}
    (doubt,) = schedule_doubts(played)
    assert (doubt.code, doubt.arm) == ("different_schedules", "B-2")
    assert doubt.sentence == "it played another schedule than A-2"


@pytest.mark.parametrize("signals_stop", [True, False])
def test_a_runner_that_stood_still_is_a_doubt_with_its_gap_and_the_faults_it_made_late(
    tmp_path: Path, signals_stop: bool
) -> None:
    """Second 47.1 to 51.2, over the fault that is due at 50."""
    scenario, text = small(CALM)
    events = list(arm_events(scenario, text, "A", rate_per_s=1.0))
    began_at, ended_at = START_AT + 47.1, START_AT + 51.2
    if signals_stop:
        events = [e for e in events if e["event"] != "signals" or not began_at < e["at"] < ended_at]
    next(e for e in events if e["event"] == "fault").update(applied_at=ended_at)
    stood = {"event": "standstill", "at": ended_at, "source": "runner", "began_at": began_at, "ended_at": ended_at}
    arm = _arm(tmp_path, [*events[:-1], stood, events[-1]])
    (sentence,) = _doubts(arm)["runner_stood_still"]
    signals = "the signals have a gap" if signals_stop else "the gate's signals went on"
    assert sentence == (
        f"the runner stood still from second 47.1 to 51.2; {signals}; the inject of latency-1 came 1.2 s late"
    )
    assert bool(arm.series.signals["queue_depth"].isna().any()) is signals_stop
