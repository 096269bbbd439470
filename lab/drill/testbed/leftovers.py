"""Finds and ends the processes that a run left behind when its runner died without a chance to clean up.

Every process of a local stack carries its owner in its environment, so nothing on disk has to have survived.
"""

import contextlib
import functools
import hashlib
import os
import platform
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import psutil

OWNER_VARIABLE = "SHEDLAB_OWNER"
RUN_VARIABLE = "SHEDLAB_RUN"
END_GRACE_S = 2.0
BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
PID_NAMESPACE = Path("/proc/self/ns/pid")
MARK = re.compile(r"^(?P<pid>\d{1,10}):(?P<start>\d+\.\d+):(?P<place>\w+)$")
# A process's start is known to a hundredth of a second.
START_TOLERANCE_S = 0.5


@dataclass(frozen=True, slots=True)
class Orphan:
    """A process whose run is dead."""

    process: psutil.Process
    run_id: str
    name: str


def owner_mark() -> str:
    """What this runner writes into the environment of its processes, and on its containers.

    Its pid, its start against pid reuse, and where that pid means it: an engine may be shared by several machines.
    """
    return f"{os.getpid()}:{psutil.Process().create_time():.2f}:{this_place()}"


@functools.cache
def this_place() -> str:
    """This machine since it was booted, and the namespace of its process ids where it has such."""
    parts = [platform.node()]
    with contextlib.suppress(OSError):
        parts += [BOOT_ID.read_text(encoding="ascii").strip(), str(PID_NAMESPACE.readlink())]
    return hashlib.sha256(" ".join(parts).encode()).hexdigest()[:12]


def find_orphans() -> list[Orphan]:
    """Processes of this user that carry the mark of a runner that is no longer there; never one above this one."""
    orphans = []
    own = {process.pid for process in (psutil.Process(), *psutil.Process().parents())}
    for process in psutil.process_iter():
        if process.pid in own:
            continue
        try:
            environment = process.environ()
            if not is_alive(environment.get(OWNER_VARIABLE)) and process.status() != psutil.STATUS_ZOMBIE:
                orphans.append(Orphan(process, environment.get(RUN_VARIABLE, "?"), " ".join(process.cmdline()[-2:])))
        except (psutil.Error, OSError):
            # Another user's process, or one that ended while it was looked at.
            continue
    return orphans


def is_alive(mark: str | None) -> bool:
    """Whether the runner of this mark still runs, as far as can be told here.

    What carries no mark, or something that is none, is nobody's orphan; nor is what another machine marked.
    """
    match = MARK.match(mark or "")
    if match is None or match["place"] != this_place():
        return True
    try:
        return abs(psutil.Process(int(match["pid"])).create_time() - float(match["start"])) < START_TOLERANCE_S
    except psutil.NoSuchProcess:
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
