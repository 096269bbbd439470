"""What a policy may look at: the stack's signals at one instant, the request, and samples of finished work."""

from dataclasses import dataclass
from typing import Literal

# The signals a rule may bound: fields of Snapshot, under the same names in the gate's script.
Signal = Literal[
    "queue_age_s", "queue_depth", "in_flight", "slots", "utilization_ratio", "work_ahead_s", "queued_per_slot"
]
SIGNALS: tuple[Signal, ...] = (
    "queue_age_s",
    "queue_depth",
    "in_flight",
    "slots",
    "utilization_ratio",
    "work_ahead_s",
    "queued_per_slot",
)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The stack's signals at one instant, in Redis time.

    `queue_age_s` is the age of the oldest entry not yet delivered, 0 with none; `queue_depth` counts entries not yet
    delivered; `in_flight` counts entries delivered and not settled; `slots` are those of all live workers;
    `utilization_ratio` is occupied slots over slots, exponentially smoothed; it keeps its last value while no worker
    lives, since nothing over nothing says nothing. `work_ahead_s` is the expected service time of all jobs admitted and
    not settled over slots; see lab.policies.estimate. `now_at` is unix seconds.
    """

    now_at: float
    queue_age_s: float
    queue_depth: int
    in_flight: int
    slots: int
    utilization_ratio: float
    work_ahead_s: float = 0.0

    @property
    def queued_per_slot(self) -> float:
        """Entries not yet delivered over slots, a count; without a live worker as one slot would serve them."""
        return self.queue_depth / max(1, self.slots)


@dataclass(frozen=True, slots=True)
class AdmissionRequest:
    """What a client declares and a policy may know; the work a job will really take is not in it.

    `deadline_s` counts from the gate's receipt.
    """

    job_class: str
    tenant: str
    deadline_s: float
    input_tokens: int
    max_output_tokens: int


@dataclass(frozen=True, slots=True)
class ServiceSample:
    """One finished service, for policies that estimate: its class, how long it took, and when it ended."""

    job_class: str
    service_time_s: float
    finished_at: float
