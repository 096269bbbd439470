"""C, queue_depth: shed while too many jobs wait.

    shed iff  n > n_max
    retry after  a * (n - n_max) / n

n      queue_depth, entries not yet delivered, a count
n_max  max_depth, the declared limit, a count
a      queue_age_s, age of the oldest entry not yet delivered, seconds

The comparison is "above", as declared, so the queue holds at most n_max + 1 jobs: the last is admitted at n = n_max.
The hint: by Little's law the queue is served at about n / a jobs per second, and n - n_max have to be delivered.
The limit knows no time: the same depth is a longer wait once each job becomes slower.

Source: DRILLS.md section 3, policy C.
"""

from dataclasses import dataclass
from functools import partial

from lab.contract.names import REASON_QUEUE_DEPTH
from lab.policies.policy import Policy
from lab.policies.rule import Condition, Rule
from lab.policies.snapshot import AdmissionRequest, Snapshot


@dataclass(frozen=True, slots=True)
class QueueDepth(Policy):
    """Sheds while queue_depth > max_depth."""

    max_depth: float

    def rules(self, request: AdmissionRequest) -> tuple[Rule, ...]:  # noqa: ARG002 - one limit for all requests
        """The one rule."""
        condition = Condition("queue_depth", ">", self.max_depth)
        return (Rule("shed", REASON_QUEUE_DEPTH, (condition,), partial(time_to_fall_s, self.max_depth)),)


def time_to_fall_s(max_depth: float, snapshot: Snapshot) -> float:
    """Seconds until a queue deeper than `max_depth` is that deep, at the pace that its head's age tells."""
    return snapshot.queue_age_s * (snapshot.queue_depth - max_depth) / snapshot.queue_depth
