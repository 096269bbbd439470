"""Finds and ends the processes that a run left behind when its runner died without a chance to clean up.

Every process of a local stack carries its owner in its environment, so nothing on disk has to have survived.
"""

import contextlib
import os
from collections.abc import Callable
from dataclasses import dataclass

import psutil

OWNER_VARIABLE = "SHEDLAB_OWNER"
RUN_VARIABLE = "SHEDLAB_RUN"
END_GRACE_S = 2.0
# A process's start is known to a hundredth of a second.
START_TOLERANCE_S = 0.5


@dataclass(frozen=True, slots=True)
class Orphan:
    """A process whose run is dead."""

    process: psutil.Process
    run_id: str
    name: str


def owner_mark() -> str:
    """What this runner writes into the environment of its processes: its pid, and its start against pid reuse."""
    return f"{os.getpid()}:{psutil.Process().create_time():.2f}"


def find_orphans() -> list[Orphan]:
    """Processes of this user that carry the mark of a runner that is no longer there."""
    orphans = []
    for process in psutil.process_iter():
        try:
            environment = process.environ()
            if not is_alive(environment.get(OWNER_VARIABLE)) and process.status() != psutil.STATUS_ZOMBIE:
                orphans.append(Orphan(process, environment.get(RUN_VARIABLE, "?"), " ".join(process.cmdline()[-2:])))
        except (psutil.Error, OSError):
            # Another user's process, or one that ended while it was looked at.
            continue
    return orphans


def is_alive(mark: str | None) -> bool:
    """Whether the runner of this mark still runs; a process without a mark is nobody's orphan."""
    if mark is None:
        return True
    pid, _, started = mark.partition(":")
    try:
        return abs(psutil.Process(int(pid)).create_time() - float(started)) < START_TOLERANCE_S
    except (psutil.NoSuchProcess, ValueError):
        return False


def end_orphans() -> list[str]:
    """Ends every orphan, with a sentence for each."""
    orphans = find_orphans()
    for orphan in orphans:
        _quietly(orphan.process.resume)
        _quietly(orphan.process.terminate)
    _, stubborn = psutil.wait_procs([orphan.process for orphan in orphans], timeout=END_GRACE_S)
    for process in stubborn:
        _quietly(process.kill)
    psutil.wait_procs(stubborn, timeout=END_GRACE_S)
    return [
        f"ended process {orphan.process.pid} ({orphan.name}) that run {orphan.run_id} left behind" for orphan in orphans
    ]


def _quietly(action: Callable[[], object]) -> None:
    # It may have ended meanwhile, which is what is wanted.
    with contextlib.suppress(psutil.Error):
        action()
