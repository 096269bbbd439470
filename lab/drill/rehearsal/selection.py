"""Picks the events of the last play out of all that a bench's services have printed. Pure.

What the bench did before, and what others sent to its gate meanwhile, is no part of the play's book: the jobs of
earlier plays that were still queued, and requests that the schedule does not hold.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from lab.contract.names import PROBE_PREFIX

Event = dict[str, Any]


# What the stack says of itself whether anything is played or not counts until so long after the play's last line.
AFTERGLOW_S = 1.0
ENDLESS = frozenset(("signals", "heartbeat"))


@dataclass(frozen=True, slots=True)
class Selected:
    """The play's events, by time.

    `until_at` is shortly after the last of them; `admitted` are the play's jobs; `foreign_count` decisions were about
    other traffic; `worker_slots` has each worker seen.
    """

    events: tuple[Event, ...]
    until_at: float
    admitted: frozenset[str]
    foreign_count: int
    worker_slots: dict[str, int]


def select(events: Iterable[Event], announced_at: float, scheduled: frozenset[str]) -> Selected:
    """The events since `announced_at`, when the load generator said that the schedule starts (unix seconds)."""
    every = list(events)
    picked = [event for event in every if event["at"] >= announced_at]
    decided = [event for event in picked if event["event"] == "decision" and not _is_probe(event)]
    ours = [event for event in decided if event["request_id"] in scheduled]
    others = _jobs_of(event for event in decided if event["request_id"] not in scheduled)
    keep = _Keeper(scheduled, others | _earlier_jobs(every, announced_at))
    kept = [event for event in picked if keep(event)]
    until_at = AFTERGLOW_S + max((event["at"] for event in kept if event["event"] not in ENDLESS), default=announced_at)
    kept = [event for event in kept if event["at"] <= until_at]
    return Selected(
        events=tuple(sorted(kept, key=lambda event: float(event["at"]))),
        until_at=until_at,
        admitted=_jobs_of(ours),
        foreign_count=len(decided) - len(ours),
        worker_slots={event["source"]: event["slots"] for event in kept if event["event"] == "heartbeat"},
    )


class _Keeper:
    """Whether an event is the play's."""

    def __init__(self, scheduled: frozenset[str], jobs_of_others: frozenset[str]) -> None:
        self._scheduled = scheduled
        self._jobs_of_others = jobs_of_others

    def __call__(self, event: Event) -> bool:
        match event["event"]:
            case "decision" | "request":
                return event["request_id"] in self._scheduled
            case "refusal":
                return event["request_id"] is None or event["request_id"] in self._scheduled
            case "attempt" | "outcome":
                return event["job_id"] not in self._jobs_of_others
            case _:
                return True


def _jobs_of(events: Iterable[Event]) -> frozenset[str]:
    return frozenset(event["job_id"] for event in events if event["job_id"] is not None)


def _earlier_jobs(events: Sequence[Event], announced_at: float) -> frozenset[str]:
    """Jobs that were admitted before; a gate whose old lines are gone is helped out by the workers' own."""
    admitted = _jobs_of(event for event in events if event["event"] == "decision" and event["at"] < announced_at)
    queued = _jobs_of(event for event in events if event["event"] == "outcome" and event["enqueued_at"] < announced_at)
    return admitted | queued


def _is_probe(event: Event) -> bool:
    return str(event["request_id"]).startswith(PROBE_PREFIX)
