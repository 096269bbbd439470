"""A drill's work in counts: how many requests are due, and how many the slots can do. Fluid, no wait counted."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lab.contract.messages import ScheduledRequest
from lab.contract.scenario import Scenario
from lab.workload.conditions import Condition, conditions_of
from lab.workload.endpoint import Endpoint
from lab.workload.jobs import longest_deadline_s
from lab.workload.rates import mean_rate, stretches_of

ALL = "all"


@dataclass(frozen=True, slots=True)
class Total:
    """One phase, or the whole drill as `all`: requests due, slot-seconds there are, jobs of the mean size they serve.

    `grace_s` is how long after its end its last jobs may still be done by their deadlines.
    """

    length_s: float
    offered_count: float
    capacity_slot_s: float
    served_count: float
    end_rate_per_s: float
    grace_s: float
    endpoint: Endpoint

    @property
    def load_ratio(self) -> float:
        """Requests due over jobs served."""
        return self.offered_count / self.served_count if self.served_count > 0 else float("inf")

    @property
    def in_time_count(self) -> float:
        """The most jobs of the mean size that can be done by their deadlines, those due last included."""
        return self.served_count + self.end_rate_per_s * max(0.0, self.grace_s - self.endpoint.mean_service_s)

    @property
    def most_count(self) -> float:
        """The most jobs that the slot-seconds can do where the largest are refused first."""
        order = np.argsort(self.endpoint.whole)
        counts = self.endpoint.weights[order] / self.endpoint.weights.sum() * self.offered_count
        work = np.cumsum(counts * self.endpoint.whole[order])
        return float(counts[work <= self.capacity_slot_s].sum())


def totals(scenario: Scenario, requests: Sequence[ScheduledRequest] = ()) -> dict[str, Total]:
    """The totals of every phase and of `all`; none of a replay without `requests`, its schedule."""
    workload = scenario.workload
    if not stretches_of(workload.arrivals, workload.duration, requests):
        return {}
    conditions = conditions_of(scenario, requests)
    phases = {str(phase): window for phase, window in scenario.phase_windows().items()}
    windows = phases | {ALL: (0.0, workload.duration)}
    return {phase: _total(scenario, window, conditions, requests) for phase, window in windows.items()}


def _total(
    scenario: Scenario,
    window: tuple[float, float],
    conditions: Sequence[Condition],
    requests: Sequence[ScheduledRequest],
) -> Total:
    inside = [each for each in conditions if each.begin_s < window[1] and each.end_s > window[0]]
    lengths = [each.end_s - each.begin_s for each in inside]
    arrivals, duration_s = scenario.workload.arrivals, scenario.workload.duration
    counts = [
        length * mean_rate(arrivals, each.begin_s, each.end_s, duration_s, requests)
        for each, length in zip(inside, lengths, strict=True)
    ]
    shares = counts if sum(counts) > 0 else lengths
    return Total(
        length_s=sum(lengths),
        offered_count=sum(counts),
        capacity_slot_s=sum(each.slots * length for each, length in zip(inside, lengths, strict=True)),
        served_count=sum(each.service_rate_per_s * length for each, length in zip(inside, lengths, strict=True)),
        end_rate_per_s=inside[-1].service_rate_per_s,
        grace_s=max(longest_deadline_s(each) for each in scenario.workload.classes.values() if each.weight > 0),
        endpoint=Endpoint.pooled([(each.all_classes, share) for each, share in zip(inside, shares, strict=True)]),
    )
