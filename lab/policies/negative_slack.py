"""How much of the queue is lost already: the share of the queued jobs that are not expected to be done in time.

    negative iff  deadline < now + ahead / max(1, slots) + est
    ahead    =    expected work in flight + expected work of all queued before it

deadline, now  unix seconds
est            expected service time of the job's class, seconds

As slack_v1 projects it, for jobs that are in the queue already; jobs in flight count in full.

Source: DRILLS.md section 4, its alert; the queue is first in, first out.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class QueuedJob:
    """A job not yet delivered: its class, and its deadline in unix seconds."""

    job_class: str
    deadline_at: float


def negative_slack_ratio(
    now_at: float, queued: Sequence[QueuedJob], in_flight_s: float, expected_s: Mapping[str, float], slots: int
) -> float:
    """The share, 0 of an empty queue. `queued` is oldest first; `in_flight_s` is expected work, not a wait."""
    ahead_s, negative = in_flight_s, 0
    for job in queued:
        service_s = expected_s.get(job.job_class, 0.0)
        negative += job.deadline_at < now_at + ahead_s / max(1, slots) + service_s
        ahead_s += service_s
    return negative / len(queued) if queued else 0.0
