import math
from typing import Any

import pandas as pd
import pytest

from lab.contract.scenario import Scenario
from lab.reporter.measures import (
    PhaseMeasures,
    measure_phases,
    phase_of,
    spans_of,
    timed,
)
from lab.reporter.percentile import percentile
from lab.reporter.recovery import recovery_time_s
from tests.journals import small

START_AT = 1_000.0
NO_SIGNALS = pd.DataFrame(columns=["second", "phase", "queue_age_s", "queue_depth", "utilization_ratio"])


def job(due_s: float, ttft_s: float | None = 0.1, **fields: Any) -> dict[str, Any]:
    due_at = START_AT + due_s
    return {
        "request_id": f"r{due_s}",
        "job_class": "chat",
        "due_at": due_at,
        "sent_at": due_at,
        "fate": "admitted",
        "degraded": False,
        "projected_shed": False,
        "reason": "admitted",
        "outcome": "ok",
        "first_token_at": math.nan if ttft_s is None else due_at + ttft_s,
        "finished_at": due_at + (ttft_s or 0.0) + 0.3,
        "slot_s": 0.4,
        "duplicate_slot_s": 0.0,
        **fields,
    }


def shed(due_s: float, reason: str = "queue_age") -> dict[str, Any]:
    empty = {"first_token_at": math.nan, "finished_at": math.nan, "slot_s": math.nan, "outcome": None}
    return job(due_s, fate="shed", reason=reason, **empty)


def measured(*jobs: dict[str, Any], signals: pd.DataFrame = NO_SIGNALS) -> dict[str, PhaseMeasures]:
    scenario, spans = scenario_and_spans()
    return measure_phases(timed(pd.DataFrame(jobs), START_AT, spans), signals, scenario, spans)


def scenario_and_spans() -> tuple[Scenario, Any]:
    # Baseline 0 to 6 s, fault 6 to 12 s, recovery 12 to 18 s.
    scenario, _ = small()
    return scenario, spans_of(scenario)


@pytest.mark.parametrize(
    ("values", "percent", "expected"),
    [
        ([], 95, None),
        ([3.0], 50, 3.0),
        (list(range(1, 21)), 95, 19),
        (list(range(1, 101)), 99, 99),
        ([1.0, 2.0, 3.0, 4.0], 50, 2.0),
        ([1.0, math.inf], 50, 1.0),
        ([1.0, math.inf], 51, math.inf),
    ],
)
def test_a_percentile_is_the_smallest_value_that_so_many_do_not_exceed(
    values: list[float], percent: float, expected: float | None
) -> None:
    assert percentile(pd.Series(values, dtype="float64"), percent) == expected


def test_a_moment_belongs_to_the_phase_it_lies_in_and_borders_begin_a_phase() -> None:
    _, spans = scenario_and_spans()
    phases = phase_of(pd.Series([-0.1, 0.0, 5.99, 6.0, 12.0, 99.0]), spans)
    assert phases.tolist() == ["baseline", "baseline", "baseline", "fault", "recovery", "recovery"]


def test_counts_rates_and_goodput_are_per_phase_and_sum_up_to_the_whole() -> None:
    phases = measured(job(1), job(2, outcome="late"), shed(7), shed(8, "queue_depth"), job(9), job(13))
    fault = phases["fault"].numbers
    assert (fault["offered"], fault["admitted"], fault["shed_count"]) == (3, 1, 2)
    assert fault["shed_rate"] == pytest.approx(2 / 3)
    assert phases["fault"].shed_by_reason == pytest.approx({"queue_age": 1 / 3, "queue_depth": 1 / 3})
    assert phases["baseline"].numbers["deadline_miss_rate"] == 0.5
    assert phases["baseline"].numbers["goodput_per_s"] == pytest.approx(1 / 6)
    whole = phases["all"].numbers
    assert whole["offered"] == sum(phases[name].numbers["offered"] or 0 for name in ("baseline", "fault", "recovery"))
    assert whole["deadline_miss_rate"] == 0.25
    # Of six offered, three got their answer in time.
    assert whole["deadline_miss_rate_offered"] == 0.5


@pytest.mark.parametrize("outcome", ["expired", "timeout", "error", "dead_lettered", "unfinished", "lost"])
def test_a_failed_job_is_infinitely_late_even_where_a_first_token_came(outcome: str) -> None:
    numbers = measured(job(1), job(2, outcome=outcome))["baseline"].numbers
    assert numbers["p50_ttft_s"] == pytest.approx(0.1)
    assert numbers["p95_ttft_s"] == math.inf
    assert numbers["p99_turnaround_s"] == math.inf
    assert numbers["max_ttft_s"] == math.inf


