"""How far a play of the schedule is, by the load generator's own lines. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Play:
    """The last play: when it was announced, its time 0 (both unix seconds), how many requests, how many recorded."""

    announced_at: float
    start_at: float
    due_count: int
    recorded_count: int
    ended: bool


def last_play(events: Iterable[dict[str, Any]]) -> Play | None:
    """The play that the last `schedule_start` began; None where nothing was played."""
    start: dict[str, Any] | None = None
    recorded: set[str] = set()
    ended = False
    for event in events:
        match event["event"]:
            case "schedule_start":
                start, recorded, ended = event, set(), False
            case "request":
                recorded.add(event["request_id"])
            case "load_end":
                ended = True
    if start is None:
        return None
    return Play(start["at"], start["start_at"], start["due_count"], len(recorded), ended)
