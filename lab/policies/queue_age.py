"""B, queue_age: shed while the oldest waiting job is too old.

    shed iff  a > a_max
    retry after  a

a      queue_age_s, age of the oldest entry not yet delivered, seconds
a_max  max_age_s, the declared limit, seconds; 60 to 70 % of (SLO of the queued stage - p95 endpoint latency), divided
       by the load (arrival rate over capacity) where that is above 1

Until the head is a_max old everything is admitted, so the queue swings, the more the further load is above capacity.
The hint: the head waited a seconds behind a queue like the one that now stands behind it; with the gate shut, that one
is served at the same pace in another a seconds, and only near its end is the head young again.

Source: DRILLS.md section 3, policy B and its threshold rule, made safe for loads above capacity.
"""

from dataclasses import dataclass

from lab.contract.names import REASON_QUEUE_AGE
from lab.policies.policy import Policy
from lab.policies.rule import Condition, Rule
from lab.policies.snapshot import AdmissionRequest, Snapshot


@dataclass(frozen=True, slots=True)
class QueueAge(Policy):
    """Sheds while queue_age_s > max_age_s."""

    max_age_s: float

    def rules(self, request: AdmissionRequest) -> tuple[Rule, ...]:  # noqa: ARG002 - one limit for all requests
        """The one rule."""
        return (Rule("shed", REASON_QUEUE_AGE, (Condition("queue_age_s", ">", self.max_age_s),), time_to_drain_s),)


def time_to_drain_s(snapshot: Snapshot) -> float:
    """Seconds until the queue is served, if its head's wait is a guide to the wait of its tail."""
    return snapshot.queue_age_s
