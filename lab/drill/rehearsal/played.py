"""What a rehearsal played, as a scenario: the declared one with the faults that really acted. Pure.

Times of faults count from the schedule's start, so that the report's phases are those of the live run.
"""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from lab.contract.environment import policy_json
from lab.contract.flags import fault_json
from lab.contract.policy_spec import PolicySpec
from lab.contract.scenario import Scenario
from lab.drill.rehearsal.faults import FaultRecord
from lab.drill.rehearsal.policies import Switch

# The policies' letters where the scenario gives the kind none.
LETTERS = {
    "none": "A",
    "queue_age": "B",
    "queue_depth": "C",
    "utilization": "D",
    "deadline_slack": "E",
    "slack_v1": "F",
    "age_or_full": "G",
}
# Durations are written with six digits; whole hundredths stay exact in any play shorter than two hours.
STEPS_PER_S = 100


@dataclass(frozen=True, slots=True)
class Stage:
    """The stack as it was: its workers, the slots of each, and the policy at the start."""

    workers: int
    slots: int
    policy: PolicySpec


def letter_of(scenario: Scenario, policy: PolicySpec) -> str:
    """The scenario's letter for this kind of policy, else the usual one."""
    declared = (letter for letter, spec in scenario.policies.items() if spec.kind == policy.kind)
    return next(declared, LETTERS.get(policy.kind, "Z"))


def played_scenario(
    scenario: Scenario, stage: Stage, records: Sequence[FaultRecord], start_at: float, ended_at: float
) -> Scenario:
    """The scenario as the live run was; nothing is expected of it.

    `start_at` is the schedule's time 0, `ended_at` when the record was made, both in unix seconds.
    """
    told: dict[str, Any] = scenario.model_dump(mode="json", by_alias=True)
    placed = (_placed(record, scenario, stage, start_at, ended_at) for record in records)
    return Scenario.model_validate(
        {
            **told,
            "stack": {**told["stack"], "workers": stage.workers, "slots": stage.slots},
            "faults": [fault for fault in placed if fault is not None],
            "policies": {letter_of(scenario, stage.policy): json.loads(policy_json(stage.policy))},
            "expect": {},
            "claims": [],
            "repeats": 1,
            # A bench is not warmed up, and these name policies that were not played.
            "warm_up": None,
        }
    )


def policy_at_start(switches: Sequence[Switch], otherwise: dict[str, Any], start_at: float) -> dict[str, Any]:
    """The policy in force at the schedule's start: what the first switch after it replaced, else the other."""
    after = next((switch for switch in switches if switch.at >= start_at), None)
    return after.was if after is not None else otherwise


def met_by(record: FaultRecord, announced_at: float, until_at: float) -> bool:
    """Whether a fault acted at any time between the play's announcement and its last line."""
    begun_at, ended_at = record.injected_at, record.reverted_at
    return begun_at is not None and begun_at < until_at and (ended_at is None or ended_at > announced_at)


def _placed(
    record: FaultRecord, scenario: Scenario, stage: Stage, start_at: float, ended_at: float
) -> dict[str, Any] | None:
    """The fault with the times at which it acted; None where the load never met it."""
    fault = _fitted(fault_json(record.declared), scenario, stage)
    begin = math.floor(max(0.0, (record.injected_at or record.asked_at) - start_at) * STEPS_PER_S)
    last = math.floor(scenario.workload.duration * STEPS_PER_S)
    end = min(last, math.ceil(((record.reverted_at or ended_at) - start_at) * STEPS_PER_S))
    # Sums of hundredths may be a hair above the duration.
    while end > begin and begin / STEPS_PER_S + (end - begin) / STEPS_PER_S > scenario.workload.duration:
        end -= 1
    if fault is None or end <= begin:
        return None
    return {**fault, "at": f"{begin / STEPS_PER_S:.2f}s", "for": f"{(end - begin) / STEPS_PER_S:.2f}s"}


def _fitted(fault: dict[str, Any], scenario: Scenario, stage: Stage) -> dict[str, Any] | None:
    """The fault as this scenario may declare it; None where it speaks of nothing that was played."""
    if fault["kind"] == "model" and fault["classes"]:
        classes = [name for name in fault["classes"] if name in scenario.workload.classes]
        return {**fault, "classes": classes} if classes else None
    if fault["kind"] == "process" and fault["service"] == "worker" and fault["index"] > stage.workers:
        return None
    return fault
