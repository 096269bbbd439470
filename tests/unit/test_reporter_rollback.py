"""A rehearsed roll-back, on steps, sheds and alerts made by hand."""

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from lab.reporter.alerts import AlertReport, Firing
from lab.reporter.build import build_report
from lab.reporter.rollback import Rollback, measure_rollback
from tests.journals import SMALL, START_AT, Event, arm_events, small, write_arm
from tests.unit.test_reporter_alerts import alert

CAPACITY = {"phases": [{"phase": "baseline", "load_ratio": 0.5}, {"phase": "fault", "load_ratio": 1.5}]}
TIGHT = (10.0, "policy-1", "inject", "max_age 1ms")
LOGGED = (25.0, "mode-2", "inject", "log_only")
BACK = (40.0, "policy-1", "revert", "")


def steps(*given: tuple[float, str, str, str], kind: str = "policy", ok: bool = True) -> pd.DataFrame:
    rows = [(START_AT + at, name, action, detail, kind, ok) for at, name, action, detail in given]
    return pd.DataFrame(rows, columns=["applied_at", "name", "action", "detail", "kind", "ok"])


def sheds(*given: tuple[float, str]) -> pd.DataFrame:
    rows = [(START_AT + second, phase, "shed") for second, phase in given] + [(START_AT + 12.0, "baseline", "admitted")]
    return pd.DataFrame(rows, columns=["decided_at", "phase", "fate"])


def fired(*began_s: float, signal: str = "shed_without_fault") -> AlertReport:
    return AlertReport(alert(signal, "5%"), tuple(Firing(each, None) for each in began_s), (), None, None)


def rollback(*given: tuple[float, str, str, str], alerts: tuple[AlertReport, ...] = (), **more: Any) -> Rollback:
    jobs = sheds((9.0, "baseline"), (10.5, "baseline"), (20.0, "fault"), (24.9, "baseline"), (25.0, "baseline"))
    found = measure_rollback(steps(*given), jobs, alerts, more.get("capacity", CAPACITY), START_AT)
    assert found is not None
    return found


def test_time_to_detect_and_to_revert_and_what_was_shed_wrongly_meanwhile() -> None:
    found = rollback(BACK, TIGHT, LOGGED, alerts=(fired(3.0, 16.0), fired(18.0, signal="rejection_rate")))
    assert (found.change, found.reverted_by) == ("policy-1, inject: max_age 1ms", "mode-2, inject: log_only")
    assert found.detected_s == pytest.approx(16.0)
    assert found.time_to_detect_s == pytest.approx(6.0)
    assert found.time_to_revert_s == pytest.approx(9.0)
    assert found.exposed_s == pytest.approx(15.0)
    # Of the three sheds between the two switches one fell into a phase that is overloaded anyway.
    assert (found.shed_count, found.shed_wrongly_count) == (3, 2)


def test_an_alert_on_something_else_or_after_the_roll_back_detects_nothing() -> None:
    found = rollback(TIGHT, LOGGED, alerts=(fired(12.0, signal="deadline_miss_rate"), fired(26.0)))
    assert (found.detected_s, found.time_to_detect_s, found.time_to_revert_s) == (None, None, None)
    assert found.exposed_s == pytest.approx(15.0)


def test_a_switch_that_is_only_undone_at_its_end_is_reverted_then_and_one_never_undone_stands() -> None:
    assert rollback(TIGHT, BACK).reverted_by == "policy-1, revert"
    never = rollback(TIGHT, alerts=(fired(11.0),))
    assert (never.reverted_s, never.time_to_revert_s, never.exposed_s) == (None, None, None)
    assert never.shed_count == 4


def test_without_a_capacity_check_nobody_knows_what_was_shed_wrongly() -> None:
    assert rollback(TIGHT, LOGGED, capacity=None).shed_wrongly_count is None


def test_where_no_policy_was_switched_there_is_no_roll_back() -> None:
    assert measure_rollback(steps(TIGHT, kind="latency"), sheds(), (), CAPACITY, START_AT) is None
    assert measure_rollback(steps(TIGHT, ok=False), sheds(), (), CAPACITY, START_AT) is None


def test_the_report_states_the_roll_back_on_the_page_and_in_its_json(tmp_path: Path) -> None:
    alerts = (
        "alerts: [{name: too_tight, signal: rejection_rate, threshold: 5%, window: 3s, severity: page, action: x}]\n"
    )
    scenario, text = small(SMALL + alerts)
    events: list[Event] = list(arm_events(scenario, text, "B", rate_per_s=3.0))
    for event in events:
        if event["event"] == "fault":
            event.update(kind="policy", name="policy-1", detail="<max_age> 1ms")
    write_arm(tmp_path, "B-1", events)
    build_report(tmp_path)
    found = json.loads((tmp_path / "report.json").read_text())["arms"][0]["rollback"]
    assert (found["applied_s"], found["reverted_s"]) == (pytest.approx(6.004), pytest.approx(12.004))
    assert found["detected_by"] == "too_tight"
    assert found["time_to_detect_s"] == pytest.approx(found["detected_s"] - 6.004)
    assert found["shed_count"] > 0
    # The made-up capacity check says that the fault overloads the slots.
    assert found["shed_wrongly_count"] == 0
    page = (tmp_path / "report.html").read_text()
    assert "by the alert too tight; undone" in page
    assert "policy-1, inject: &lt;max_age&gt; 1ms" in page
