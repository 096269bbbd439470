"""Appends one arm's events to its journal as they happen: the runner's own, and those the services print to their logs.

    service --stdout--> logs/<source>.out --collect()--> journal.jsonl

A log file between them means that a runner that dies takes no service's words with it, and no service blocks on a pipe.
"""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

from lab.contract.journal import JOURNAL_NAME, line_of, parse_line

RUNNER = "runner"
Observer = Callable[[dict[str, Any]], None]


class JournalWriter:
    """The one writer of an arm's journal; `observe` sees every event once, in the order written.

    A write that fails is kept in `failure` instead of raised: writing happens inside clean-up too, which must go on.
    """

    def __init__(self, arm_dir: Path, observe: Observer) -> None:
        """Opens the journal in `arm_dir`, which must exist. OSError is the caller's to word."""
        self._journal = (arm_dir / JOURNAL_NAME).open("a", encoding="utf-8")
        self._observe = observe
        self._logs: list[_ServiceLog] = []
        # Time 0 of the schedule, once the load generator has said it.
        self.schedule_start_at: float | None = None
        self.failure: OSError | None = None

    def write(self, event: str, at: float | None = None, **fields: Any) -> None:
        """Appends one event of the runner, stamped now unless told otherwise."""
        self._append({"event": event, "at": time.time() if at is None else at, "source": RUNNER, **fields})
        self._flush()

    def follow(self, source: str, path: Path) -> None:
        """Collects from now on what the service `source` prints to the file at `path`."""
        self._logs.append(_ServiceLog(source, path.open("rb")))

    def collect(self) -> int:
        """Moves every whole line printed since the last call into the journal; returns how many."""
        moved = 0
        for log in self._logs:
            for line in log.new_lines():
                event = parse_line(line) or {"event": "log", "at": time.time(), "text": line[:2000]}
                self._append({**event, "source": log.source})
                moved += 1
        if moved:
            self._flush()
        return moved

    def close(self) -> None:
        """Collects what is left and closes every file."""
        self.collect()
        for log in self._logs:
            log.file.close()
        self._attempt(self._journal.close)

    def _append(self, event: dict[str, Any]) -> None:
        self._attempt(lambda: self._journal.write(line_of(event)))
        if event["event"] == "schedule_start":
            self.schedule_start_at = event["start_at"]
        self._observe(event)

    def _flush(self) -> None:
        self._attempt(self._journal.flush)

    def _attempt(self, write: Callable[[], object]) -> None:
        try:
            write()
        except OSError as error:
            self.failure = self.failure or error


class _ServiceLog:
    """How far one service's output has been read."""

    def __init__(self, source: str, file: BinaryIO) -> None:
        self.source = source
        self.file = file
        self._partial = b""

    def new_lines(self) -> list[str]:
        *whole, self._partial = (self._partial + self.file.read()).split(b"\n")
        return [line.decode("utf-8", "replace") for line in whole if line.strip()]
