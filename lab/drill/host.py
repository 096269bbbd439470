"""Samples how busy the machine is while an arm plays."""

import asyncio

import psutil

from lab.drill.journal_writer import JournalWriter

EVERY_S = 1.0


async def sample_host(journal: JournalWriter) -> None:
    """Writes a `host` event a second until cancelled."""
    clock = _busy_and_total()
    while True:
        await asyncio.sleep(EVERY_S)
        now = _busy_and_total()
        busy, total = now[0] - clock[0], now[1] - clock[1]
        clock = now
        ratio = busy / total if total > 0 else 0.0
        journal.write("host", cpu_ratio=round(ratio, 4), available_memory_bytes=psutil.virtual_memory().available)


def _busy_and_total() -> tuple[float, float]:
    """Seconds all cores were busy, and seconds in all. Read here, since psutil's own interval is shared by all arms."""
    times = psutil.cpu_times()
    total = sum(times) - getattr(times, "guest", 0.0) - getattr(times, "guest_nice", 0.0)
    idle = times.idle + getattr(times, "iowait", 0.0)
    return total - idle, total
