"""What the baseline was before the fault, told from jobs of which some were under way as the fault began."""

import math
from typing import Any

import pandas as pd
import pytest

from lab.reporter.before_fault import untouched
from lab.reporter.percentile import percentile

FAULT_S = 10.0


def baseline(turnaround_s: float, *, rate_per_s: int = 20, killed: bool = True) -> pd.DataFrame:
    """Jobs that each take the same time; those under way at the fault fail half a second into it, or go on."""
    rows: list[dict[str, Any]] = []
    for number in range(int(FAULT_S * rate_per_s)):
        due_s = number / rate_per_s
        under_way = due_s + turnaround_s >= FAULT_S
        failed = under_way and killed
        rows.append(job(due_s, FAULT_S + 0.5 if failed else due_s + turnaround_s, failed=failed))
    return pd.DataFrame(rows)


def job(due_s: float, finished_s: float, *, failed: bool = False, first_token_s: float = math.nan) -> dict[str, Any]:
    first_s = math.nan if failed and math.isnan(first_token_s) else first_token_s
    first_s = finished_s if not failed and math.isnan(first_s) else first_s
    return {
        "fate": "admitted",
        "due_at": 1000.0 + due_s,
        "due_s": due_s,
        "first_token_at": 1000.0 + first_s,
        "finished_at": 1000.0 + finished_s,
        "ttft_s": math.inf if failed else first_s - due_s,
        "turnaround_s": math.inf if failed else finished_s - due_s,
    }


def test_jobs_that_a_fault_killed_do_not_count() -> None:
    jobs = baseline(0.8)
    assert percentile(jobs["ttft_s"], 95) == math.inf
    judged = untouched(jobs, FAULT_S)
    assert judged["due_s"].max() <= FAULT_S - 0.8
    assert percentile(judged["ttft_s"], 95) == pytest.approx(0.8)


@pytest.mark.parametrize("slow_every", [15, 25, 100])
def test_leaving_the_killed_ones_out_does_not_leave_the_slow_ones_out(slow_every: int) -> None:
    """Every n-th job takes 3 s: judged on jobs that ended alone, the last seconds would look faster than they were."""
    slow, quick = baseline(3.0), baseline(0.2)
    mixed = pd.concat([slow.iloc[::slow_every], quick.drop(quick.index[::slow_every])]).sort_values("due_s")
    judged = untouched(mixed, FAULT_S)
    true_p95 = 3.0 if slow_every < 20 else 0.2
    assert percentile(judged["ttft_s"], 95) == pytest.approx(true_p95)
    assert judged["ttft_s"].lt(math.inf).all()


def test_a_job_under_way_stands_with_what_is_known_of_it() -> None:
    quick = baseline(0.2)
    hanging = pd.DataFrame([job(4.0, 11.0, failed=True), job(5.0, 11.0, failed=True, first_token_s=5.5)])
    judged = untouched(pd.concat([quick, hanging]), FAULT_S)
    shown = judged[judged["turnaround_s"].gt(1)][["due_s", "ttft_s", "turnaround_s"]].round(6)
    assert shown.to_numpy().tolist() == [[4.0, 6.0, 6.0], [5.0, 0.5, 5.0]]


def test_what_failed_before_the_fault_is_the_baselines_own() -> None:
    own = pd.DataFrame([job(second / 10, second / 10 + 0.1, failed=True) for second in range(50)])
    assert percentile(untouched(pd.concat([baseline(0.2), own]), FAULT_S)["ttft_s"], 95) == math.inf


def test_nothing_is_judged_where_nothing_ended_before_the_fault() -> None:
    assert untouched(baseline(30.0), FAULT_S).empty
    assert untouched(baseline(0.2).assign(fate="shed"), FAULT_S).empty
