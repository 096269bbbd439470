"""What one arm did, per phase and class, as numbers. Pure: from the book's jobs and the sampled signals.

A request belongs to the phase in which it was due; latencies count from the due time. Percentiles are nearest-rank on
raw samples: the smallest value that at least p % of the jobs do not exceed, so that "p95 within 2 s" says that 95 % of
them were.
"""

import math
from dataclasses import dataclass

import pandas as pd

from lab.contract.scenario import Scenario
from lab.reporter.percentile import percentile
from lab.reporter.recovery import recovery_time_s

# By name in the catalogue, which says the unit. Infinite: too many failed. None: nothing to measure.
Values = dict[str, float | None]
DONE = ("ok", "late")


@dataclass(frozen=True, slots=True)
class Span:
    """A phase, in seconds after the first due time."""

    phase: str
    start_s: float
    end_s: float

    @property
    def length_s(self) -> float:
        """Seconds from start to end."""
        return self.end_s - self.start_s


@dataclass(frozen=True, slots=True)
class PhaseMeasures:
    """The numbers of one phase, and by reason the shares of the offered requests that were treated so.

    Projected are those admitted where the policy, enforced, would have shed them. `slo_samples_s` are the admitted
    jobs' values of the SLO's measure in the order of their due times, infinite for a failed job.
    """

    span: Span
    numbers: Values
    shed_by_reason: dict[str, float]
    degraded_by_reason: dict[str, float]
    projected_by_reason: dict[str, float]
    slo_samples_s: tuple[float, ...] = ()


def spans_of(scenario: Scenario) -> tuple[Span, ...]:
    """The scenario's phases in order."""
    return tuple(Span(phase, start, end) for phase, (start, end) in scenario.phase_windows().items())


def timed(jobs: pd.DataFrame, start_at: float, spans: tuple[Span, ...]) -> pd.DataFrame:
    """The book's jobs with due_s, phase, ttft_s and turnaround_s: infinite for a job that failed, empty for no job."""
    jobs = jobs.assign(due_s=jobs["due_at"] - start_at)
    jobs["phase"] = phase_of(jobs["due_s"], spans)
    admitted, done = jobs["fate"].eq("admitted"), jobs["outcome"].isin(DONE)
    for name, reached_at in (("ttft_s", "first_token_at"), ("turnaround_s", "finished_at")):
        reached = (jobs[reached_at] - jobs["due_at"]).where(done & jobs[reached_at].notna(), math.inf)
        jobs[name] = reached.where(admitted)
    return jobs


def phase_of(seconds: pd.Series, spans: tuple[Span, ...]) -> pd.Series:
    """The phase that each moment lies in; what lies before the first or after the last counts there."""
    edges = [-math.inf, *(span.start_s for span in spans[1:]), math.inf]
    return pd.cut(seconds, bins=edges, labels=[span.phase for span in spans], right=False).astype(object)


def measure_phases(
    jobs: pd.DataFrame, signals: pd.DataFrame, scenario: Scenario, spans: tuple[Span, ...]
) -> dict[str, PhaseMeasures]:
    """Every phase's numbers, and those of `all`. `jobs` are timed; `signals` have `second` and `phase`."""
    whole = Span("all", spans[0].start_s, spans[-1].end_s)
    recovery = recovery_time_s(jobs, scenario)
    result = {}
    for span in (*spans, whole):
        chosen, sampled = (jobs, signals) if span is whole else (_in(jobs, span), _in(signals, span))
        values = _values(chosen, span, scenario) | _signal_values(sampled, span)
        if span.phase in ("recovery", "all"):
            values["recovery_time_s"] = recovery
        result[span.phase] = PhaseMeasures(span, values, *_by_reasons(chosen), _slo_samples_s(chosen, scenario))
    return result


def measure_classes(
    jobs: pd.DataFrame, scenario: Scenario, spans: tuple[Span, ...]
) -> dict[str, dict[str, PhaseMeasures]]:
    """The same per class, where there are several; the signals are the queue's and belong to no class."""
    names = sorted(jobs["job_class"].unique())
    if len(names) < 2:  # noqa: PLR2004 - several begins at two
        return {}
    whole = Span("all", spans[0].start_s, spans[-1].end_s)
    return {
        name: {
            span.phase: _class_measures(jobs[jobs["job_class"].eq(name)], span, scenario) for span in (*spans, whole)
        }
        for name in names
    }


