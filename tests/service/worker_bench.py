"""A worker in process for service tests, worked in bursts, with what it said and what it left in Redis."""

import asyncio
import contextlib
import json
import time
import uuid
from collections.abc import AsyncIterator
from typing import Any

import redis

from lab.contract.messages import Job
from lab.contract.names import BEGUN_KEY, ENTRY_VERSION, FIELD_JOB, FIELD_VERSION, GROUP, JOB_KEY_PREFIX, STREAM
from worker.__main__ import consumer_of
from worker.clock import RedisClock
from worker.model_client import ModelClient
from worker.settings import read_settings
from worker.settlement import DEAD_STREAM
from worker.stream import JobStream

AWAITED_WITHIN_S = 20


class Queue:
    """The gate's side of the stream, and what a test looks at."""

    def __init__(self, redis_url: str) -> None:
        self.redis = redis.Redis.from_url(redis_url, decode_responses=True, encoding_errors="replace")

    def close(self) -> None:
        self.redis.close()

    def now(self) -> float:
        seconds, microseconds = self.redis.time()
        return float(seconds + microseconds / 1e6)

    def put(self, *, deadline_s: float = 30.0, work_s: float | None = 0.02, **fields: Any) -> Job:
        """Enqueues a job as the gate does."""
        now = self.now()
        name = uuid.uuid4().hex[:12]
        job = Job(
            job_id=f"job-{name}",
            request_id=str(fields.pop("request_id", f"request-{name}")),
            job_class=str(fields.pop("job_class", "chat")),
            tenant="acme",
            created_at=now,
            deadline_at=now + deadline_s,
            input_tokens=10,
            max_output_tokens=int(fields.pop("max_output_tokens", 20)),
            work_s=work_s,
            first_token_s=None if work_s is None else min(0.05, work_s / 4),
            **fields,
        )
        self.redis.hset(f"{JOB_KEY_PREFIX}{job.job_id}", mapping={"job": job.model_dump_json(), "status": "queued"})
        self.redis.xadd(STREAM, {FIELD_VERSION: ENTRY_VERSION, FIELD_JOB: job.model_dump_json()})
        return job

    def pending(self) -> list[dict[str, Any]]:
        """Every pending entry: message_id, consumer, time_since_delivered, times_delivered."""
        try:
            return list(self.redis.xpending_range(STREAM, GROUP, "-", "+", 1000))
        except redis.ResponseError:
            return []

    def begun(self) -> int:
        """How many entries a worker has begun and nobody settled; one that is only delivered has asked no model yet."""
        return int(self.redis.hlen(BEGUN_KEY))

    def settled(self, job: Job) -> dict[str, str]:
        """The job's hash."""
        return {str(name): str(value) for name, value in self.redis.hgetall(f"{JOB_KEY_PREFIX}{job.job_id}").items()}

    def put_fields(self, fields: Any) -> None:
        """Adds an entry that the gate would never make."""
        self.redis.xadd(STREAM, fields)

    def deliver_to(self, consumer: str) -> list[Any]:
        """Delivers every entry to a consumer that does nothing with them; their ids."""
        self.redis.xgroup_create(STREAM, GROUP, id="0", mkstream=True)
        answer: Any = self.redis.xreadgroup(GROUP, consumer, {STREAM: ">"})
        return [entry_id for _, entries in answer for entry_id, _ in entries]

    def dead_letters(self) -> list[dict[str, str]]:
        """The fields of every entry that was moved aside."""
        letters: Any = self.redis.xrange(DEAD_STREAM)
        return [fields for _, fields in letters]

    def length(self) -> int:
        """Entries in the stream, delivered or not."""
        return int(self.redis.xlen(STREAM))


class Bench:
    """One worker and its events."""

    def __init__(self, environ: dict[str, str]) -> None:
        self.settings = read_settings(environ)
        self.events: list[dict[str, Any]] = []
        self.clock = RedisClock()
        self.stream = JobStream(self.settings, self.clock)
        self.model = ModelClient(self.settings)
        self.consumer = consumer_of(self.settings, self.stream, self.model, self.clock, self.say)

    def say(self, event: str, at: float, **fields: Any) -> None:
        # Through JSON, so that a field that no journal line can hold fails the test.
        self.events.append(json.loads(json.dumps({"event": event, "at": at, **fields}, allow_nan=False)))

    def of(self, kind: str) -> list[dict[str, Any]]:
        """The events of a kind, in the order said."""
        return [event for event in self.events if event["event"] == kind]


@contextlib.asynccontextmanager
async def bench(redis_url: str, model_url: str, **environ: str) -> AsyncIterator[Bench]:
    """A worker that is closed when the block ends; `environ` adds settings by their environment names."""
    one = Bench({"REDIS_URL": redis_url, "MODEL_URL": f"{model_url}/v1", **environ})
    try:
        yield one
    finally:
        await one.model.aclose()
        await one.stream.aclose()


def burst(redis_url: str, model_url: str, **environ: str) -> Bench:
    """A worker that worked until the stream was empty."""

    async def work() -> Bench:
        async with bench(redis_url, model_url, **environ) as one:
            await one.consumer.run(burst=True)
            return one

    return asyncio.run(work())


async def until(look: Any, awaited: str) -> None:
    """Returns once `look()` is true; fails with what was awaited."""
    limit_at = time.monotonic() + AWAITED_WITHIN_S
    while not look():
        assert time.monotonic() < limit_at, f"waited too long for {awaited}"
        await asyncio.sleep(0.01)
