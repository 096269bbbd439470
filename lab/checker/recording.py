"""One arm's journal as plain events by kind. Judges nothing."""

import json
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab.contract.names import PROBE_PREFIX

JOURNAL_NAME = "journal.jsonl"
Line = dict[str, Any]


class UnreadableError(Exception):
    """A file that cannot be checked; the sentence names it."""


@dataclass(frozen=True, slots=True)
class Recording:
    """Events of one arm by kind, probes left out. `whole` is False where the last line was cut short."""

    name: str
    header: Line
    events: dict[str, list[Line]]
    whole: bool

    def of(self, kind: str) -> list[Line]:
        """The events of one kind, in the order written."""
        return self.events.get(kind, [])

    @property
    def start_at(self) -> float:
        """Time 0 of the schedule, in unix seconds; where no line says it, the first due time, 0.0 of no request."""
        if started := self.of("schedule_start"):
            return float(started[0]["start_at"])
        return min((float(request["due_at"]) for request in self.of("request")), default=0.0)


def read_recording(folder: Path) -> Recording:
    """The journal of an arm's folder.

    Raises:
        UnreadableError: it is not there, a line before the last is no event, or the first is no run event.
    """
    path = folder / JOURNAL_NAME
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UnreadableError(f"{path}: cannot be read: {error}; give the folder of a run that was played") from None
    lines = text.split("\n")
    # A whole journal ends with a newline, so that nothing stands after the last one.
    events = [_event(path, number, line) for number, line in enumerate(lines[:-1], start=1)]
    if not events or events[0]["event"] != "run":
        raise UnreadableError(f"{path}:1: is no run event, so nothing says what was played")
    by_kind: dict[str, list[Line]] = defaultdict(list)
    for event in events[1:]:
        if not str(event.get("request_id") or "").startswith(PROBE_PREFIX):
            by_kind[event["event"]].append(event)
    return Recording(folder.name, events[0], dict(by_kind), whole=not lines[-1])


def _event(path: Path, number: int, line: str) -> Line:
    try:
        event = json.loads(line)
    except (ValueError, RecursionError):
        event = None
    if not isinstance(event, dict) or not isinstance(event.get("event"), str):
        raise UnreadableError(f"{path}:{number}: is no event; a journal holds one JSON object with `event` a line")
    return event
