"""The floor where the model works: bounded slots, first come first served, and a count of how each request ended.

Knows when a client left. Must not know what the work is.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Literal

from starlette.types import Receive

Ended = Literal["done", "client_left", "closing"]


class Floor:
    """Slots and counts. Work stops when its client leaves or the floor closes, waiting work too."""

    def __init__(self, slots: int) -> None:
        """`slots` requests are worked on at a time; the others wait in the order they came."""
        self._slots = asyncio.Semaphore(slots)
        self._tasks: set[asyncio.Task[None]] = set()
        self._closing = False
        self.in_flight_count = 0
        self.waiting_count = 0
        self.served_count = 0
        self.cancelled_count = 0

    async def serve(self, receive: Receive, work: Callable[[], Coroutine[Any, Any, None]]) -> Ended:
        """Runs `work` in a slot and says how that ended; `receive` tells that the client left."""
        working = asyncio.create_task(self._in_slot(work))
        leaving = asyncio.create_task(_departure(receive))
        self._tasks.add(working)
        try:
            await asyncio.wait((working, leaving), return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._tasks.discard(working)
            leaving.cancel()
            if not working.done():
                working.cancel()
        await asyncio.wait((working, leaving))
        return self._end_of(working)

    def close(self) -> None:
        """Ends all work now, so that a stop never waits for a slow or silent answer."""
        self._closing = True
        for task in self._tasks:
            task.cancel()

    def _end_of(self, working: asyncio.Task[None]) -> Ended:
        if working.cancelled():
            self.cancelled_count += 1
            return "closing" if self._closing else "client_left"
        working.result()
        self.served_count += 1
        return "done"

    async def _in_slot(self, work: Callable[[], Awaitable[None]]) -> None:
        self.waiting_count += 1
        try:
            await self._slots.acquire()
        finally:
            self.waiting_count -= 1
        self.in_flight_count += 1
        try:
            await work()
        finally:
            self.in_flight_count -= 1
            self._slots.release()


async def _departure(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        continue
