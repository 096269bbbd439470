"""Notices that the runner itself stood still: stopped by a signal, asleep with the machine, or starved."""

import asyncio
import time

from lab.drill.journal_writer import JournalWriter

TICK_S = 0.1
# A busy machine makes a tick late by tenths of a second; a whole second is a hole in what is sampled each second.
LEAST_S = 1.0


async def watch_standstill(journal: JournalWriter) -> None:
    """Writes a `standstill` event for each gap of at least LEAST_S between its own ticks, until cancelled.

    Gaps are measured by wall time, which goes on while the machine sleeps, as the monotonic clock of Linux does not.
    """
    before = time.time()
    while True:
        await asyncio.sleep(TICK_S)
        now = time.time()
        if now - before >= LEAST_S:
            journal.write("standstill", began_at=before, ended_at=now)
        before = now
