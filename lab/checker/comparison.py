"""What report.json says of an arm beside what its journal says. Pure."""

import math
from collections.abc import Iterator
from typing import Any

from lab.checker.measures import Measured
from lab.checker.phases import WHOLE, Phase

# The report rounds to six decimals.
TOLERANCE = 2e-6
ABSENT = "nothing"
# Measure -> its name in a phase of report.json.
NAMES = {
    "offered": "offered",
    "admitted": "admitted",
    "shed": "shed_count",
    "missed": "deadline_miss_rate",
    "p95_ttft_s": "p95_ttft_s",
    "p95_turnaround_s": "p95_turnaround_s",
}
IN_LEDGER = ("offered", "admitted", "shed")
Value = float | None | str


def differences(
    reported: dict[str, Any], phases: tuple[Phase, ...], measured: dict[str, Measured], duplicates: int
) -> Iterator[str]:
    """A sentence per difference: phase, measure and both values. `duplicates` are the settlements that came late."""
    ledger = reported["ledger"]
    counted = {name: getattr(measured[WHOLE], name) for name in IN_LEDGER} | {"duplicates": duplicates}
    for name, value in counted.items():
        yield from _difference("ledger", name, value, ledger.get(name, ABSENT))
    if extra := sorted(set(reported["phases"]) - set(measured)):
        yield f"report.json has a phase {extra[0]!r}, which the journal has not"
    edges = {phase.name: phase for phase in phases}
    for name, numbers in measured.items():
        if name not in reported["phases"]:
            yield f"report.json lacks the phase {name!r}"
        elif name in edges and (moved := list(_moved(edges[name], reported["phases"][name]))):
            # Other requests belong to it, so that every number would differ.
            yield from moved
        else:
            yield from _phase_differences(name, numbers, reported["phases"][name])


def _moved(phase: Phase, reported: dict[str, Any]) -> Iterator[str]:
    for edge in ("start_s", "end_s"):
        yield from _difference(phase.name, edge, getattr(phase, edge), reported.get(edge, ABSENT))


def _phase_differences(phase: str, measured: Measured, reported: dict[str, Any]) -> Iterator[str]:
    for measure, name in NAMES.items():
        value = _missed_share(measured) if measure == "missed" else getattr(measured, measure)
        yield from _difference(phase, name, value, value_of(reported, name))


def _missed_share(measured: Measured) -> float | None:
    """The report says the share of the admitted jobs, not the count."""
    return measured.missed / measured.admitted if measured.admitted else None


def value_of(reported: dict[str, Any], name: str) -> Value:
    """A number of report.json: infinite in either form that it has had, None for no sample, else as it stands.

    Infinite is the text `infinite`, in older reports null beside `..._is_infinite`.
    """
    value: Value = reported.get(name, ABSENT)
    if value == "infinite" or (value is None and reported.get(f"{name.removesuffix('_s')}_is_infinite")):
        return math.inf
    return value


def _difference(phase: str, measure: str, journal: float | None, report: Value) -> Iterator[str]:
    if not _same(journal, report):
        yield f"{phase}, {measure}: the journal says {_shown(journal)}, report.json says {_shown(report)}"


def _same(journal: float | None, report: Value) -> bool:
    if journal is None or not isinstance(report, int | float):
        return journal is report
    return journal == report or abs(journal - report) <= TOLERANCE


def _shown(value: Value) -> str:
    if value is None:
        return "no sample"
    if isinstance(value, str):
        return value
    return "infinite" if math.isinf(value) else f"{value:.10g}"
