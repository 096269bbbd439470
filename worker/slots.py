"""A worker's slots: which deliveries hold one, and how many further ones may. Must not know the stream or the model."""

import asyncio
import contextlib
import time
from collections.abc import KeysView

from worker.breaker import Breaker


class Slots:
    """`count` slots behind a breaker: a slot that is free is no use while the breaker leaves no room."""

    def __init__(self, count: int, breaker: Breaker) -> None:
        """All are free."""
        self._count = count
        self._breaker = breaker
        self._held: dict[str, asyncio.Task[None]] = {}
        self._changed = asyncio.Event()
        self._closed = False

    @property
    def held(self) -> KeysView[str]:
        """The entries whose deliveries hold a slot."""
        return self._held.keys()

    @property
    def tasks(self) -> tuple[asyncio.Task[None], ...]:
        """What works in the slots."""
        return tuple(self._held.values())

    def hold(self, entry_id: str, task: asyncio.Task[None]) -> None:
        """A delivery takes a slot until it is released."""
        self._held[entry_id] = task
        self._breaker.took(entry_id)

    def release(self, entry_id: str) -> None:
        """A delivery is done with."""
        del self._held[entry_id]
        self._breaker.left(entry_id)
        self._changed.set()

    def close(self) -> None:
        """No slot is given any more."""
        self._closed = True
        self._changed.set()

    def cancel(self, entry_id: str) -> None:
        """Stops what works in a slot; it is released when that has ended."""
        self._held[entry_id].cancel()

    async def free(self) -> int:
        """How many deliveries may be taken now, waiting for the first; 0 only once closed."""
        while not self._closed:
            now = time.monotonic()
            free = min(self._count - len(self._held), self._breaker.room(now))
            if free > 0:
                return free
            await self.change(self._breaker.wait_s(now))
        return 0

    async def change(self, within_s: float | None = None) -> None:
        """Waits until a slot is released or all are closed, so long at most."""
        self._changed.clear()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(within_s):
                await self._changed.wait()
