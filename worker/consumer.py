"""Reads, claims, serves and settles in bounded slots. A delivery is "in flight": it takes a slot until it is settled.

Knows when to read and when to stop. Must not know keys, HTTP or how a job is judged.

Only `_step` takes entries, one call at a time, so that a read and a claim never count on the same free slot.
"""

import asyncio
import logging
import time
from typing import Final

from worker.clock import RedisClock
from worker.delivery import Delivery
from worker.job_line import dead_letter_fields, outcome_fields
from worker.outage import Outage, heed_cancellation, pause_s
from worker.outcome import Ending
from worker.serving import Emit, Serving
from worker.settings import Settings
from worker.slots import Slots
from worker.stream import JobStream, RedisUnusableError

# A stop is noticed after one blocked read at the latest; cutting the read short could lose what it had just been given.
BLOCK_S: Final = 0.5
# How long a settlement under way may go on after the drain's bound, and how long leaving may take.
SETTLE_GRACE_S: Final = 0.75
LEAVE_S: Final = 0.5

_log = logging.getLogger(__name__)


class Consumer:
    """One worker's loop over the stream."""

    def __init__(
        self, settings: Settings, stream: JobStream, serving: Serving, slots: Slots, *, clock: RedisClock, emit: Emit
    ) -> None:
        """Nothing starts yet."""
        self._settings = settings
        self._stream = stream
        self._serving = serving
        self._slots = slots
        self._clock = clock
        self._emit = emit
        self._outage = Outage()
        self._settling: set[str] = set()
        self._stopped = asyncio.Event()
        self._stopped_at = float("inf")
        self._failed_reads = 0
        # Monotonic; what a former life of this worker left pending is taken up by the first step.
        self._claim_due_at = 0.0

    @property
    def stopping(self) -> bool:
        """Whether it was told to stop."""
        return self._stopped.is_set()

    def stop(self) -> None:
        """Takes no further entry; `run` returns when what runs is done, or the drain's bound is reached."""
        if not self.stopping:
            self._stopped_at = time.monotonic()
            self._stopped.set()
            self._slots.close()

    async def run(self, *, burst: bool = False) -> None:
        """Works until stopped; in a burst, until the stream has nothing more to deliver and every slot is free."""
        if not await self._opened():
            return
        async with asyncio.TaskGroup() as tasks:
            beat = tasks.create_task(self._beat())
            while not self.stopping and await self._step(tasks, None if burst else BLOCK_S):
                pass
            await self._drain()
            beat.cancel()
        await self._leave()

    async def _opened(self) -> bool:
        opening = asyncio.create_task(self._outage.until_done(self._stream.open))
        stopping = asyncio.create_task(self._stopped.wait())
        await asyncio.wait((opening, stopping), return_when=asyncio.FIRST_COMPLETED)
        for task in (opening, stopping):
            task.cancel()
        await asyncio.wait((opening, stopping))
        return not opening.cancelled() and opening.result() is None

    async def _step(self, tasks: asyncio.TaskGroup, block_s: float | None) -> bool:
        """Fills the free slots; False when a burst is over: nothing was delivered and nothing runs."""
        # Where a job's task failed, the group cancels this one too.
        heed_cancellation()
        free = await self._slots.free()
        taken = await self._take(free, block_s) if free else []
        for delivery in taken or ():
            self._slots.hold(delivery.entry_id, tasks.create_task(self._handle(delivery)))
        nothing_new = block_s is None and taken == []
        return await self._some_job_ends() if nothing_new else True

    async def _some_job_ends(self) -> bool:
        """Waits for one; False where none runs."""
        if not self._slots.held:
            return False
        await self._slots.change()
        return True

    async def _take(self, free: int, block_s: float | None) -> list[Delivery] | None:
        """Up to `free` entries, claimed or new; None where Redis could not say."""
        count = _fewer(free, self._failed_reads)
        try:
            taken = await self._outage.once(lambda: self._claim(count))
            if not taken:
                taken = await self._outage.once(lambda: self._stream.read(count, block_s))
        except RedisUnusableError:
            # The reply that was lost may have held entries: they are pending, and a claim finds them.
            self._claim_due_at = 0.0
            self._failed_reads += 1
            await asyncio.sleep(pause_s(self._failed_reads))
            return None
        self._failed_reads = 0
        return taken

    async def _claim(self, count: int) -> list[Delivery]:
        if time.monotonic() < self._claim_due_at:
            return []
        claimed = await self._stream.claim(count, self._slots.held)
        if len(claimed) < count:
            self._claim_due_at = time.monotonic() + self._settings.reclaim_after_s / 3
        if claimed:
            _log.warning("claimed %d entries that nobody worked on", len(claimed))
        return claimed

    async def _handle(self, delivery: Delivery) -> None:
        try:
            begun = await self._outage.until_done(lambda: self._stream.begin(delivery))
            ending = await self._serving.serve(begun)
            self._settling.add(delivery.entry_id)
            first = await self._outage.until_done(lambda: self._stream.settle(ending))
            self._say_outcome(ending, first=first)
        finally:
            self._settling.discard(delivery.entry_id)
            self._slots.release(delivery.entry_id)

    def _say_outcome(self, ending: Ending, *, first: bool) -> None:
        now, worker_id = self._clock.now(), self._settings.worker_id
        if ending.dead_letter_reason:
            self._emit("dead_letter", now, **dead_letter_fields(ending, worker_id))
        if ending.identity is None:
            _log.warning("entry %s left the stream without a job: %s", ending.delivery.entry_id, ending.detail)
            return
        self._emit("outcome", now, **outcome_fields(ending, ending.identity, worker_id, first=first, settled_at=now))

    async def _beat(self) -> None:
        while True:
            await self._outage.until_done(self._stream.beat)
            busy, slots = len(self._slots.held), self._settings.slots
            self._emit("heartbeat", self._clock.now(), worker_id=self._settings.worker_id, busy_slots=busy, slots=slots)
            heed_cancellation()
            await asyncio.sleep(self._settings.heartbeat_s)

    async def _drain(self) -> None:
        """Lets what runs go on until the bound, then cuts the calls of the model; what they were for stays pending."""
        await self._finish(max(0.0, self._stopped_at + self._settings.drain_s - time.monotonic()))
        for entry_id in self._slots.held - self._settling:
            self._slots.cancel(entry_id)
        # A settlement that is cut may have been made, and would go unsaid.
        await self._finish(SETTLE_GRACE_S)
        if self._slots.held:
            _log.warning("stopped before %d jobs were settled; they stay pending", len(self._slots.held))
        for task in self._slots.tasks:
            task.cancel()

    async def _finish(self, within_s: float) -> None:
        if self._slots.held:
            await asyncio.wait(self._slots.tasks, timeout=within_s)

    async def _leave(self) -> None:
        try:
            async with asyncio.timeout(LEAVE_S):
                await self._stream.leave()
        except (TimeoutError, RedisUnusableError):
            _log.warning("Redis was not told that this worker left; its heartbeat will run out")


def _fewer(free: int, failed_reads: int) -> int:
    """Half as many entries after each failed read, at least one: a link that cuts long replies may pass short ones."""
    return max(1, free >> min(failed_reads, 30))
