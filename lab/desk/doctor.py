"""`shedlab doctor`: can this machine run drills? A line per check, with a remedy where one fails."""

import os
import shutil
import socket
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import psutil

from lab.contract.names import EXIT_COULD_NOT_RUN, EXIT_OK
from lab.desk.doctor_engine import engine_findings
from lab.desk.finding import Finding
from lab.desk.places import reports_root
from lab.drill.testbed import StackError
from lab.drill.testbed.leftovers import find_orphans
from lab.drill.testbed.programs import redis_program, toxiproxy_program

NEEDED_PYTHON = (3, 11)
NEEDED_CORES = 2
NEEDED_MEMORY_BYTES = 1_000_000_000
NEEDED_DISK_BYTES = 500_000_000
CLOCK_SLEEP_S = 0.05
CLOCK_TOLERANCE_S = 0.5


def doctor() -> int:
    """Prints every finding; exit code 3 where one of them keeps drills from running."""
    findings = [*(check() for check in CHECKS), *engine_findings()]
    for finding in findings:
        print(finding.line())
    return EXIT_OK if all(finding.ok or not finding.needed for finding in findings) else EXIT_COULD_NOT_RUN


def _python() -> Finding:
    version = ".".join(map(str, sys.version_info[:3]))
    return Finding("python", sys.version_info[:2] >= NEEDED_PYTHON, version, "install Python 3.11 or newer")


def _cores() -> Finding:
    cores = os.cpu_count() or 1
    return Finding("cores", cores >= NEEDED_CORES, str(cores), "use a machine with 2 cores or more, or JOBS=1")


def _memory() -> Finding:
    free = psutil.virtual_memory().available
    return Finding("memory", free >= NEEDED_MEMORY_BYTES, f"{free / 1e9:.1f} GB available", "free 1 GB")


def _disk() -> Finding:
    folder = _existing(reports_root())
    free = shutil.disk_usage(folder).free
    return Finding("disk", free >= NEEDED_DISK_BYTES, f"{free / 1e9:.1f} GB free at {folder}", "free 0.5 GB")


def _reports() -> Finding:
    folder = reports_root()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return Finding("reports", ok=True, found=f"{folder} can be written")
    except OSError as error:
        remedy = "make it writable, or name another folder in SHEDLAB_REPORTS"
        return Finding("reports", ok=False, found=f"{folder}: {error.strerror or error}", remedy=remedy)


def _redis() -> Finding:
    try:
        return Finding("redis", ok=True, found=redis_program().version)
    except StackError as error:
        return Finding("redis", ok=False, found=str(error), remedy="install redis-server")


def _toxiproxy() -> Finding:
    try:
        return Finding("toxiproxy", ok=True, found=toxiproxy_program(0).version)
    except StackError as error:
        return Finding("toxiproxy", ok=False, found=str(error), remedy="take the broken toxiproxy-server off PATH")


def _ports() -> Finding:
    try:
        with socket.socket() as one:
            one.bind(("127.0.0.1", 0))
        return Finding("ports", ok=True, found="loopback gives free ports")
    except OSError as error:
        return Finding("ports", ok=False, found=f"loopback gives none: {error}", remedy="check the loopback interface")


def _clock() -> Finding:
    wall, steady = time.time(), time.monotonic()
    time.sleep(CLOCK_SLEEP_S)
    drift = abs((time.time() - wall) - (time.monotonic() - steady))
    return Finding("clock", drift < CLOCK_TOLERANCE_S, f"steady to {drift * 1000:.1f} ms", "let NTP settle first")


def _leftovers() -> Finding:
    orphans = find_orphans()
    found = f"{len(orphans)} processes of dead runs" if orphans else "no process of a dead run"
    return Finding("leftovers", not orphans, found, "the next run ends them")


def _existing(folder: Path) -> Path:
    return next(path for path in (folder, *folder.absolute().parents) if path.exists())


CHECKS: tuple[Callable[[], Finding], ...] = (
    _python, _cores, _memory, _disk, _reports, _redis, _toxiproxy, _ports, _clock, _leftovers,
)  # fmt: skip