def test_a_late_job_has_a_finite_latency_from_its_due_time() -> None:
    numbers = measured(job(1, 2.5, outcome="late"))["baseline"].numbers
    assert numbers["p95_ttft_s"] == pytest.approx(2.5)
    assert numbers["p95_turnaround_s"] == pytest.approx(2.8)


def test_a_phase_in_which_nothing_was_admitted_has_no_percentile_and_no_miss_rate() -> None:
    numbers = measured(job(1), shed(7), job(13))["fault"].numbers
    assert numbers["p95_ttft_s"] is None
    assert numbers["deadline_miss_rate"] is None
    assert numbers["deadline_miss_rate_offered"] == 1.0


def test_wasted_work_is_the_slot_time_of_jobs_not_ok_and_of_duplicates() -> None:
    numbers = measured(job(1, slot_s=3.0), job(2, slot_s=1.0, outcome="late"), job(3, slot_s=4.0, duplicate_slot_s=2.0))
    assert numbers["baseline"].numbers["wasted_slot_s"] == 3.0
    assert numbers["baseline"].numbers["wasted_work_ratio"] == pytest.approx(0.3)


def test_peaks_of_the_last_phase_include_the_drain_and_mean_utilization_does_not() -> None:
    signals = pd.DataFrame(
        {
            "second": [1.0, 13.0, 20.0],
            "phase": ["baseline", "recovery", "recovery"],
            "queue_age_s": [0.1, 1.0, 4.0],
            "queue_depth": [1.0, 5.0, 9.0],
            "utilization_ratio": [0.5, 1.0, 0.0],
        }
    )
    phases = measured(job(1), signals=signals)
    assert phases["recovery"].numbers["peak_queue_age_s"] == 4.0
    assert phases["recovery"].numbers["peak_queue_depth"] == 9
    assert phases["recovery"].numbers["mean_utilization_ratio"] == 1.0
    assert phases["all"].numbers["mean_utilization_ratio"] == 0.75
    assert phases["fault"].numbers["peak_queue_age_s"] is None


def recovery_of(after: list[float]) -> float | None:
    """Recovery where the baseline's p95 is 0.1 s and these are the first-token times after the fault, four a second."""
    jobs = [job(number / 4, 0.1) for number in range(24)]
    jobs += [job(12 + number / 4, ttft_s) for number, ttft_s in enumerate(after)]
    scenario, spans = scenario_and_spans()
    return recovery_time_s(timed(pd.DataFrame(jobs), START_AT, spans), scenario)


def test_recovery_is_at_once_where_nothing_was_slow_after_the_fault() -> None:
    assert recovery_of([0.1] * 24) == 0.0


def test_recovery_takes_until_half_of_the_next_jobs_are_back_for_good() -> None:
    # 18 slow ones: from the ninth of them on, ten of the next twenty are back.
    assert recovery_of([2.0] * 18 + [0.1] * 40) == pytest.approx(8 / 4)


def test_a_single_slow_job_does_not_undo_a_recovery() -> None:
    assert recovery_of([0.1] * 12 + [2.0] + [0.1] * 11) == 0.0


def test_recovery_never_comes_where_it_is_slow_to_the_end_or_slow_again_at_the_end() -> None:
    assert recovery_of([2.0] * 24) == math.inf
    assert recovery_of([0.1] * 24 + [2.0] * 24) == math.inf


def test_recovery_is_not_judged_on_fewer_than_twenty_jobs() -> None:
    assert recovery_of([0.1] * 19) is None


def test_degraded_jobs_are_measured_apart_and_projected_sheds_by_reason() -> None:
    phases = measured(
        job(1.0),
        job(2.0, degraded=True, outcome="late", reason="queue_age"),
        job(3.0, degraded=True, reason="queue_age"),
        job(4.0, projected_shed=True, reason="queue_depth"),
    )
    numbers = phases["baseline"].numbers
    assert (numbers["degraded_rate"], numbers["degraded_miss_rate"]) == (0.5, 0.5)
    assert numbers["p95_degraded_turnaround_s"] == pytest.approx(0.4)
    assert numbers["projected_shed_rate"] == 0.25
    assert phases["baseline"].degraded_by_reason == {"queue_age": 0.5}
    assert phases["baseline"].projected_by_reason == {"queue_depth": 0.25}
    assert phases["fault"].numbers["degraded_miss_rate"] is None


def test_jobs_done_and_jobs_past_the_slo_are_counted() -> None:
    numbers = measured(job(1.0), job(2.0, 1.5, outcome="late"), job(3.0, None, outcome="timeout"), shed(4.0))[
        "baseline"
    ].numbers
    assert (numbers["done_count"], numbers["slo_breach_count"]) == (2, 2)
