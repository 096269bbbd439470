"""When each alert would have warned or paged, had somebody watched: Prometheus's rules over the journal. Pure.

Evaluated at 0, i, 2i, ... with i the scenario's alert_interval. Above its threshold an alert is pending from the first
evaluation, fires once it has been above for its hold time at every evaluation, and is over at the first at which it is
not. A signal that cannot be said (nothing arrived, nothing was sampled) is not above.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from lab.contract.alert_spec import AnyAlert, Condition, DriftCondition, LatencyCondition, RateCondition
from lab.contract.scenario import Scenario
from lab.reporter.percentile import percentile
from lab.reporter.telemetry import Telemetry
from lab.reporter.timeline import Timeline

# Sums of an interval need not meet the same float.
HAIR_S = 1e-9
PERCENT = 95


@dataclass(frozen=True, slots=True)
class Firing:
    """One time that an alert fired; seconds after the first due time. `ended_s` is None where it fired to the end."""

    began_s: float
    ended_s: float | None


@dataclass(frozen=True, slots=True)
class AlertReport:
    """One declared alert on one arm.

    `firings` are those with a cause, `false_alarms` those that began before anything had been injected and before the
    SLO broke; where nothing is injected at all, an SLO that breaks later is cause enough. `since_fault_s` and `lead_s`
    are of the first firing with a cause; `lead_s` is positive before the SLO broke.
    """

    alert: AnyAlert
    firings: tuple[Firing, ...]
    false_alarms: tuple[Firing, ...]
    since_fault_s: float | None
    lead_s: float | None

    @property
    def fired_s(self) -> float | None:
        """When it first fired with a cause, in seconds after the first due time."""
        return self.firings[0].began_s if self.firings else None

    @property
    def result(self) -> str:
        """In words: fired, false alarm, or never fired."""
        return "fired" if self.firings else "false alarm" if self.false_alarms else "never fired"


@dataclass(frozen=True, slots=True)
class Causes:
    """What an alert may be about: the first step injected, switches of policy included, and when the SLO broke.

    Seconds after the first due time, None where it did not come; the breach counts from the start on.
    """

    injected_s: float | None
    broke_s: float | None

    def explain(self, firing: Firing) -> bool:
        """Whether a firing had a cause."""
        if self.injected_s is None:
            return self.broke_s is not None
        return firing.began_s >= min(self.injected_s, math.inf if self.broke_s is None else self.broke_s)


def evaluate_alerts(scenario: Scenario, telemetry: Telemetry, causes: Causes) -> tuple[AlertReport, ...]:
    """Every alert of a scenario on one arm."""
    grid = evaluation_times(scenario, telemetry)
    return tuple(
        _report(alert, firings(grid, truths(alert, telemetry, grid), alert.hold), causes) for alert in scenario.alerts
    )


def evaluation_times(scenario: Scenario, telemetry: Telemetry) -> tuple[float, ...]:
    """The moments at which the rules are evaluated."""
    count = math.floor(telemetry.end_s / scenario.alert_interval + HAIR_S) + 1
    return tuple(number * scenario.alert_interval for number in range(count))


def truths(alert: AnyAlert, telemetry: Telemetry, grid: Sequence[float]) -> list[bool]:
    """Whether an alert's conditions hold, at each evaluation."""
    conditions: list[Condition] = [alert, *([] if alert.only_when is None else [alert.only_when])]
    return [all(value_at(each, telemetry, second) > each.threshold for each in conditions) for second in grid]


def firings(grid: Sequence[float], held: Sequence[bool], hold_s: float) -> tuple[Firing, ...]:
    """The times an alert fires, from whether its condition held at each evaluation."""
    found: list[Firing] = []
    active_s: float | None = None
    fired_s: float | None = None
    for second, true in zip(grid, held, strict=True):
        if true:
            active_s = second if active_s is None else active_s
            if fired_s is None and second - active_s >= hold_s - HAIR_S:
                fired_s = second
        else:
            if fired_s is not None:
                found.append(Firing(fired_s, second))
            active_s = fired_s = None
    return (*found, *([] if fired_s is None else [Firing(fired_s, None)]))


def value_at(condition: Condition, telemetry: Telemetry, second: float) -> float:
    """The signal of a condition at one evaluation, NaN where it cannot be said."""
    if isinstance(condition, LatencyCondition):
        seen = telemetry.samples[condition.signal].within(second - condition.window, second)
        found = percentile(pd.Series(seen, dtype="float64"), PERCENT)
        return math.nan if found is None else found
    if isinstance(condition, RateCondition):
        begin_s = second - condition.window
        if condition.signal == "shed_without_fault" and _fault_between(telemetry, begin_s, second):
            return math.nan
        counted = telemetry.shares[condition.signal].within(begin_s, second)
        return sum(counted) / len(counted) if counted else math.nan
    if isinstance(condition, DriftCondition):
        return max((_growth(each, condition.window, second) for each in telemetry.estimates.values()), default=math.nan)
    return telemetry.gauges[condition.signal].last(second)


def _fault_between(telemetry: Telemetry, begin_s: float, end_s: float) -> bool:
    return any(begin <= end_s and end >= begin_s for begin, end in telemetry.faults)


def _growth(estimate: Timeline, window_s: float, second: float) -> float:
    """An estimate over its lowest within a window, the value that it came into the window with included."""
    seen = [estimate.last(second - window_s), *estimate.within(second - window_s, second)]
    lowest = min((each for each in seen if each > 0), default=math.nan)
    return estimate.last(second) / lowest


def _report(alert: AnyAlert, found: tuple[Firing, ...], causes: Causes) -> AlertReport:
    caused = tuple(each for each in found if causes.explain(each))
    fired_s = caused[0].began_s if caused else None
    return AlertReport(
        alert=alert,
        firings=caused,
        false_alarms=tuple(each for each in found if not causes.explain(each)),
        since_fault_s=None if fired_s is None or causes.injected_s is None else fired_s - causes.injected_s,
        lead_s=None if fired_s is None or causes.broke_s is None else causes.broke_s - fired_s,
    )
