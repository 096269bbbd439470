"""The comparison of policies: a cell per phase, measure and policy; repeats as median and range; best marked. Pure."""

import math
from dataclasses import dataclass, replace
from statistics import median_low
from typing import Literal

from lab.reporter.arm import ArmReport
from lab.reporter.catalogue import CATALOGUE, Measure
from lab.reporter.doubts import too_few
from lab.reporter.interval import Interval, percentile_interval
from lab.reporter.recovery import recovery_words
from lab.reporter.verdict import PolicyJudgement, judge_policy
from lab.reporter.wording import measured, signed

# The whole first, then where policies differ most.
PHASE_ORDER = ("all", "fault", "baseline", "recovery")
PHASE_TITLES = {"all": "The whole drill", "fault": "Fault", "baseline": "Baseline", "recovery": "Recovery"}
REPETITIVE = ("slo_percentile_s", "arrival_rate_per_s", "done_count", "slo_breach_count")
SHOWN_IF_ANY = (
    "refused_in_error",
    "unanswered",
    "projected_shed_rate",
    "degraded_rate",
    "degraded_miss_rate",
    "p95_degraded_turnaround_s",
)

Policies = dict[str, tuple[ArmReport, ...]]


@dataclass(frozen=True, slots=True)
class Cell:
    """One policy's number as text, with its difference to the reference policy and its range over repeats, if any."""

    text: str
    delta: str
    spread: str
    best: bool
    infinite: bool
    few: bool


@dataclass(frozen=True, slots=True)
class Row:
    """One measure over all policies."""

    measure: Measure
    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class PhaseTable:
    """All measures of one phase."""

    phase: str
    title: str
    rows: tuple[Row, ...]


def by_policy(arms: tuple[ArmReport, ...]) -> Policies:
    """The arms of each policy, by letter."""
    letters = sorted({arm.header.policy for arm in arms})
    return {letter: tuple(arm for arm in arms if arm.header.policy == letter) for letter in letters}


def judge_together(arms: tuple[ArmReport, ...]) -> PolicyJudgement:
    """One policy's judgement over its repeats, void ones left out."""
    return judge_policy([arm.phases for arm in arms if not arm.void], arms[0].header.scenario)


def interval_of(arms: tuple[ArmReport, ...], phase: str) -> Interval:
    """Where the SLO's percentile of one policy lies in a phase, by the jobs of all its repeats that count."""
    samples = [arm.phases[phase].slo_samples_s for arm in arms if not arm.void and phase in arm.phases]
    return percentile_interval(samples, arms[0].header.scenario.slo.percentile)


def contradiction(arms: tuple[ArmReport, ...]) -> Literal["none", "too close", "sure"]:
    """Whether one policy's arms contradict what is expected of it.

    A repeat whose verdict is too close to call is overruled by that of all repeats together, where that is sure.
    """
    judgements = [arm.judgement for arm in arms]
    if any(judgement.surely_unexpected for judgement in judgements):
        return "sure"
    if all(judgement.as_expected is not False for judgement in judgements):
        return "none"
    together = judge_together(arms)
    if together.too_close:
        return "too close"
    return "none" if together.verdict == judgements[0].expected else "sure"


def compare(arms: tuple[ArmReport, ...]) -> tuple[PhaseTable, ...]:
    """One table per phase, without void arms' numbers."""
    policies = by_policy(arms)
    reference = _reference(policies)
    present = [phase for phase in PHASE_ORDER if any(phase in arm.phases for arm in arms)]
    tables = (PhaseTable(phase, PHASE_TITLES[phase], _rows(policies, phase, reference)) for phase in present)
    return tuple(tables)


def measure_row(arms: tuple[ArmReport, ...], phase: str, measure: Measure) -> Row:
    """One measure in one phase, as in the phase's table."""
    policies = by_policy(arms)
    return _row(policies, phase, measure, _reference(policies))


def _reference(policies: Policies) -> str:
    """The policy that differences are to: the one that admits all, else the first."""
    return next((letter for letter, mine in policies.items() if mine[0].header.kind == "none"), next(iter(policies)))


def typical(arms: tuple[ArmReport, ...], phase: str, measure: str) -> float | None:
    """A policy's number: the (lower) median over its repeats, None where none has one."""
    values = _values(arms, phase, measure)
    return median_low(values) if values else None


def _values(arms: tuple[ArmReport, ...], phase: str, measure: str) -> list[float]:
    found = (arm.phases[phase].numbers.get(measure) for arm in arms if not arm.void and phase in arm.phases)
    return [value for value in found if value is not None]


def _rows(policies: Policies, phase: str, reference: str) -> tuple[Row, ...]:
    return tuple(
        _row(policies, phase, measure, reference) for measure in CATALOGUE if _worth_a_row(policies, phase, measure)
    )


def _worth_a_row(policies: Policies, phase: str, measure: Measure) -> bool:
    """Recovery belongs to one phase, errors are shown where there are any, and some numbers only repeat others."""
    if measure.name in REPETITIVE:
        return False
    if measure.name == "recovery_time_s":
        return phase in ("all", "recovery")
    numbers = [typical(arms, phase, measure.name) for arms in policies.values()]
    return any(numbers) if measure.name in SHOWN_IF_ANY else any(number is not None for number in numbers)


def _row(policies: Policies, phase: str, measure: Measure, reference: str) -> Row:
    values = {letter: typical(arms, phase, measure.name) for letter, arms in policies.items()}
    best = _best(measure, [value for value in values.values() if value is not None])
    cells = []
    for letter, arms in policies.items():
        base = None if letter == reference else values[reference]
        cell = _cell(_values(arms, phase, measure.name), values[letter], base, best, measure)
        if measure.name == "recovery_time_s":
            cell = replace(cell, text=recovery_words(values[letter], arms[0].header.scenario), infinite=False)
        cells.append(cell)
    marked = (
        replace(cell, text="void") if all(arm.void for arm in arms) else replace(cell, few=_few(arms, phase, measure))
        for cell, arms in zip(cells, policies.values(), strict=True)
    )
    return Row(measure, tuple(marked))


def _best(measure: Measure, values: list[float]) -> float | None:
    """The best number, None where better has no meaning or all are the same."""
    if measure.better == "neither" or len(set(values)) < 2:  # noqa: PLR2004 - a best needs two that differ
        return None
    return min(values) if measure.better == "lower" else max(values)


def _cell(several: list[float], value: float | None, base: float | None, best: float | None, measure: Measure) -> Cell:
    # Repeats that read the same have no range to show.
    ends = dict.fromkeys(measured(end(several), measure.unit) for end in (min, max)) if several else {}
    return Cell(
        text=measured(value, measure.unit),
        delta=_delta(value, base, measure),
        spread=" to ".join(ends) if len(ends) > 1 else "",
        best=value is not None and value == best,
        infinite=value == float("inf"),
        few=False,
    )


def _delta(value: float | None, base: float | None, measure: Measure) -> str:
    # To or from infinity there is no difference worth a number.
    if value is None or base is None or math.isinf(value) or math.isinf(base):
        return ""
    difference = signed(value - base, measure.unit)
    return "" if difference.startswith("±") else difference


def _few(arms: tuple[ArmReport, ...], phase: str, measure: Measure) -> bool:
    percent = measure.name[1:3]
    if not (measure.name.startswith("p") and percent.isdigit()):
        return False
    admitted = typical(arms, phase, "admitted")
    return admitted is not None and too_few(admitted, float(percent))
