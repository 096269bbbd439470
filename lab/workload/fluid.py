"""What happens when everything is admitted, first in first out: work as a fluid.

It flows in at the expected arrival rate and out at slots over mean service time (the fluid approximation of Kleinrock,
Queueing Systems, volume II). The count in the queue is what flowed in less what could flow out, reflected at zero.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lab.contract.messages import ScheduledRequest
from lab.contract.scenario import PhaseName, Scenario
from lab.workload.conditions import P95, Condition, conditions_of
from lab.workload.rates import Stretch, stretches_of, table_of

Values = NDArray[np.float64]
STEPS = 4000
# A queue shorter than this is none.
NO_QUEUE = 1e-6


@dataclass(frozen=True, slots=True)
class Instant:
    """Arrivals at one time, and the condition they meet."""

    arrival_rate_per_s: float
    condition: Condition

    @property
    def load_ratio(self) -> float:
        """Arrival rate over service rate."""
        if self.arrival_rate_per_s <= 0:
            return 0.0
        served = self.condition.service_rate_per_s
        return self.arrival_rate_per_s / served if served > 0 else float("inf")


@dataclass(frozen=True, slots=True)
class PhasePeak:
    """The longest wait of jobs due in one phase, and their longest waits with the endpoint's part in them, in seconds.

    `measure_s` is the SLO's percentile of its measure, `ttft_s` the p95 of the time to first token.
    """

    wait_s: float
    ttft_s: float
    measure_s: float


@dataclass(frozen=True, slots=True)
class Unshed:
    """The queue of policy A: its length over time (`at_s`, `queued_count`), and each phase's peak.

    `worst` is when the load is heaviest for the stack.
    """

    at_s: tuple[float, ...]
    queued_count: tuple[float, ...]
    peaks: dict[PhaseName, PhasePeak]
    worst: Instant


def admit_all(scenario: Scenario, requests: Sequence[ScheduledRequest] = ()) -> Unshed | None:
    """The fluid queue of a scenario; None of a replay without `requests`, its schedule."""
    stretches = stretches_of(scenario.workload.arrivals, scenario.workload.duration, requests)
    if not stretches:
        return None
    conditions = conditions_of(scenario, requests)
    at = _grid(scenario.workload.duration, stretches, conditions)
    rates = _rates(stretches, at)
    where = _indices(conditions, (at[1:] + at[:-1]) / 2)
    # Nobody gets into the queue while the gate or Redis is away.
    rates = np.where(np.array([each.away is not None for each in conditions])[where], 0.0, rates)
    arrived = np.concatenate(([0.0], np.cumsum(rates * np.diff(at))))
    queued = _queued(arrived, np.array([each.service_rate_per_s for each in conditions])[where], np.diff(at))
    waits = _waits(at, arrived, queued, conditions[-1].service_rate_per_s)
    return Unshed(
        at_s=tuple(at.tolist()),
        queued_count=tuple(queued.tolist()),
        peaks=_peaks(scenario, conditions, at, waits),
        worst=max(
            (Instant(float(rate), conditions[index]) for rate, index in zip(*_distinct(rates, where), strict=True)),
            key=lambda instant: instant.load_ratio,
        ),
    )


def _grid(duration_s: float, stretches: Sequence[Stretch], conditions: Sequence[Condition]) -> Values:
    """Evenly spaced times, and every time at which a rate breaks or a fault begins or ends."""
    edges = [*(each.begin_s for each in stretches), *(each.begin_s for each in conditions)]
    return np.unique(np.concatenate((np.linspace(0.0, duration_s, STEPS + 1), edges)))


def _rates(stretches: Sequence[Stretch], at: Values) -> Values:
    """The arrival rate in the middle of each step, exact for rates that move in straight lines."""
    middle = (at[1:] + at[:-1]) / 2
    index = _indices(stretches, middle)
    begin, end, begin_rate, end_rate = table_of(stretches)[index].T
    rates: Values = begin_rate + (end_rate - begin_rate) * (middle - begin) / (end - begin)
    return rates


def _indices(parts: Sequence[Stretch] | Sequence[Condition], at: Values) -> NDArray[np.int64]:
    begins = np.array([part.begin_s for part in parts])
    found: NDArray[np.int64] = np.maximum(np.searchsorted(begins, at, side="right") - 1, 0)
    return found


def _distinct(rates: Values, where: NDArray[np.int64]) -> tuple[list[float], list[int]]:
    """The highest rate that meets each condition."""
    met = sorted(set(where.tolist()))
    return [float(rates[where == index].max()) for index in met], met


def _queued(arrived: Values, service_rates: Values, steps_s: Values) -> Values:
    # An endpoint that takes no time leaves no queue; a finite stand-in keeps the sums finite.
    most = np.minimum(service_rates, 1e12)
    net = arrived - np.concatenate(([0.0], np.cumsum(most * steps_s)))
    return np.asarray(net - np.minimum(np.minimum.accumulate(net), 0.0))


def _waits(at: Values, arrived: Values, queued: Values, last_rate_per_s: float) -> Values:
    """How long a job due at each time waits: until as many are served as had arrived before it."""
    served = arrived - queued
    index = np.minimum(np.searchsorted(served, arrived, side="left"), len(at) - 1)
    before = np.maximum(index - 1, 0)
    gap = served[index] - served[before]
    part = np.divide(arrived - served[before], gap, out=np.ones_like(gap), where=gap > 0)
    until = at[before] + np.minimum(part, 1.0) * (at[index] - at[before])
    left = arrived - served[-1]
    after = at[-1] + (left / last_rate_per_s if last_rate_per_s > 0 else np.full_like(left, np.inf))
    waits = np.where(left > NO_QUEUE, after, until) - at
    return np.where(queued > NO_QUEUE, waits, 0.0)


def _peaks(
    scenario: Scenario, conditions: Sequence[Condition], at: Values, waits: Values
) -> dict[PhaseName, PhasePeak]:
    where = _indices(conditions, np.minimum(at + waits, at[-1]))
    ttft = waits + np.array([each.all_classes.first_token_quantile_s(P95) for each in conditions])[where]
    measure = waits + np.array([each.measure_s(scenario.slo) for each in conditions])[where]
    peaks: dict[PhaseName, PhasePeak] = {}
    for phase, (begin_s, end_s) in scenario.phase_windows().items():
        due = (at >= begin_s) & (at < end_s)
        peaks[phase] = PhasePeak(*(float(values[due].max()) for values in (waits, ttft, measure)))
    return peaks
