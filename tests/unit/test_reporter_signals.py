from typing import Any

import pandas as pd
import pytest

from lab.contract.loading import parse_scenario
from lab.contract.scenario import Scenario
from lab.reporter.measures import spans_of, timed
from lab.reporter.signals import Crossing, FirstMoves, first_moves
from lab.reporter.thresholds import threshold_of
from lab.reporter.timeline import Timeline
from tests.journals import SMALL
from tests.unit.test_reporter_measures import START_AT, job

# Baseline 0 to 6 s, fault 6 to 12 s; p80 within 1 s.
SCENARIO = parse_scenario(SMALL, "small")
SIGNALS = {"queue_age_s": 0.0, "queue_depth": 0.0, "utilization_ratio": 0.4}


def sample(second: float, **values: float) -> dict[str, float]:
    return {"at": START_AT + second, **SIGNALS, **values}


def moves(
    samples: list[dict[str, float]],
    jobs: list[dict[str, Any]] | None = None,
    decisions: list[tuple[float, str]] | None = None,
    attempts: list[tuple[float, float | None]] | None = None,
    *,
    slack: Timeline | None = None,
    letter: str = "A",
    scenario: Scenario = SCENARIO,
) -> FirstMoves:
    tables = {
        "signals": pd.DataFrame(samples, columns=["at", *SIGNALS], dtype="float64"),
        "decision": pd.DataFrame(
            [(START_AT + second, would) for second, would in decisions or []], columns=["at", "would"]
        ),
        "attempt": pd.DataFrame(
            [(START_AT + second, ttft, 9.0) for second, ttft in attempts or []],
            columns=["started_at", "ttft_s", "endpoint_latency_s"],
            dtype="float64",
        ),
    }
    table = timed(pd.DataFrame(jobs or [job(1.0)]), START_AT, spans_of(scenario))
    return first_moves(table, tables, scenario, letter, START_AT, slack=slack or Timeline([], []))


def crossing(found: FirstMoves, signal: str) -> Crossing:
    return next(crossing for crossing in found.crossings if crossing.signal == signal)


def test_a_declared_threshold_is_the_arms_own_else_that_of_the_policy_that_has_one() -> None:
    assert threshold_of(SCENARIO, "B", "queue_age_s") == (0.4, "its own policy")
    assert threshold_of(SCENARIO, "A", "queue_age_s") == (0.4, "policy B")
    assert threshold_of(SCENARIO, "A", "queue_depth") is None


def test_lead_time_is_from_the_crossing_to_the_moment_the_slo_broke() -> None:
    # Due at 7.0, 7.1, ...: the fifth slow one of the last twenty makes it more than a fifth, a second after it was due.
    jobs = [job(number / 10) for number in range(20)] + [job(7 + number / 10, 1.5) for number in range(20)]
    found = moves([sample(1), sample(6.5, queue_age_s=0.5), sample(7, queue_age_s=0.9)], jobs)
    assert found.breach_s == pytest.approx(7.4 + 1.0)
    assert found.breach_since_fault_s == pytest.approx(2.4)
    age = crossing(found, "queue_age_s")
    assert age.crossed_s == pytest.approx(6.5)
    assert age.since_fault_s == pytest.approx(0.5)
    assert age.lead_s == pytest.approx(1.9)
    assert found.first == "queue_age_s"


def test_a_signal_that_crosses_after_the_breach_has_a_negative_lead() -> None:
    jobs = [job(6 + number / 10, 1.5) for number in range(20)]
    age = crossing(moves([sample(1), sample(11, queue_age_s=0.5)], jobs), "queue_age_s")
    assert age.lead_s is not None
    assert age.lead_s < 0


def test_without_a_breach_there_is_no_lead_and_without_a_crossing_no_first_signal() -> None:
    found = moves([sample(1), sample(7)])
    assert found.breach_s is None
    assert found.first is None
    assert crossing(found, "queue_age_s") == Crossing(
        "queue_age_s", 0.4, "policy B", None, None, None, false_alarm=False
    )


def test_a_crossing_in_the_baseline_is_a_false_alarm_and_not_the_first_move() -> None:
    age = crossing(moves([sample(2, queue_age_s=0.5), sample(7)]), "queue_age_s")
    assert age.false_alarm
    assert age.crossed_s is None


def test_a_threshold_that_nobody_declares_is_derived_from_the_baselines_highest() -> None:
    found = moves([sample(1, queue_depth=4, utilization_ratio=0.6), sample(7, queue_depth=6), sample(8, queue_depth=7)])
    depth, busy = crossing(found, "queue_depth"), crossing(found, "utilization_ratio")
    assert depth.threshold == 6.0
    assert depth.crossed_s == pytest.approx(8.0)
    # 1.5 x 0.6 lies closer to full than half-way.
    assert busy.threshold == pytest.approx(0.8)


