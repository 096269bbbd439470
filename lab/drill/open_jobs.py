"""Which admitted jobs have not ended, counted from an arm's journal, and which of them Redis has lost."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import Any

from lab.contract.fault_spec import AnyFault, ProcessFault
from lab.contract.names import PROBE_PREFIX


@dataclass(frozen=True, slots=True)
class OpenJob:
    """An admitted job; `admitted_at` is unix time."""

    job_id: str
    request_id: str
    admitted_at: float


@dataclass(slots=True)
class OpenJobs:
    """Follows a journal's events, in whatever order gate and workers wrote them.

    `emptying` names the faults that empty Redis: it keeps its queue in memory alone.
    """

    emptying: frozenset[str] = frozenset()
    _admitted: dict[str, OpenJob] = field(default_factory=dict)
    _settled: set[str] = field(default_factory=set)
    _emptied_at: float | None = None

    def observe(self, event: dict[str, Any]) -> None:
        """Takes one event."""
        name = event["event"]
        if str(event.get("request_id") or "").startswith(PROBE_PREFIX):
            return
        if name == "decision" and event["job_id"] is not None:
            job_id = event["job_id"]
            self._admitted[job_id] = OpenJob(job_id, event["request_id"], event["at"])
        elif name == "outcome":
            self._settled.add(event["job_id"])
        elif name == "fault" and event["name"] in self.emptying:
            self._emptied_at = max(event["applied_at"], self._emptied_at or 0.0)

    def lost(self, still_queued: Collection[str]) -> Iterator[OpenJob]:
        """Admitted before Redis was last empty, never settled, and not in the stream any more."""
        if self._emptied_at is None:
            return
        for job in self._admitted.values():
            gone = job.job_id not in self._settled and job.job_id not in still_queued
            if gone and job.admitted_at <= self._emptied_at:
                yield job


def empties_redis(fault: AnyFault) -> bool:
    """Whether Redis comes back from it with an empty memory."""
    return isinstance(fault, ProcessFault) and fault.service == "redis" and fault.action in ("kill", "restart")
