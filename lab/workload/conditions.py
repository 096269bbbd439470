"""The stretches of a drill in which the same faults act, and what the stack can do in each."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from lab.contract.fault_spec import AnyFault, ProcessFault, ProxyDownFault, RouteFault
from lab.contract.messages import ScheduledRequest
from lab.contract.overlap import newest_last
from lab.contract.scenario import Scenario, Slo
from lab.workload.endpoint import Endpoint, endpoints_at_rest, under

P95 = 0.95


@dataclass(frozen=True, slots=True, eq=False)
class Condition:
    """A stretch in which the same faults act.

    `classes` holds each class's endpoint and its share of the requests. `away` names what is killed or paused without
    which nobody is admitted, None where all of it is there.
    """

    begin_s: float
    end_s: float
    slots: int
    away: str | None
    classes: dict[str, tuple[Endpoint, float]]
    all_classes: Endpoint

    @property
    def service_rate_per_s(self) -> float:
        """Jobs per second that all slots together serve; 0 where the model cannot be reached."""
        mean_s = self.all_classes.mean_service_s
        served = self.slots * self.all_classes.served_ratio
        return served / mean_s if mean_s > 0 else float("inf")

    def measure_s(self, slo: Slo) -> float:
        """The SLO's percentile of its measure, without any wait: what the endpoint alone takes of the SLO."""
        if slo.measure == "ttft":
            return self.all_classes.first_token_quantile_s(slo.percentile / 100)
        return self.all_classes.service_quantile_s(slo.percentile / 100)


def conditions_of(scenario: Scenario, requests: Sequence[ScheduledRequest] = ()) -> tuple[Condition, ...]:
    """The drill from 0 to its end, cut wherever a fault begins or ends."""
    faults = [edge for each in scenario.faults for edge in (each.start, each.end)]
    # An end and a start that are one may miss each other by rounding.
    edges = sorted({round(edge, 9) for edge in (0.0, scenario.workload.duration, *faults)})
    at_rest = endpoints_at_rest(scenario, requests)
    return tuple(_condition(scenario, at_rest, begin_s, end_s) for begin_s, end_s in pairwise(edges))


@dataclass(frozen=True, slots=True)
class Gap:
    """A stretch in which nobody is admitted, for `away` is killed or paused."""

    begin_s: float
    end_s: float
    away: str

    @property
    def sentence(self) -> str:
        """Such as `nobody is answered from second 5 to 7, for the gate is away`."""
        return f"nobody is answered from second {self.begin_s:g} to {self.end_s:g}, for {self.away} is away"


def gaps_of(conditions: Sequence[Condition]) -> list[Gap]:
    """The gaps of a drill; what another fault cuts in two is one."""
    found: list[Gap] = []
    for each in conditions:
        if each.away is None:
            continue
        if found and found[-1].end_s == each.begin_s and found[-1].away == each.away:
            found[-1] = Gap(found[-1].begin_s, each.end_s, each.away)
        else:
            found.append(Gap(each.begin_s, each.end_s, each.away))
    return found


def _condition(
    scenario: Scenario, at_rest: dict[str, tuple[Endpoint, float]], begin_s: float, end_s: float
) -> Condition:
    middle_s = (begin_s + end_s) / 2
    faults = [fault for fault in scenario.faults if fault.start < middle_s < fault.end]
    attempts = scenario.stack.max_attempts
    classes = {name: (under(each, name, faults, attempts), share) for name, (each, share) in at_rest.items()}
    whole = Endpoint.pooled(list(classes.values()))
    return Condition(begin_s, end_s, _slots(scenario, faults), _away(scenario, faults), classes, whole)


def _slots(scenario: Scenario, faults: Sequence[AnyFault]) -> int:
    """The slots of the workers that run. A queue that is down, or the link to it, feeds none."""
    gone = _gone(faults)
    if ("redis", 1) in gone or any(isinstance(each, ProxyDownFault) and each.link == "redis" for each in faults):
        return 0
    scales = [each for each in newest_last(faults) if isinstance(each, ProcessFault) and each.replicas is not None]
    workers = scenario.stack.workers if not scales else scales[-1].replicas or 0
    return (workers - sum(service == "worker" for service, _ in gone)) * scenario.stack.slots


def _away(scenario: Scenario, faults: Sequence[AnyFault]) -> str | None:
    """The gate, unless the edge leads past it, or Redis."""
    gone = _gone(faults)
    if ("redis", 1) in gone:
        return "Redis"
    past = scenario.stack.edge and any(isinstance(each, RouteFault) for each in faults)
    return "the gate" if ("gate", 1) in gone and not past else None


def _gone(faults: Sequence[AnyFault]) -> set[tuple[str, int]]:
    """Processes that neither run nor are about to; one that is restarted is back at once."""
    return {
        (each.service, each.index)
        for each in faults
        if isinstance(each, ProcessFault) and each.action in ("kill", "pause")
    }
