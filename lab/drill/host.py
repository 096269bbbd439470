"""Samples how busy the machine is while arms play, and how much of that is other work than the lab's."""

import asyncio
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from lab.drill.journal_writer import JournalWriter
from lab.drill.own_work import Processes, ProcessTable, own_cpu_s
from lab.drill.testbed import Containers

EVERY_S = 1.0
PRESSURE = Path("/proc/pressure/cpu")


@dataclass(frozen=True, slots=True)
class Reading:
    """The machine's clocks at one moment, in seconds. `claimed_s` is CPU time that someone can be named for.

    `pressure_s` is how long some task waited for a core; None where the kernel does not tell.
    """

    at_s: float
    busy_s: float
    total_s: float
    claimed_s: float
    pressure_s: float | None
    processes: Processes


class HostWatch:
    """One sampler for all arms of a run: each journal that listens gets a `host` event a second."""

    def __init__(self, containers: Containers | None) -> None:
        """`containers` is asked when one shows up that is not known yet; None where the stack is made of processes."""
        self._ask = containers
        self._table = ProcessTable()
        self._own: frozenset[str] = frozenset()
        self._foreign: frozenset[str] = frozenset()
        self._journals: list[JournalWriter] = []

    @contextmanager
    def telling(self, journal: JournalWriter) -> Iterator[None]:
        """For the length of a `with` block, `journal` gets the samples."""
        self._journals.append(journal)
        try:
            yield
        finally:
            self._journals.remove(journal)

    async def watch(self) -> None:
        """Samples until cancelled."""
        before = await asyncio.to_thread(read, self._table)
        while True:
            await asyncio.sleep(EVERY_S)
            now = await asyncio.to_thread(read, self._table)
            if self._journals:
                told = sample(before, now, os.getpid(), await self.own_containers(now))
                for journal in self._journals:
                    journal.write("host", **told)
            before = now

    async def own_containers(self, now: Reading) -> frozenset[str] | None:
        """None where they cannot be told from the rest: the engine does not answer, or runs them out of our sight."""
        if self._ask is None:
            return frozenset()
        seen = frozenset(process.container for process in now.processes.values() if process.container is not None)
        unknown = seen - self._own - self._foreign
        if unknown or not self._own:
            own = await self._ask()
            if own is None:
                return None
            self._own, self._foreign = own, self._foreign | (unknown - own)
        return self._own & seen or None


def sample(before: Reading, now: Reading, root: int, containers: frozenset[str] | None) -> dict[str, Any]:
    """Fields of a `host` event: what happened between two readings. Other work is None where it is not known."""
    wall_s, total_s = now.at_s - before.at_s, now.total_s - before.total_s
    other_cores = None
    if containers is not None and wall_s > 0:
        own_s = own_cpu_s(before.processes, now.processes, root, containers)
        other_cores = round(max(0.0, now.claimed_s - before.claimed_s - own_s) / wall_s, 3)
    pressed = None
    if now.pressure_s is not None and before.pressure_s is not None and wall_s > 0:
        pressed = round(min(1.0, (now.pressure_s - before.pressure_s) / wall_s), 4)
    return {
        "cpu_ratio": round((now.busy_s - before.busy_s) / total_s, 4) if total_s > 0 else 0.0,
        "available_memory_bytes": psutil.virtual_memory().available,
        "other_cpu_cores": other_cores,
        "cpu_pressure_ratio": pressed,
    }


def read(table: ProcessTable) -> Reading:
    """All clocks now. Read here, since psutil's own interval is one for the whole process."""
    times = psutil.cpu_times()
    total_s = sum(times) - getattr(times, "guest", 0.0) - getattr(times, "guest_nice", 0.0)
    busy_s = total_s - times.idle - getattr(times, "iowait", 0.0)
    # Whose work an interrupt does cannot be told; time that a hypervisor took away is other work.
    interrupts_s = getattr(times, "irq", 0.0) + getattr(times, "softirq", 0.0)
    return Reading(time.monotonic(), busy_s, total_s, busy_s - interrupts_s, _pressure_s(), table.read())


def _pressure_s() -> float | None:
    """The first line of the kernel's file is `some avg10=0.00 avg60=0.00 avg300=0.00 total=<microseconds>`."""
    try:
        return int(PRESSURE.read_text(encoding="ascii").split("total=")[1].split()[0]) / 1e6
    except (OSError, IndexError, ValueError):
        return None
