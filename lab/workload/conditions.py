"""The stretches of a drill in which the same faults act, and what the stack can do in each."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from lab.contract.fault_spec import AnyFault, ProcessFault
from lab.contract.messages import ScheduledRequest
from lab.contract.scenario import Scenario, Slo
from lab.workload.endpoint import Endpoint, endpoints_at_rest, under

P95 = 0.95


@dataclass(frozen=True, slots=True, eq=False)
class Condition:
    """A stretch in which the same faults act.

    `classes` holds each class's endpoint and its share of the requests.
    """

    begin_s: float
    end_s: float
    slots: int
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
    edges = sorted(
        {0.0, scenario.workload.duration, *(edge for each in scenario.faults for edge in (each.start, each.end))}
    )
    at_rest = endpoints_at_rest(scenario, requests)
    return tuple(_condition(scenario, at_rest, begin_s, end_s) for begin_s, end_s in pairwise(edges))


def _condition(
    scenario: Scenario, at_rest: dict[str, tuple[Endpoint, float]], begin_s: float, end_s: float
) -> Condition:
    faults = [fault for fault in scenario.faults if fault.start < end_s and fault.end > begin_s]
    attempts = scenario.stack.max_attempts
    classes = {name: (under(each, name, faults, attempts), share) for name, (each, share) in at_rest.items()}
    return Condition(begin_s, end_s, _slots(scenario, faults), classes, Endpoint.pooled(list(classes.values())))


def _slots(scenario: Scenario, faults: Sequence[AnyFault]) -> int:
    """The slots of the workers that run. A queue that is down feeds none."""
    down = {(fault.service, fault.index) for fault in faults if isinstance(fault, ProcessFault)}
    if ("redis", 1) in down:
        return 0
    workers = sum(service == "worker" for service, _ in down)
    return (scenario.stack.workers - workers) * scenario.stack.slots
