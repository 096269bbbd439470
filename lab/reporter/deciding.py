"""The few rows that decide between policies, each with the phase it is of; all others are folded below. Pure."""

from dataclasses import dataclass

from lab.reporter.arm import ArmReport
from lab.reporter.catalogue import BY_NAME, Measure
from lab.reporter.comparison import Cell, by_policy, interval_of, measure_row, typical
from lab.reporter.wording import slo_words

DECIDING_ROWS = 8
# What it costs, what it buys before, in and after the fault, whom it serves in time, what it wastes, when it is over.
# The rest takes the place of those that a drill without a fault does not have.
_CANDIDATES = (
    ("shed_rate", "fault"),
    ("slo_percentile_s", "baseline"),
    ("slo_percentile_s", "fault"),
    ("slo_percentile_s", "recovery"),
    ("deadline_miss_rate_offered", "all"),
    ("goodput_per_s", "all"),
    ("wasted_work_ratio", "all"),
    ("recovery_time_s", "recovery"),
    ("shed_rate", "all"),
    ("peak_queue_age_s", "all"),
    ("p50_ttft_s", "all"),
    ("p99_ttft_s", "all"),
    ("p50_turnaround_s", "all"),
)
_WHERE = {"fault": "in the fault", "baseline": "in the baseline", "recovery": "in the recovery", "all": "over all"}


@dataclass(frozen=True, slots=True)
class DecidingRow:
    """One measure in one phase over all policies; `intervals` are words, empty where the measure has none."""

    label: str
    where: str
    measure: Measure
    cells: tuple[Cell, ...]
    intervals: tuple[str, ...]


def deciding_rows(arms: tuple[ArmReport, ...]) -> tuple[DecidingRow, ...]:
    """The first DECIDING_ROWS of the candidates that any policy has a number for."""
    policies = by_policy(arms)
    there = [
        (name, phase)
        for name, phase in _CANDIDATES
        if any(typical(mine, phase, name) is not None for mine in policies.values())
    ]
    return tuple(_row(arms, name, phase) for name, phase in there[:DECIDING_ROWS])


def _row(arms: tuple[ArmReport, ...], name: str, phase: str) -> DecidingRow:
    measure, judged = BY_NAME[name], name == "slo_percentile_s"
    label = slo_words(arms[0].header.scenario) if judged else measure.label
    cells = measure_row(arms, phase, measure).cells
    intervals = tuple(interval_of(mine, phase).words() if judged else "" for mine in by_policy(arms).values())
    return DecidingRow(label, "" if name == "recovery_time_s" else _WHERE[phase], measure, cells, intervals)