def _class_measures(jobs: pd.DataFrame, span: Span, scenario: Scenario) -> PhaseMeasures:
    chosen = jobs if span.phase == "all" else _in(jobs, span)
    return PhaseMeasures(span, _values(chosen, span, scenario), *_by_reasons(chosen))


def _slo_samples_s(jobs: pd.DataFrame, scenario: Scenario) -> tuple[float, ...]:
    admitted = jobs[jobs["fate"].eq("admitted")].sort_values("due_s", kind="stable")
    return tuple(admitted[f"{scenario.slo.measure}_s"].tolist())


def _in(table: pd.DataFrame, span: Span) -> pd.DataFrame:
    return table[table["phase"].eq(span.phase)]


def _values(jobs: pd.DataFrame, span: Span, scenario: Scenario) -> Values:
    admitted = jobs[jobs["fate"].eq("admitted")]
    offered, ok = len(jobs), int(admitted["outcome"].eq("ok").sum())
    fates = jobs["fate"].value_counts()
    shed = int(fates.get("shed", 0))
    return {
        "offered": offered,
        "admitted": len(admitted),
        "shed_count": shed,
        "refused_in_error": int(fates.get("refused_in_error", 0)),
        "unanswered": int(fates.get("unanswered", 0)),
        "arrival_rate_per_s": offered / span.length_s,
        "shed_rate": _share(shed, offered),
        "projected_shed_rate": _share(int(jobs["projected_shed"].sum()), offered),
        "degraded_rate": _share(int(admitted["degraded"].sum()), offered),
        "deadline_miss_rate": _share(len(admitted) - ok, len(admitted)),
        "deadline_miss_rate_offered": _share(offered - ok, offered),
        "goodput_per_s": ok / span.length_s,
        "done_count": int(admitted["outcome"].isin(DONE).sum()),
        "slo_breach_count": int(admitted[f"{scenario.slo.measure}_s"].gt(scenario.slo.within).sum()),
        **_degraded(admitted[admitted["degraded"]]),
        **_latencies(admitted, scenario),
        **_waste(admitted),
    }


def _degraded(jobs: pd.DataFrame) -> Values:
    return {
        "degraded_miss_rate": _share(int(jobs["outcome"].ne("ok").sum()), len(jobs)),
        "p95_degraded_turnaround_s": percentile(jobs["turnaround_s"], 95),
    }


def _latencies(admitted: pd.DataFrame, scenario: Scenario) -> Values:
    values = {
        f"p{percent}_{name}_s": percentile(admitted[f"{name}_s"], percent)
        for name in ("ttft", "turnaround")
        for percent in (50, 95, 99)
    }
    values["slo_percentile_s"] = percentile(admitted[f"{scenario.slo.measure}_s"], scenario.slo.percentile)
    values["max_ttft_s"] = percentile(admitted["ttft_s"], 100)
    return values


def _waste(admitted: pd.DataFrame) -> Values:
    again = float(admitted["duplicate_slot_s"].sum())
    total = float(admitted["slot_s"].sum()) + again
    wasted = float(admitted.loc[admitted["outcome"].ne("ok"), "slot_s"].sum()) + again
    return {"wasted_work_ratio": _share(wasted, total), "wasted_slot_s": wasted}


def _signal_values(signals: pd.DataFrame, span: Span) -> Values:
    if signals.empty:
        return dict.fromkeys(
            ("peak_queue_age_s", "peak_queue_depth", "mean_utilization_ratio", "peak_utilization_ratio")
        )
    loaded = signals[signals["second"].lt(span.end_s)]
    return {
        "peak_queue_age_s": float(signals["queue_age_s"].max()),
        "peak_queue_depth": int(signals["queue_depth"].max()),
        "mean_utilization_ratio": None if loaded.empty else float(loaded["utilization_ratio"].mean()),
        "peak_utilization_ratio": float(signals["utilization_ratio"].max()),
    }


def _by_reasons(jobs: pd.DataFrame) -> tuple[dict[str, float], dict[str, float], dict[str, float]]:
    shed = jobs["fate"].eq("shed")
    return _by_reason(jobs, shed), _by_reason(jobs, jobs["degraded"]), _by_reason(jobs, jobs["projected_shed"])


def _by_reason(jobs: pd.DataFrame, chosen: "pd.Series[bool]") -> dict[str, float]:
    reasons = jobs.loc[chosen, "reason"].fillna("none given").value_counts()
    return {
        str(reason): int(count) / len(jobs) for reason, count in sorted(reasons.items(), key=lambda pair: str(pair[0]))
    }


def _share(part: float, whole: float) -> float | None:
    return part / whole if whole else None
