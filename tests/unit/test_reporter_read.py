import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lab.reporter.read import FIELDS, read_arm
from tests.journals import Event, arm_events, small, write_arm


@pytest.fixture
def events() -> list[Event]:
    scenario, text = small()
    return list(arm_events(scenario, text, "A", rate_per_s=3.0))


def first(events: list[Event], kind: str) -> Event:
    return next(event for event in events if event["event"] == kind)


def test_a_sound_journal_is_read_whole_and_types_hold(tmp_path: Path, events: list[Event]) -> None:
    write_arm(tmp_path, "A-1", events)
    journal = read_arm(tmp_path / "A-1")
    assert journal.damage is None
    assert journal.header is not None
    assert journal.header.policy == "A"
    for kind in FIELDS:
        assert len(journal.tables[kind]) == sum(event["event"] == kind for event in events)
    assert journal.tables["request"]["due_at"].dtype == "float64"
    assert journal.tables["request"]["request_id"].iloc[0] == "r-000000"


def test_events_of_no_interest_and_unknown_kinds_are_passed_over(tmp_path: Path, events: list[Event]) -> None:
    extra = [{"event": kind, "at": 1.0, "source": "x"} for kind in ("heartbeat", "an_event_of_the_future")]
    write_arm(tmp_path, "A-1", [*events, *extra])
    assert read_arm(tmp_path / "A-1").damage is None


def test_requests_of_probes_are_left_out_of_every_table(tmp_path: Path, events: list[Event]) -> None:
    kinds = ("request", "decision", "attempt", "outcome")
    probes = [first(events, kind) | {"request_id": "probe-7"} for kind in kinds]
    write_arm(tmp_path, "A-1", [*events, *probes])
    journal = read_arm(tmp_path / "A-1")
    for kind in kinds:
        assert "probe-7" not in set(journal.tables[kind]["request_id"])


DAMAGES: dict[str, tuple[Callable[[list[Event]], Any], str]] = {
    "a field is missing": (lambda events: first(events, "outcome").pop("slot_s"), "an? outcome event lacks .*slot_s"),
    "a number is a word": (lambda events: first(events, "request").update(due_at="soon"), "due_at of the request"),
    "a number is null": (lambda events: first(events, "request").update(due_at=None), "due_at of the request"),
    "a number is infinite": (
        lambda events: first(events, "signals").update(queue_age_s=float("inf")),
        "no finite number",
    ),
    "a number is a list": (lambda events: first(events, "host").update(cpu_ratio=[1, 2]), "cpu_ratio of the host"),
    "a text is a number": (lambda events: first(events, "decision").update(request_id=7), "request_id of the decision"),
    "a text is a list": (lambda events: first(events, "outcome").update(job_id=["j"]), "job_id of the outcome"),
    "the header lacks its seed": (lambda events: events[0].pop("seed"), "'seed' is missing"),
    "the header's scenario is none": (lambda events: events[0].update(played={"name": "x"}), "'played' is no scenario"),
    "the header's policy is undeclared": (lambda events: events[0].update(policy="Z"), "policy 'Z' is not declared"),
    "there is no header": (lambda events: events.pop(0), "does not begin with a run event"),
}


@pytest.mark.parametrize("what", DAMAGES)
def test_damage_becomes_one_sentence_where(what: str, tmp_path: Path, events: list[Event]) -> None:
    damage, sentence = DAMAGES[what]
    damage(events)
    write_arm(tmp_path, "A-1", events)
    journal = read_arm(tmp_path / "A-1")
    assert journal.damage is not None
    assert "\n" not in journal.damage
    assert re.search(sentence, journal.damage)


def test_a_missing_and_an_empty_journal_are_damaged_and_have_empty_tables(tmp_path: Path) -> None:
    (tmp_path / "A-1").mkdir()
    write_arm(tmp_path, "B-1", [])
    for name in ("A-1", "B-1"):
        journal = read_arm(tmp_path / name)
        assert journal.header is None
        assert journal.damage
        assert all(table.empty for table in journal.tables.values())
