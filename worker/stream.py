"""The worker's only Redis: beat, read, claim, begin, settle, leave, each one round trip. Must not know the model.

Every error of the Redis client becomes RedisUnusableError at this border.
"""

import dataclasses
import time
import uuid
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from typing import Any, Final, TypeVar

from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError, ResponseError

from lab.contract.names import BEGUN_KEY, GROUP, HEARTBEATS_KEY, LIVE_HEARTBEATS, STREAM, WORKERS_KEY
from worker.clock import Reading, RedisClock
from worker.delivery import Delivery
from worker.outcome import Ending
from worker.settings import Settings
from worker.settlement import settle_arguments, settle_keys

SOCKET_TIMEOUT_S: Final = 5.0
FIRST_READINGS: Final = 5
T = TypeVar("T")


class RedisUnusableError(Exception):
    """Redis cannot be reached, or refuses; the sentence says which."""


class JobStream:
    """One worker's side of the stream. Close it with `aclose`."""

    def __init__(self, settings: Settings, clock: RedisClock) -> None:
        """Connects to nothing yet; `clock` is kept right by every beat."""
        self._settings = settings
        self._clock = clock
        self._redis = Redis.from_url(
            settings.redis_url,
            protocol=2,
            decode_responses=True,
            # An entry of bytes that are no UTF-8 must be read to be refused.
            encoding_errors="replace",
            socket_timeout=SOCKET_TIMEOUT_S,
            socket_connect_timeout=SOCKET_TIMEOUT_S,
            # A read that is sent twice takes entries for which there is no slot.
            retry=Retry(NoBackoff(), 0),
        )
        self._scripts = {
            path.stem: self._redis.register_script(path.read_text(encoding="utf-8")) for path in _LUA_FILES
        }
        self._life = uuid.uuid4().hex

    async def aclose(self) -> None:
        """Closes every connection."""
        await self._redis.aclose()

    async def open(self) -> None:
        """Makes the group where it is missing, registers the worker and reads Redis' clock.

        Raises:
            RedisUnusableError: Redis cannot be used now.
        """
        await self._make_group()
        for _ in range(FIRST_READINGS):
            await self.beat()

    async def beat(self) -> None:
        """One heartbeat and one reading of Redis' clock.

        Raises:
            RedisUnusableError: Redis cannot be used now.
        """
        sent_at = time.monotonic()
        keys, arguments = (HEARTBEATS_KEY, WORKERS_KEY), (self._settings.worker_id, self._settings.slots)
        seconds, microseconds = await self._call(lambda: self._scripts["beat"](keys, arguments))
        self._clock.observe(Reading(sent_at, time.monotonic(), int(seconds) + int(microseconds) / 1e6))

    async def read(self, count: int, block_s: float | None) -> list[Delivery]:
        """At most `count` entries nobody had yet, waiting up to `block_s` for the first; None does not wait.

        Raises:
            RedisUnusableError: Redis cannot be used now. Entries may have been delivered unseen; `claim` finds them.
        """
        block_ms = None if block_s is None else max(1, round(block_s * 1000))
        answer = await self._in_group(
            lambda: self._redis.xreadgroup(GROUP, self._settings.worker_id, {STREAM: ">"}, count=count, block=block_ms)
        )
        dequeued_at = self._clock.now()
        return [Delivery(entry_id, fields, dequeued_at) for _, entries in answer or () for entry_id, fields in entries]

    async def claim(self, count: int, running: Iterable[str]) -> list[Delivery]:
        """At most `count` entries of dead workers, and of this one that are not in `running`.

        Raises:
            RedisUnusableError: Redis cannot be used now.
        """
        idle_ms = round(self._settings.reclaim_after_s * 1000)
        live_ms = round(LIVE_HEARTBEATS * self._settings.heartbeat_s * 1000)
        arguments: tuple[str | int, ...] = (GROUP, self._settings.worker_id, count, idle_ms, live_ms, *running)
        answer = await self._in_group(lambda: self._scripts["claim"]((STREAM, HEARTBEATS_KEY), arguments))
        dequeued_at = self._clock.now()
        return [Delivery(entry_id, _pairs(flat), dequeued_at, int(times)) for entry_id, flat, times in answer]

    async def begin(self, delivery: Delivery) -> Delivery:
        """Records that the delivery begins; the delivery, with how often its entry was begun. Safe to repeat.

        Raises:
            RedisUnusableError: Redis cannot be used now.
        """
        who = f"{self._life}:{delivery.delivery_count}"
        times = await self._call(lambda: self._scripts["begin"]((BEGUN_KEY,), (delivery.entry_id, who)))
        return dataclasses.replace(delivery, times_begun=int(times))

    async def settle(self, ending: Ending) -> bool:
        """Settles a job and takes its entry out of the stream; whether this was the first to settle it. Safe to repeat.

        Raises:
            RedisUnusableError: Redis cannot be used now.
        """
        keys, arguments = settle_keys(ending), settle_arguments(ending, self._life)
        return bool(await self._call(lambda: self._scripts["settle"](keys, arguments)))

    async def leave(self) -> None:
        """Takes the worker off the books; what it left pending is for others to claim.

        Raises:
            RedisUnusableError: Redis cannot be used now.
        """
        keys, arguments = (STREAM, HEARTBEATS_KEY, WORKERS_KEY), (GROUP, self._settings.worker_id)
        await self._in_group(lambda: self._scripts["leave"](keys, arguments))

    async def _in_group(self, command: Callable[[], Awaitable[Any]]) -> Any:
        try:
            return await self._call(command)
        except _GroupMissingError:
            await self._make_group()
            return await self._call(command)

    async def _make_group(self) -> None:
        try:
            await self._redis.xgroup_create(STREAM, GROUP, id="0", mkstream=True)
        except ResponseError as error:
            if not str(error).startswith("BUSYGROUP"):
                raise RedisUnusableError(_sentence(error)) from None
        except (RedisError, OSError) as error:
            raise RedisUnusableError(_sentence(error)) from None

    async def _call(self, command: Callable[[], Awaitable[T]]) -> T:
        try:
            return await command()
        except ResponseError as error:
            kind = _GroupMissingError if "NOGROUP" in str(error) else RedisUnusableError
            raise kind(_sentence(error)) from None
        except (RedisError, OSError) as error:
            raise RedisUnusableError(_sentence(error)) from None


class _GroupMissingError(RedisUnusableError):
    """The stream or its group is gone."""


_LUA_FILES = tuple(Path(__file__).parent / f"{name}.lua" for name in ("beat", "begin", "claim", "settle", "leave"))


def _pairs(flat: list[str]) -> dict[str, str]:
    return dict(zip(flat[::2], flat[1::2], strict=True))


def _sentence(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"[:300]
