"""What a rehearsal keeps on disk, under `<reports>/rehearsal/`. Every file is written beside its place and moved there.

bench.json       the local bench that is up            (a compose bench is known by the engine)
stack/           its services' logs                    keeper.err   the keeper's last words
load.json        what was played last                  schedule.jsonl   its arrivals
faults/NAME.json one fault each, kept once it is over  switches.jsonl   every switch of policy or mode
"""

import contextlib
import fcntl
import json
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab.drill.rehearsal import RehearsalError

LOCK_WITHIN_S = 60.0
LOCK_POLL_S = 0.05


@dataclass(frozen=True, slots=True)
class State:
    """The folder of one reports root."""

    reports_root: Path

    @property
    def root(self) -> Path:
        """The folder itself."""
        return self.reports_root / "rehearsal"

    @property
    def bench_file(self) -> Path:
        """The local bench that is up."""
        return self.root / "bench.json"

    @property
    def compose_file(self) -> Path:
        """What the compose bench was brought up with, if it was by `up`."""
        return self.root / "compose.json"

    @property
    def stack_dir(self) -> Path:
        """Where the local bench's services write."""
        return self.root / "stack"

    @property
    def keeper_words(self) -> Path:
        """What the keeper says of itself."""
        return self.root / "keeper.err"

    @property
    def load_file(self) -> Path:
        """What was played last."""
        return self.root / "load.json"

    @property
    def schedule_file(self) -> Path:
        """The arrivals played last."""
        return self.root / "schedule.jsonl"

    @property
    def faults_dir(self) -> Path:
        """One file a fault."""
        return self.root / "faults"

    @property
    def switches_file(self) -> Path:
        """Every switch, one a line."""
        return self.root / "switches.jsonl"

    def make(self) -> None:
        """Makes the folders.

        Raises:
            RehearsalError: they cannot be made.
        """
        try:
            self.faults_dir.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise RehearsalError(
                f"{self.root}: cannot be written: {error.strerror or error}; make it writable, "
                "or name another folder in SHEDLAB_REPORTS"
            ) from None

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """One command at a time changes what is recorded; the lock goes with its holder, however that ends.

        Raises:
            RehearsalError: another command holds it for too long.
        """
        self.make()
        with (self.root / "lock").open("a") as lock:
            deadline = time.monotonic() + LOCK_WITHIN_S
            while not _taken(lock.fileno()):
                if time.monotonic() > deadline:
                    raise RehearsalError(f"another shedlab command has been at this bench for {LOCK_WITHIN_S:g} s")
                time.sleep(LOCK_POLL_S)
            yield


def _taken(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def write_json(path: Path, value: dict[str, Any]) -> None:
    """Writes a file whole or not at all.

    Raises:
        RehearsalError: it cannot be written.
    """
    passing = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        passing.write_text(json.dumps(value, indent=1), encoding="utf-8")
        passing.replace(path)
    except OSError as error:
        raise RehearsalError(f"{path}: cannot be written: {error.strerror or error}; free some space") from None
    finally:
        passing.unlink(missing_ok=True)


def read_json(path: Path) -> dict[str, Any] | None:
    """A file's object; None where there is no file.

    Raises:
        RehearsalError: it is there and cannot be read as one.
    """
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise RehearsalError(f"{path}: cannot be read: {error}; remove it") from None
    if not isinstance(value, dict):
        raise RehearsalError(f"{path}: holds no object; remove it")
    return value
