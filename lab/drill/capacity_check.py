"""The capacity check as evidence in the journal, so that the report can show what arithmetic said before the run."""

from collections.abc import Sequence
from typing import Any

from lab.contract.messages import ScheduledRequest
from lab.contract.scenario import Scenario
from lab.workload.capacity import PhaseLoad, phase_loads
from lab.workload.wording import capacity_lines


def capacity_evidence(scenario: Scenario, requests: Sequence[ScheduledRequest]) -> dict[str, Any]:
    """{"phases": [...], "lines": [...]} of the scenario as played; a number that is not finite becomes None.

    `requests` is the schedule, which alone knows the rates of a replay.
    """
    loads = phase_loads(scenario, requests)
    return {"phases": [_phase(load) for load in loads], "lines": capacity_lines(scenario, requests)}


def _phase(load: PhaseLoad) -> dict[str, Any]:
    numbers = {
        "arrival_rate_per_s": load.arrival_rate_per_s,
        "mean_service_s": load.mean_service_s,
        "p95_service_s": load.p95_service_s,
        "offered_slots": load.offered_slots,
        "slots": float(load.slots),
        "load_ratio": load.load_ratio,
        "unavoidable_shed_ratio": load.unavoidable_shed_ratio,
    }
    return {
        "phase": load.phase,
        **{name: number if abs(number) < float("inf") else None for name, number in numbers.items()},
    }
