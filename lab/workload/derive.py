"""Thresholds worked out from the numbers of a scenario, each with its arithmetic.

    age limit    60 to 70 % of slack = SLO - endpoint's part in it, divided by the load where that is above 1
    depth limit  slots x (deadline - p95 service) / mean service, and at most what the SLO's slack allows
    slack floor  p95 service - mean service + mean service / slots

The age limit is drill 3's rule with the swing taken off: until the head is as old as the limit everything is admitted,
so waits peak near limit x load. Undivided, the rule leaves nothing to spare at 1.5 x capacity and fails above it;
divided, waits peak at 60 to 70 % of the slack whatever the load. The depth limit is Little's law. The slack floor is
what a mean does not know: how much longer one job in twenty takes, and one job's turn at the slots, since of the work
in flight only the mean is known. An estimate that is a p95 already knows the first part.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from lab.contract.messages import ScheduledRequest
from lab.contract.scenario import Scenario
from lab.contract.workload_spec import UniformDeadline
from lab.workload.conditions import P95, conditions_of
from lab.workload.fluid import admit_all

AGE_SHARES = (0.60, 0.70)


@dataclass(frozen=True, slots=True)
class Basis:
    """The numbers that thresholds follow from, at the heaviest load. `endpoint_s` is the endpoint's part in the SLO.

    `deadline_s` is the shortest that any class declares; `source` says where the service times are from.
    """

    within_s: float
    deadline_s: float
    slots: int
    arrival_rate_per_s: float
    mean_service_s: float
    p95_service_s: float
    endpoint_s: float
    source: str

    @property
    def load_ratio(self) -> float:
        """Arrival rate over what the slots can serve."""
        if self.arrival_rate_per_s <= 0:
            return 0.0
        return self.arrival_rate_per_s * self.mean_service_s / self.slots if self.slots else math.inf


@dataclass(frozen=True, slots=True)
class AgeLimit:
    """The bounds of an age limit by the rule, and how they come about."""

    lowest_s: float
    highest_s: float
    sentence: str


@dataclass(frozen=True, slots=True)
class DepthLimit:
    """The most jobs that may wait, and how that comes about."""

    count: int
    sentence: str

    @property
    def max_depth(self) -> int:
        """The same as queue_depth declares it, which lets one more in when so many wait."""
        return max(self.count - 1, 0)


@dataclass(frozen=True, slots=True)
class SlackFloor:
    """The least projected slack to admit with, for an estimate that is a mean and for one that is a p95."""

    of_mean_s: float
    of_p95_s: float
    sentence: str


def declared_basis(scenario: Scenario, requests: Sequence[ScheduledRequest] = ()) -> Basis | None:
    """The basis that a scenario declares; None of a replay without `requests`, its schedule."""
    unshed = admit_all(scenario, requests)
    if unshed is None:
        return None
    endpoint = unshed.worst.condition.all_classes
    # Where part of the jobs is never answered, the slots that work on those serve nobody.
    served = endpoint.served_ratio
    return Basis(
        within_s=scenario.slo.within,
        deadline_s=_shortest_deadline_s(scenario),
        slots=unshed.worst.condition.slots,
        arrival_rate_per_s=unshed.worst.arrival_rate_per_s,
        mean_service_s=endpoint.mean_service_s / served if served > 0 else math.inf,
        p95_service_s=endpoint.service_quantile_s(P95),
        endpoint_s=worst_endpoint_s(scenario, requests),
        source="declared, at the heaviest load",
    )


def worst_endpoint_s(scenario: Scenario, requests: Sequence[ScheduledRequest]) -> float:
    """The endpoint's part in the SLO at its largest in the SLO's phases."""
    windows = [window for phase, window in scenario.phase_windows().items() if phase in scenario.slo.phases]
    return max(
        (
            condition.measure_s(scenario.slo)
            for condition in conditions_of(scenario, requests)
            if any(condition.begin_s < end_s and condition.end_s > begin_s for begin_s, end_s in windows)
        ),
        default=0.0,
    )


def _shortest_deadline_s(scenario: Scenario) -> float:
    declared = [each.deadline for each in scenario.workload.classes.values() if each.weight > 0]
    return min(each.low if isinstance(each, UniformDeadline) else each for each in declared)


def derived_age_limit(scenario: Scenario, requests: Sequence[ScheduledRequest] = ()) -> AgeLimit | None:
    """The age limit that the declared numbers give; None of a replay without `requests`, its schedule."""
    basis = declared_basis(scenario, requests)
    return None if basis is None else age_limit(basis)


def age_limit(basis: Basis) -> AgeLimit:
    """60 to 70 % of the slack, divided by the load where that is above 1, since waits peak near limit x load."""
    within, endpoint_s = basis.within_s, basis.endpoint_s
    if endpoint_s >= within:
        return AgeLimit(0.0, 0.0, f"none holds, for the endpoint alone takes {seconds(endpoint_s)} of {within:g} s")
    slack_s = within - endpoint_s
    low_s, high_s = (share * slack_s for share in AGE_SHARES)
    words = (
        f"slack {within:g} s - {endpoint_s:.2f} s = {slack_s:.2f} s, of which 60 to 70 % are "
        f"{low_s:.2f} to {high_s:.2f} s"
    )
    load = basis.load_ratio
    if math.isinf(load):
        return AgeLimit(0.0, 0.0, "none holds at the heaviest load, where nothing is served")
    if load > 1:
        low_s, high_s = low_s / load, high_s / load
        words += (
            f"; at {load:.1f} x capacity waits swing up to {load:.1f} x the limit, "
            f"so divided by that: {low_s:.2f} to {high_s:.2f} s"
        )
    return AgeLimit(low_s, high_s, words)


def depth_limit(basis: Basis) -> DepthLimit:
    """Little's law: so many jobs as the slots serve before a new one's deadline, and before the SLO, becomes too near.

    slots x (deadline - p95 service) / mean service, and slots x (SLO - endpoint's part) / mean service.
    """
    mean_s = basis.mean_service_s
    if mean_s <= 0:
        return DepthLimit(0, "none can be given, for the endpoint takes no time at all")
    if basis.p95_service_s >= basis.deadline_s or basis.endpoint_s >= basis.within_s:
        return DepthLimit(0, "none holds, for the endpoint alone takes longer than the deadline or the SLO")
    in_time = basis.slots * (basis.deadline_s - basis.p95_service_s) / mean_s
    in_slo = basis.slots * (basis.within_s - basis.endpoint_s) / mean_s
    words = (
        f"{basis.slots} slots x ({basis.deadline_s:.2f} s - {basis.p95_service_s:.2f} s) / {mean_s:.2f} s = "
        f"{math.floor(in_time)} jobs are done by their deadline; {basis.slots} x ({basis.within_s:.2f} s - "
        f"{basis.endpoint_s:.2f} s) / {mean_s:.2f} s = {math.floor(in_slo)} within the SLO; the lower holds both"
    )
    return DepthLimit(math.floor(min(in_time, in_slo)), words)


def slack_floor(basis: Basis) -> SlackFloor:
    """What an estimate of the service does not know; 0 where nothing is served."""
    mean_s, p95_s = basis.mean_service_s, basis.p95_service_s
    if math.isinf(mean_s) or math.isinf(p95_s) or not basis.slots:
        return SlackFloor(0.0, 0.0, "none can be given, for too few jobs are answered at all")
    turn_s = mean_s / basis.slots
    spread_s = max(p95_s - mean_s, 0.0)
    words = (
        f"p95 service {p95_s:.2f} s - mean {mean_s:.2f} s + a turn at the slots {mean_s:.2f} s / {basis.slots} = "
        f"{spread_s + turn_s:.2f} s where the estimate is a mean; where it is a p95, the turn alone: {turn_s:.2f} s"
    )
    return SlackFloor(spread_s + turn_s, turn_s, words)


def seconds(value_s: float) -> str:
    """A time as a sentence gives it."""
    if math.isinf(value_s):
        return "for ever"
    # Rounding may leave a hair below 0, which would be written with a sign.
    value_s = max(value_s, 0.0)
    return f"{value_s:.2f} s" if value_s < 1 else f"{value_s:.1f} s"
