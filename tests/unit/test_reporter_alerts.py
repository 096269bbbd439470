"""When alerts would have fired: the rules of Prometheus over telemetry made by hand."""

import math
from pathlib import Path

import pytest
from pydantic import TypeAdapter

from lab.contract.alert_spec import Alert, AnyAlert
from lab.contract.loading import parse_scenario
from lab.reporter.alerts import AlertReport, Causes, Firing, evaluate_alerts, evaluation_times, firings, value_at
from lab.reporter.build import build_report
from lab.reporter.telemetry import Telemetry
from lab.reporter.timeline import Timeline
from tests.journals import SMALL, arm_events, small, write_arm
from tests.unit.test_reporter_build import read_json

ALERT: TypeAdapter[AnyAlert] = TypeAdapter(Alert)
EMPTY = Timeline([], [])


def alert(signal: str, threshold: object, **fields: object) -> AnyAlert:
    return ALERT.validate_python(
        {
            "name": "a",
            "signal": signal,
            "threshold": threshold,
            "severity": "page",
            "action": "Look.",
            **fields,
        }
    )


def telemetry(*, end_s: float = 9.0, faults: tuple[tuple[float, float], ...] = (), **timelines: Timeline) -> Telemetry:
    return Telemetry(end_s, timelines, timelines, timelines, timelines, faults)


def counted(*values: float) -> Timeline:
    """One event every half second from 0.5 s on."""
    return Timeline([(number + 1) / 2 for number in range(len(values))], list(values))


@pytest.mark.parametrize(
    ("held", "hold_s", "expected"),
    [
        ("000", 0, ()),
        ("011", 0, (Firing(1, None),)),
        ("0110", 0, (Firing(1, 3),)),
        # Pending at 1, held for 2 s at 3.
        ("01111", 2, (Firing(3, None),)),
        # A break starts the hold time again.
        ("0110111", 2, (Firing(6, None),)),
        ("0110110", 2, ()),
        ("1110111", 2, (Firing(2, 3), Firing(6, None))),
        # A hold time between two evaluations is reached at the second.
        ("0111", 1.5, (Firing(3, None),)),
    ],
)
def test_an_alert_fires_once_its_condition_has_held_without_a_break(
    held: str, hold_s: float, expected: tuple[Firing, ...]
) -> None:
    grid = [float(number) for number in range(len(held))]
    assert firings(grid, [each == "1" for each in held], hold_s) == expected


def test_a_hold_time_that_is_a_whole_number_of_intervals_is_not_missed_by_rounding() -> None:
    grid = [0.1 * number for number in range(6)]
    assert firings(grid, [True] * 6, 0.3) == (Firing(3 * 0.1, None),)


def test_a_gauge_keeps_its_last_value_and_has_none_before_the_first() -> None:
    seen = telemetry(queue_age=Timeline([1.0, 2.0], [0.5, 3.0]))
    condition = alert("queue_age", "2s")
    assert math.isnan(value_at(condition, seen, 0.5))
    assert [value_at(condition, seen, second) for second in (1.0, 1.9, 5.0)] == [0.5, 0.5, 3.0]


def test_a_rate_is_the_share_of_what_came_after_the_windows_begin_until_its_end() -> None:
    seen = telemetry(rejection_rate=counted(0, 0, 1, 1))
    condition = alert("rejection_rate", "5%", window="1s")
    # At 2.0 s the events of 1.5 and 2.0 s are in the window, and that of 1.0 s is not.
    assert [value_at(condition, seen, second) for second in (1.0, 1.5, 2.0)] == [0.0, 0.5, 1.0]
    assert math.isnan(value_at(condition, seen, 4.0))


def test_a_latency_is_the_nearest_rank_p95_of_its_window() -> None:
    seen = telemetry(provider_latency=Timeline([number / 100 for number in range(1, 101)], [*range(1, 101)]))
    assert value_at(alert("provider_latency", "1s", window="2s"), seen, 1.0) == 95


