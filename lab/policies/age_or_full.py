"""G, age_or_full: shed while the head of the queue is too old, or in flight is full and the queue deep as well.

    shed iff  a > a_max   or   (i >= i_max  and  n > k * i_max)
    retry after  a                       where the head is too old
                 a * (n - k * i_max) / n    where in flight is full

a      queue_age_s, age of the oldest entry not yet delivered, seconds
a_max  max_age_s, seconds; 25 s in drill 1, some 40 % of its SLO
i      in_flight, entries delivered and not settled, a count
i_max  max_in_flight, a count; 4 in drill 1, its workers
n      queue_depth, entries not yet delivered, a count
k      depth_factor; 2 in drill 1

Drill 1 writes i == i_max; where entries of a dead worker are still pending, i passes i_max, which is no less full.
In its harness the permit is taken at the door, so i counts what workers hold; here too. The hints are B's and C's.

Source: DRILLS.md section 1.
"""

from dataclasses import dataclass
from functools import partial

from lab.contract.names import REASON_QUEUE_AGE, REASON_QUEUE_FULL
from lab.policies.policy import Policy
from lab.policies.queue_age import time_to_drain_s
from lab.policies.queue_depth import time_to_fall_s
from lab.policies.rule import Condition, Rule
from lab.policies.snapshot import AdmissionRequest


@dataclass(frozen=True, slots=True)
class AgeOrFull(Policy):
    """Sheds while queue_age_s > max_age_s, or all in flight is taken and queue_depth > depth_factor * max_in_flight."""

    max_age_s: float
    max_in_flight: int
    depth_factor: float = 2.0

    def rules(self, request: AdmissionRequest) -> tuple[Rule, ...]:  # noqa: ARG002 - the same limits for all requests
        """Age first, so that a queue both old and full is shed for its age."""
        max_depth = self.depth_factor * self.max_in_flight
        too_old = (Condition("queue_age_s", ">", self.max_age_s),)
        full = (Condition("in_flight", ">=", self.max_in_flight), Condition("queue_depth", ">", max_depth))
        return (
            Rule("shed", REASON_QUEUE_AGE, too_old, time_to_drain_s),
            Rule("shed", REASON_QUEUE_FULL, full, partial(time_to_fall_s, max_depth)),
        )
