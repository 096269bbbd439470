"""How far a play of the schedule is, by the load generator's own lines. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Play:
    """The last play: when it was announced, its time 0 (both unix seconds), how many requests, how many sent."""

    announced_at: float
    start_at: float
    due_count: int
    sent_count: int
    ended: bool


def last_play(events: Iterable[dict[str, Any]]) -> Play | None:
    """The play that the last `schedule_start` began; None where nothing was played."""
    start: dict[str, Any] | None = None
    sent: set[str] = set()
    ended = False
    for event in events:
        match event["event"]:
            case "schedule_start":
                start, sent, ended = event, set(), False
            case "request" if event["sent_at"] is not None:
                sent.add(event["request_id"])
            case "load_end":
                ended = True
    if start is None:
        return None
    return Play(start["at"], start["start_at"], start["due_count"], len(sent), ended)
