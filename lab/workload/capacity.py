"""The load of each phase: can it be done at all? Said before the run.

Offered slots = arrival rate x mean service time (Little's law for busy servers); unavoidable shed = 1 - slots / offered
where that is positive: a share of the work that no policy can do in time for long. With unequal job sizes a policy that
refuses the largest jobs can refuse fewer of them than this share.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from lab.contract.messages import ScheduledRequest
from lab.contract.scenario import PhaseName, Scenario
from lab.workload.conditions import P95, Condition, conditions_of
from lab.workload.endpoint import Endpoint
from lab.workload.jobs import longest_deadline_s
from lab.workload.rates import mean_rate, stretches_of


@dataclass(frozen=True, slots=True)
class ClassLoad:
    """One class's part in a phase. `share_ratio` is its share of the requests, `offered_slots` its work.

    `least_service_s` is how long its shortest job takes, `deadline_s` the latest that any of its jobs may be done.
    """

    job_class: str
    share_ratio: float
    mean_service_s: float
    p95_service_s: float
    offered_slots: float
    least_service_s: float
    deadline_s: float

    @property
    def never_in_time(self) -> bool:
        """Whether no job of the class can be done by its deadline, even without any wait."""
        return self.least_service_s > self.deadline_s


@dataclass(frozen=True, slots=True)
class PhaseLoad:
    """One phase. The endpoint's times are without any wait; inf where the model cannot be reached.

    `slots` is the mean over the phase, `least_slots` the fewest at any time of it; `served_ratio` the share of the jobs
    that would get a first token, were there slots enough. `away_ratio` is the share of the requests that are due while
    the gate or Redis is away.
    """

    phase: PhaseName
    begin_s: float
    end_s: float
    arrival_rate_per_s: float
    mean_service_s: float
    p95_service_s: float
    p95_first_token_s: float
    served_ratio: float
    offered_slots: float
    slots: float
    least_slots: int
    away_ratio: float
    classes: tuple[ClassLoad, ...]

    @property
    def load_ratio(self) -> float:
        """Offered slots over the slots that can serve."""
        serving = self.slots * self.served_ratio
        if serving <= 0:
            return float("inf") if self.arrival_rate_per_s > 0 else 0.0
        return self.offered_slots / serving

    @property
    def unavoidable_shed_ratio(self) -> float:
        """The share of the offered work that the slots cannot do."""
        return max(0.0, 1 - 1 / self.load_ratio) if self.load_ratio > 0 else 0.0

    @property
    def service_rate_per_s(self) -> float:
        """Jobs per second that all slots together serve."""
        return self.slots * self.served_ratio / self.mean_service_s if self.mean_service_s > 0 else float("inf")


def phase_loads(scenario: Scenario, requests: Sequence[ScheduledRequest] = ()) -> tuple[PhaseLoad, ...]:
    """The load of every phase; none of a replay without `requests`, its schedule, for its file alone knows."""
    if not stretches_of(scenario.workload.arrivals, scenario.workload.duration, requests):
        return ()
    conditions = conditions_of(scenario, requests)
    return tuple(
        _phase_load(scenario, phase, window, conditions, requests) for phase, window in scenario.phase_windows().items()
    )


def _phase_load(
    scenario: Scenario,
    phase: PhaseName,
    window: tuple[float, float],
    conditions: Sequence[Condition],
    requests: Sequence[ScheduledRequest],
) -> PhaseLoad:
    begin_s, end_s = window
    workload = scenario.workload
    rate = mean_rate(workload.arrivals, begin_s, end_s, workload.duration, requests)
    inside = [each for each in conditions if each.begin_s < end_s and each.end_s > begin_s]
    # A condition counts by the requests that meet it; with none at all, by its length.
    lengths = [each.end_s - each.begin_s for each in inside]
    counts = [
        length * mean_rate(workload.arrivals, each.begin_s, each.end_s, workload.duration, requests)
        for each, length in zip(inside, lengths, strict=True)
    ]
    shares = counts if sum(counts) > 0 else lengths
    whole = Endpoint.pooled([(each.all_classes, share) for each, share in zip(inside, shares, strict=True)])
    return PhaseLoad(
        phase=phase,
        begin_s=begin_s,
        end_s=end_s,
        arrival_rate_per_s=rate,
        mean_service_s=whole.mean_service_s,
        p95_service_s=whole.service_quantile_s(P95),
        p95_first_token_s=whole.first_token_quantile_s(P95),
        served_ratio=whole.served_ratio,
        offered_slots=rate * whole.mean_service_s,
        slots=sum(each.slots * length for each, length in zip(inside, lengths, strict=True)) / sum(lengths),
        least_slots=min(each.slots for each in inside),
        away_ratio=sum(share for each, share in zip(inside, shares, strict=True) if each.away) / sum(shares),
        classes=tuple(_class_load(scenario, name, rate, inside, shares) for name in inside[0].classes),
    )


def _class_load(
    scenario: Scenario, name: str, rate: float, inside: Sequence[Condition], shares: Sequence[float]
) -> ClassLoad:
    share_ratio = inside[0].classes[name][1]
    whole = Endpoint.pooled([(each.classes[name][0], share) for each, share in zip(inside, shares, strict=True)])
    return ClassLoad(
        job_class=name,
        share_ratio=share_ratio,
        mean_service_s=whole.mean_service_s,
        p95_service_s=whole.service_quantile_s(P95),
        offered_slots=rate * share_ratio * whole.mean_service_s,
        least_service_s=whole.service_quantile_s(0.0),
        deadline_s=longest_deadline_s(scenario.workload.classes[name]),
    )