def test_drift_is_an_estimate_over_its_lowest_in_the_window_for_the_class_that_grew_most() -> None:
    seen = telemetry(chat=Timeline([0.0, 5.0], [1.0, 1.5]), batch=Timeline([0.0, 2.0, 5.0], [4.0, 2.0, 5.0]))
    condition = alert("drift", 2, window="4s")
    assert value_at(condition, seen, 4.9) == 1.0
    # Batch came down to 2 at 2 s, and from there went to 5.
    assert value_at(condition, seen, 5.0) == 2.5
    # The value held at the window's begin counts: 5 since 5 s.
    assert value_at(condition, seen, 9.5) == 1.0


def test_sheds_while_a_fault_acts_or_acted_within_the_window_are_not_without_fault() -> None:
    seen = telemetry(shed_without_fault=counted(*[1] * 18), faults=((3.0, 5.0),))
    condition = alert("shed_without_fault", "5%", window="1s")
    said = [math.isnan(value_at(condition, seen, second)) for second in (2.9, 3.0, 5.0, 6.0, 6.1)]
    assert said == [False, True, True, True, False]


def reported(held: AnyAlert, causes: Causes) -> AlertReport:
    scenario = parse_scenario(SMALL, "small").model_copy(update={"alerts": (held,)})
    seen = telemetry(queue_age=Timeline([0.0, 2.0, 3.0, 6.0], [0.0, 9.0, 0.0, 9.0]))
    return evaluate_alerts(scenario, seen, causes)[0]


def test_a_firing_before_the_fault_and_before_the_slo_breaks_is_a_false_alarm_and_gives_no_lead() -> None:
    report = reported(alert("queue_age", "1s"), Causes(injected_s=5.0, broke_s=8.5))
    assert report.false_alarms == (Firing(2.0, 3.0),)
    assert report.firings == (Firing(6.0, None),)
    assert (report.fired_s, report.since_fault_s, report.lead_s, report.result) == (6.0, 1.0, 2.5, "fired")


@pytest.mark.parametrize(
    ("causes", "result"),
    [
        (Causes(None, None), "false alarm"),
        # Nothing injected: the load itself broke the SLO, and the alert led it.
        (Causes(None, 8.5), "fired"),
        (Causes(7.0, None), "false alarm"),
        (Causes(1.0, None), "fired"),
    ],
)
def test_what_an_alert_was_about_decides_what_it_was(causes: Causes, result: str) -> None:
    assert reported(alert("queue_age", "1s"), causes).result == result


def test_an_alert_whose_signal_stays_below_its_threshold_never_fired() -> None:
    report = reported(alert("queue_age", "9s"), Causes(1.0, 2.0))
    assert (report.result, report.fired_s, report.lead_s) == ("never fired", None, None)


def test_an_alert_with_a_second_condition_fires_only_while_both_hold() -> None:
    both = alert("queue_age", "1s", only_when={"signal": "queue_age", "threshold": "10s"})
    assert reported(both, Causes(0.0, None)).result == "never fired"


def test_the_last_evaluation_is_the_last_that_the_telemetry_reaches() -> None:
    scenario = parse_scenario(SMALL, "small").model_copy(update={"alert_interval": 0.1})
    assert len(evaluation_times(scenario, telemetry(end_s=0.3))) == 4


ALERTS = """\
alerts:
  - {name: queue_old, signal: queue_age, threshold: 300ms, for: 1s, severity: page, action: "Look at <the> endpoint."}
  - {name: errors, signal: refused_in_error_rate, threshold: 1%, window: 5s, severity: warn, action: Look at Redis.}
"""


def test_the_report_shows_every_alert_of_every_arm_on_the_page_and_in_its_json(tmp_path: Path) -> None:
    scenario, text = small(SMALL + ALERTS)
    for letter in scenario.policies:
        write_arm(tmp_path, f"{letter}-1", arm_events(scenario, text, letter, rate_per_s=3.0))
    build_report(tmp_path)
    old, errors = read_json(tmp_path)["arms"][0]["alerts"]
    assert (old["result"], old["severity"], old["for_s"]) == ("fired", "page", 1.0)
    assert old["fired_s"] == old["firings"][0]["began_s"] >= 6.0
    assert errors["result"] == "never fired"
    page = (tmp_path / "report.html").read_text()
    assert "queue age &gt; 0.30 s for 1 s" in page
    assert "Look at &lt;the&gt; endpoint." in page
    assert page.count('<td class="text">never fired') == 2