def test_the_shed_rate_counts_what_enforce_would_have_shed_over_the_last_twenty_decisions() -> None:
    decisions = [(number / 4, "admit") for number in range(24)] + [(7.0, "shed"), (7.1, "shed"), (7.2, "shed")]
    shed = crossing(moves([sample(1)], decisions=decisions), "shed_ratio")
    # One in twenty is 5 %, which is not above 5 %.
    assert shed.threshold == 0.05
    assert shed.crossed_s == pytest.approx(7.1)


def test_the_providers_latency_is_seen_when_its_token_comes_or_the_call_is_given_up() -> None:
    attempts: list[tuple[float, float | None]] = [(number / 2, 0.1) for number in range(10)]
    slow: list[tuple[float, float | None]] = [(6.0, 0.9), (6.1, 0.9), (6.2, 0.9)]
    provider = crossing(moves([sample(1)], attempts=attempts + slow), "provider_ttft_s")
    assert provider.threshold == pytest.approx(0.15)
    # The median of five turns with the third slow one, whose token comes at 7.1 s.
    assert provider.crossed_s == pytest.approx(7.1)
    silent: list[tuple[float, float | None]] = [(6.0, None), (6.1, None), (6.2, None)]
    assert crossing(moves([sample(1)], attempts=attempts + silent), "provider_ttft_s").crossed_s == pytest.approx(15.2)


def test_slack_moves_when_more_of_the_queued_jobs_than_one_in_twenty_could_not_be_done_in_time() -> None:
    found = moves([sample(1)], slack=Timeline([1.0, 7.0, 8.0], [0.0, 0.05, 0.06]))
    slack = crossing(found, "negative_slack_ratio")
    assert (slack.threshold, slack.threshold_from) == (0.05, "1.5 x the baseline's highest, at least 5 %")
    assert slack.crossed_s == 8.0


def test_what_moved_first_is_said_with_what_came_next_and_how_much_later() -> None:
    found = moves([sample(1), sample(7, queue_depth=9), sample(8.5, queue_age_s=0.5)])
    assert (found.first, found.second) == ("queue_depth", "queue_age_s")
    assert found.ahead_s == pytest.approx(1.5)
    alone = moves([sample(1), sample(7, queue_depth=9)])
    assert (alone.first, alone.second, alone.ahead_s) == ("queue_depth", None, None)


def test_a_threshold_that_no_policy_declares_is_an_alerts_and_a_page_before_a_warning() -> None:
    alerts = """alerts:
  - {name: deep, signal: queue_depth, threshold: 3, severity: warn, action: Look.}
  - {name: deeper, signal: queue_depth, threshold: 7, severity: page, action: Look.}
  - {name: old, signal: queue_age, threshold: 9s, severity: page, action: Look.}
"""
    found = moves([sample(1), sample(7, queue_depth=8)], scenario=parse_scenario(SMALL + alerts, "small"))
    depth = crossing(found, "queue_depth")
    assert (depth.threshold, depth.threshold_from, depth.crossed_s) == (7.0, "alert deeper", 7.0)
    assert crossing(found, "queue_age_s").threshold_from == "policy B"


def test_a_derived_threshold_is_never_so_low_that_one_waiting_job_crosses_it() -> None:
    no_age = parse_scenario(SMALL.replace("kind: queue_age, max_age: 400ms", "kind: queue_depth, max_depth: 4"), "x")
    found = moves([sample(1), sample(7)], scenario=no_age)
    age = crossing(found, "queue_age_s")
    assert (age.threshold, age.threshold_from) == (0.1, "1.5 x the baseline's highest, at least 10 % of the SLO")
    assert crossing(moves([sample(1)]), "queue_depth").threshold == 2.0


def test_without_a_fault_times_count_from_the_start_and_the_first_tenth_stands_in_for_the_baseline() -> None:
    calm = parse_scenario(
        SMALL.replace("faults:\n  - {kind: latency, at: 6s, for: 6s, link: model, latency: 800ms}\n", ""), "x"
    )
    found = moves([sample(1, queue_age_s=0.5, queue_depth=9), sample(9, queue_depth=14)], scenario=calm)
    age, depth = crossing(found, "queue_age_s"), crossing(found, "queue_depth")
    assert age.since_fault_s == pytest.approx(1.0)
    assert not age.false_alarm
    assert (depth.threshold, depth.threshold_from) == (13.5, "1.5 x the first tenth's highest, at least one per slot")
    assert depth.crossed_s == pytest.approx(9.0)
