"""D, utilization: shed while the slots are too busy.

    shed iff  u > u_max
    retry after  max(a, 1 s)

u      utilization_ratio, occupied slots over slots, exponentially smoothed, 0 to 1
u_max  max_utilization_ratio, the declared limit, 0 to 1
a      queue_age_s, age of the oldest entry not yet delivered, seconds

Occupied slots say nothing of the work left in them, so no estimate follows from u itself: the hint is the time that a
queue, where there is one, takes to be served, and else the shortest that a Retry-After in whole seconds can say.

Source: DRILLS.md section 3, policy D.
"""

from dataclasses import dataclass

from lab.contract.names import REASON_UTILIZATION
from lab.policies.policy import Policy
from lab.policies.rule import Condition, Rule
from lab.policies.snapshot import AdmissionRequest, Snapshot

SHORTEST_RETRY_AFTER_S = 1.0


@dataclass(frozen=True, slots=True)
class Utilization(Policy):
    """Sheds while utilization_ratio > max_utilization_ratio."""

    max_utilization_ratio: float

    def rules(self, request: AdmissionRequest) -> tuple[Rule, ...]:  # noqa: ARG002 - one limit for all requests
        """The one rule."""
        condition = Condition("utilization_ratio", ">", self.max_utilization_ratio)
        return (Rule("shed", REASON_UTILIZATION, (condition,), _retry_after),)


def _retry_after(snapshot: Snapshot) -> float:
    return max(snapshot.queue_age_s, SHORTEST_RETRY_AFTER_S)
