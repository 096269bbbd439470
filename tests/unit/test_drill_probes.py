"""The drain outlives a fault on Redis, and says in one sentence where Redis stays away."""

import asyncio
import time

import pytest
from redis.exceptions import ConnectionError as RedisConnectionError

from lab.drill.probes import StackProbe
from lab.drill.testbed import Addresses, StackError

NOWHERE = Addresses("redis://127.0.0.1:1/0", "http://127.0.0.1:1", "http://127.0.0.1:1", "127.0.0.1", 1, {})


class Lengths:
    """A Redis whose stream has these lengths in turn, the last for ever; None: it is away."""

    def __init__(self, *lengths: int | None) -> None:
        self.left = list(lengths)

    async def xlen(self, _stream: str) -> int:
        length = self.left.pop(0) if len(self.left) > 1 else self.left[0]
        if length is None:
            raise RedisConnectionError("refused")
        return length


def drain(monkeypatch: pytest.MonkeyPatch, queue: Lengths, within_s: float) -> None:
    monkeypatch.setattr("lab.drill.probes.POLL_S", 0.0)

    async def run() -> None:
        probe = StackProbe(NOWHERE)
        monkeypatch.setattr(probe, "redis", queue)
        await probe.wait_until_drained(time.monotonic() + within_s)

    asyncio.run(run())


def test_a_redis_that_comes_back_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    queue = Lengths(3, None, None, 2, 0)
    drain(monkeypatch, queue, within_s=60)
    assert queue.left == [0]


def test_a_redis_that_stays_dead_ends_the_drain_with_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(StackError, match="Redis did not answer again before the drain's end"):
        drain(monkeypatch, Lengths(None), within_s=-1)


def test_jobs_left_at_the_deadline_are_no_failure_of_the_stack(monkeypatch: pytest.MonkeyPatch) -> None:
    drain(monkeypatch, Lengths(5), within_s=-1)
