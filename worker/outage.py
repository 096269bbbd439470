"""Rides out the times when Redis cannot be used. Paces the retries, logs each change; must not know what is called."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from worker.stream import RedisUnusableError

FIRST_PAUSE_S: Final = 0.05
LONGEST_PAUSE_S: Final = 1.0
T = TypeVar("T")

_log = logging.getLogger(__name__)


def pause_s(failures: int) -> float:
    """Seconds to wait after this many failures in a row: doubling, capped."""
    return min(LONGEST_PAUSE_S, FIRST_PAUSE_S * 2.0 ** min(failures - 1, 10))


def heed_cancellation() -> None:
    """Ends the current task where it was cancelled and a call of Redis hid it.

    The client sends under asyncio.wait_for, which before Python 3.12 loses a cancellation that comes just as the send
    is done; the task still counts it.

    Raises:
        asyncio.CancelledError: the task was cancelled.
    """
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError


class Outage:
    """Whether Redis can be used, as the last call found it; shared by all that use it."""

    def __init__(self) -> None:
        self._on = False

    async def once(self, call: Callable[[], Awaitable[T]]) -> T:
        """One try.

        Raises:
            RedisUnusableError: it failed; the first failure after a success is logged.
        """
        try:
            result = await call()
        except RedisUnusableError as error:
            if not self._on:
                _log.warning("Redis cannot be used, trying on: %s", error)
            self._on = True
            raise
        if self._on:
            _log.warning("Redis can be used again")
        self._on = False
        return result

    async def until_done(self, call: Callable[[], Awaitable[T]]) -> T:
        """Tries until it succeeds; only a cancellation ends it before."""
        failures = 0
        while True:
            try:
                return await self.once(call)
            except RedisUnusableError:
                failures += 1
                heed_cancellation()
                await asyncio.sleep(pause_s(failures))
