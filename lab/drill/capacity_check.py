"""The capacity check as evidence in the journal, so that the report can show what arithmetic said before the run."""

from collections.abc import Sequence
from typing import Any

from lab.contract.messages import ScheduledRequest
from lab.contract.scenario import Scenario
from lab.workload.capacity import PhaseLoad
from lab.workload.wording import check_capacity, lines


def capacity_evidence(scenario: Scenario, requests: Sequence[ScheduledRequest]) -> dict[str, Any]:
    """{"phases": [...], "lines": [...], "claims": [...]} of the scenario as played; a number not finite becomes None.

    One of `claims` per claim of the scenario, in its order. `requests` is the schedule, which alone knows the rates of
    a replay.
    """
    check = check_capacity(scenario, requests)
    return {
        "phases": [_phase(load) for load in check.phases],
        "lines": lines(check),
        "claims": [{"ruled_out": each.ruled_out, "sentence": each.sentence} for _, each in check.claims],
    }


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
