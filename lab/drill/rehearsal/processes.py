"""Processes that outlive the command that starts them, known again by a mark: pid, and start against pid reuse."""

import contextlib
import os
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import psutil

from lab.drill.testbed.leftovers import END_GRACE_S, OWNER_VARIABLE, START_TOLERANCE_S, this_place
from lab.drill.testbed.local import PROJECT_ROOT

POLL_S = 0.02


def start_detached(argv: Sequence[str], environment: dict[str, str], output: Path, errors: Path) -> str:
    """Starts a program in a session of its own, its words appended to files; returns its mark. OSError if it cannot."""
    with output.open("ab") as out, errors.open("ab") as err:
        process = subprocess.Popen(  # noqa: S603 - this Python with the lab's own modules
            argv,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            env=environment,
            cwd=PROJECT_ROOT,
            start_new_session=True,
        )
    mark = mark_of(process.pid)
    # Nobody here waits for it; told so, Python does not complain when this command ends first.
    process.returncode = 0
    return mark


def mark_of(pid: int) -> str:
    """The mark of a process of this user's, which as an owner calls itself the same."""
    try:
        return f"{pid}:{psutil.Process(pid).create_time():.2f}:{this_place()}"
    except psutil.NoSuchProcess:
        return f"{pid}:0"


def process_of(mark: str) -> psutil.Process | None:
    """The process of a mark, None where it has ended; one that only waits to be reaped has."""
    pid, _, rest = mark.partition(":")
    started = rest.partition(":")[0]
    try:
        process = psutil.Process(int(pid))
        same = abs(process.create_time() - float(started)) < START_TOLERANCE_S
        return process if same and process.status() != psutil.STATUS_ZOMBIE else None
    except (psutil.Error, ValueError):
        return None


def owned_by(mark: str) -> list[psutil.Process]:
    """Every process that carries this owner's mark in its environment, whether the owner lives or not."""
    found = []
    for process in psutil.process_iter():
        try:
            owned = process.pid != os.getpid() and process.environ().get(OWNER_VARIABLE) == mark
            if owned and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
        except (psutil.Error, OSError):
            # Another user's process, or one that ended while it was looked at.
            continue
    return found


def end(processes: Sequence[psutil.Process], grace_s: float = END_GRACE_S) -> list[psutil.Process]:
    """SIGTERM, then SIGKILL after the grace; returns those that are still there."""
    for process in processes:
        _quietly(process.resume)
        _quietly(process.terminate)
    stubborn = _wait(processes, grace_s)
    for process in stubborn:
        _quietly(process.kill)
    return _wait(stubborn, END_GRACE_S)


def _wait(processes: Sequence[psutil.Process], within_s: float) -> list[psutil.Process]:
    """Those that have not ended in time; psutil's own wait takes one that nobody reaps for a living one."""
    deadline = time.monotonic() + within_s
    while (living := _living(processes)) and time.monotonic() < deadline:
        time.sleep(POLL_S)
    return living


def _living(processes: Sequence[psutil.Process]) -> list[psutil.Process]:
    living = []
    for process in processes:
        with contextlib.suppress(psutil.Error):
            if process.status() != psutil.STATUS_ZOMBIE:
                living.append(process)
    return living


def _quietly(action: Callable[[], object]) -> None:
    # It may have ended meanwhile, which is what is wanted.
    with contextlib.suppress(psutil.Error):
        action()
