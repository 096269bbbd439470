"""Warms the estimators of one arm: writes service times where the workers leave theirs, before the load begins."""

import redis.asyncio

from lab.contract.names import CLASSES_KEY, SERVICE_KEY_PREFIX, SERVICE_SAMPLES
from lab.drill.probes import Check

# Class -> (age, service time) in seconds, newest first.
Samples = dict[str, list[tuple[float, float]]]


async def warm_estimators(client: redis.asyncio.Redis, samples: Samples) -> Check:
    """Leaves `samples` in Redis as settlements would have, and reads back how many are there."""
    # Redis' own time, as that of every sample.
    seconds, microseconds = await client.time()
    now_ms = seconds * 1000 + microseconds / 1000
    async with client.pipeline(transaction=True) as pipe:
        for job_class, pairs in samples.items():
            key = f"{SERVICE_KEY_PREFIX}{job_class}"
            texts = [f"{round(now_ms - age_s * 1000)}:{round(service_s * 1e6)}" for age_s, service_s in pairs]
            pipe.delete(key)
            pipe.rpush(key, *texts)
            pipe.ltrim(key, 0, SERVICE_SAMPLES - 1)
            pipe.sadd(CLASSES_KEY, job_class)
        await pipe.execute()
    counts = {job_class: await _length(client, job_class) for job_class in samples}
    ok = all(counts[job_class] == len(pairs) for job_class, pairs in samples.items())
    said = ", ".join(f"{job_class} {count}" for job_class, count in counts.items())
    return Check("warm_up", ok, f"service times each class's estimator was given: {said}", {"counts": counts})


async def _length(client: redis.asyncio.Redis, job_class: str) -> int:
    return int(await client.llen(f"{SERVICE_KEY_PREFIX}{job_class}"))
