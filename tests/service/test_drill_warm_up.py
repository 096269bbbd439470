"""Warmed estimators stand in Redis as settlements would have left them."""

import asyncio
import time
from typing import Any

import redis.asyncio

from lab.contract.names import CLASSES_KEY, SERVICE_KEY_PREFIX, SERVICE_SAMPLES
from lab.drill.probes import Check
from lab.drill.warm_up import Samples, warm_estimators


async def warmed(url: str, samples: Samples) -> tuple[Check, Any, Any]:
    client = redis.asyncio.Redis.from_url(url, decode_responses=True)
    async with client:
        await client.lpush(f"{SERVICE_KEY_PREFIX}chat", "1:1")
        check = await warm_estimators(client, samples)
        return check, await client.lrange(f"{SERVICE_KEY_PREFIX}chat", 0, -1), await client.smembers(CLASSES_KEY)


def test_samples_replace_what_was_there_newest_first_in_the_workers_own_form(redis_url: str) -> None:
    check, texts, classes = asyncio.run(warmed(redis_url, {"chat": [(0.0, 1.5), (2.0, 0.25)]}))
    assert (check.ok, check.evidence) == (True, {"counts": {"chat": 2}})
    (newest_ms, newest_us), (oldest_ms, oldest_us) = (map(int, text.split(":")) for text in texts)
    assert (newest_us, oldest_us) == (1_500_000, 250_000)
    assert newest_ms - oldest_ms == 2000
    assert abs(newest_ms / 1000 - time.time()) < 60
    assert classes == {"chat"}


def test_more_than_an_estimator_holds_is_said_not_to_have_been_taken(redis_url: str) -> None:
    many = [(float(age), 1.0) for age in range(SERVICE_SAMPLES + 1)]
    check, texts, _ = asyncio.run(warmed(redis_url, {"chat": many}))
    assert not check.ok
    assert len(texts) == SERVICE_SAMPLES
