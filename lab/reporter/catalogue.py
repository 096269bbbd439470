"""Every measure of the report by name: how it is called, in what unit, which way is better, and how it is defined."""

from dataclasses import dataclass
from typing import Literal

Unit = Literal["count", "ratio", "s", "per_s", "slot_s"]
Better = Literal["lower", "higher", "neither"]


@dataclass(frozen=True, slots=True)
class Measure:
    """One measure. `name` is its key in report.json and comparison.csv."""

    name: str
    label: str
    unit: Unit
    better: Better
    definition: str


def _percentiles(measure: str, label: str, definition: str) -> tuple[Measure, ...]:
    return tuple(
        Measure(f"p{percent}_{measure}_s", f"p{percent} {label}", "s", "lower", definition) for percent in (50, 95, 99)
    )


CATALOGUE: tuple[Measure, ...] = (
    Measure("offered", "offered", "count", "neither", "requests due in the phase, sent or not"),
    Measure("admitted", "admitted", "count", "neither", "requests that became jobs, degraded ones included"),
    Measure("shed_count", "shed", "count", "neither", "requests refused by the policy"),
    Measure(
        "refused_in_error", "refused in error", "count", "lower", "requests answered with an error that is no shed"
    ),
    Measure("unanswered", "unanswered", "count", "lower", "requests never sent or never answered"),
    Measure("arrival_rate_per_s", "arrival rate", "per_s", "neither", "offered requests over the phase's length"),
    Measure("shed_rate", "shed rate", "ratio", "lower", "shed over offered"),
    Measure(
        "projected_shed_rate",
        "would have shed (projected)",
        "ratio",
        "neither",
        "admitted requests that the policy, enforced, would have shed, over offered; it would have met another queue",
    ),
    Measure("degraded_rate", "degraded rate", "ratio", "lower", "degraded over offered"),
    Measure(
        "degraded_miss_rate",
        "missed, of degraded",
        "ratio",
        "lower",
        "degraded jobs that were not ok, over degraded; they are within the admitted",
    ),
    Measure(
        "p95_degraded_turnaround_s",
        "p95 turnaround, degraded",
        "s",
        "lower",
        "time to the last token of degraded jobs, from due time; a failure is infinite",
    ),
    Measure(
        "deadline_miss_rate", "missed, of admitted", "ratio", "lower", "admitted jobs that were not ok, over admitted"
    ),
    Measure(
        "deadline_miss_rate_offered",
        "missed, of offered",
        "ratio",
        "lower",
        "offered requests without an answer in time, shed ones included, over offered",
    ),
    Measure("goodput_per_s", "goodput", "per_s", "higher", "jobs done within their deadline, over the phase's length"),
    Measure("done_count", "done", "count", "neither", "admitted jobs done, in time or late"),
    Measure(
        "slo_breach_count", "past the SLO", "count", "lower", "admitted jobs whose measure is past the SLO's limit"
    ),
    *_percentiles("ttft", "first token", "time to first token of admitted jobs, from due time; a failure is infinite"),
    *_percentiles(
        "turnaround", "turnaround", "time to the last token of admitted jobs, from due time; a failure is infinite"
    ),
    Measure("slo_percentile_s", "SLO's percentile", "s", "lower", "the percentile that the SLO judges"),
    Measure("max_ttft_s", "longest first token", "s", "lower", "the longest time to first token of an admitted job"),
    Measure(
        "wasted_work_ratio",
        "wasted work",
        "ratio",
        "lower",
        "slot-seconds of jobs that were not ok and of duplicates, over all",
    ),
    Measure(
        "wasted_slot_s",
        "wasted slot time",
        "slot_s",
        "lower",
        "slot-seconds of jobs that were not ok and of duplicates",
    ),
    Measure(
        "peak_queue_age_s",
        "peak age",
        "s",
        "lower",
        "highest age of the oldest undelivered entry; the last phase includes the drain",
    ),
    Measure(
        "peak_queue_depth",
        "peak depth",
        "count",
        "lower",
        "most entries undelivered at once; the last phase includes the drain",
    ),
    Measure(
        "mean_utilization_ratio",
        "mean utilization",
        "ratio",
        "neither",
        "mean of occupied slots over slots, while the load lasts",
    ),
    Measure(
        "peak_utilization_ratio", "peak utilization", "ratio", "neither", "highest smoothed share of occupied slots"
    ),
    Measure(
        "recovery_time_s",
        "recovery",
        "s",
        "lower",
        "from the last fault's end until the first admitted job from which on, to the end, at least half of every next "
        "20 admitted jobs have their first token within 1.1 x the baseline's p95; never within the drill, where that "
        "does not come",
    ),
)

BY_NAME: dict[str, Measure] = {measure.name: measure for measure in CATALOGUE}
