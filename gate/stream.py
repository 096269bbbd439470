"""The gate's only Redis: the admission script, the withdrawal of a job in doubt, a job's hash, and what estimates need.

Knows keys, scripts and time-outs, and turns every failure into QueueUnreachableError. Must not know HTTP or policies
beyond their rules.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

from gate.script import QueueUnreachableError, Script
from gate.wire import Candidate, Reply, call_arguments, read_queued, read_reply, read_samples, read_waits_s
from lab.contract import names
from lab.policies.negative_slack import QueuedJob
from lab.policies.snapshot import ServiceSample

CONNECT_TIMEOUT_S = 1.0
# Also how long after it was sent a call may still enqueue: a server that wakes up later must not.
ANSWER_TIMEOUT_S = 2.0
WITHDRAWN_MARK_S = 60
# Of a longer queue the oldest this many are looked at.
MOST_QUEUED = 1000
# Job classes are clients' words: more of them than this are not estimated.
MOST_CLASSES = 64


@dataclass(frozen=True, slots=True)
class Services:
    """What is known of finished work at a Redis time: samples by class and queue waits in seconds, newest first."""

    read_at: float
    samples: Mapping[str, tuple[ServiceSample, ...]]
    waits_s: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class RefusedClient:
    """A client refused, and for how long: the ordinary retry window, and that of the hard back-off answer."""

    client: str
    window_s: float
    hard_window_s: float


class JobStream:
    """The stream of jobs, as the gate sees it."""

    def __init__(self, redis_url: str, utilization_smoothing_s: float, heartbeat_s: float) -> None:
        """Makes the client; nothing connects before the first call.

        Retries are off: the client would send an admission twice.
        """
        self._redis: Redis = Redis.from_url(
            redis_url,
            decode_responses=True,
            protocol=2,
            socket_connect_timeout=CONNECT_TIMEOUT_S,
            socket_timeout=ANSWER_TIMEOUT_S,
            retry=Retry(NoBackoff(), 0),
        )
        self._admit = Script(self._redis, "admit.lua")
        self._withdraw = Script(self._redis, "withdraw.lua")
        self._services = Script(self._redis, "services.lua")
        self._queued = Script(self._redis, "queued.lua")
        self._refused = Script(self._redis, "refused_clients.lua")
        heartbeat_window_ms = round(names.LIVE_HEARTBEATS * heartbeat_s * 1000)
        entry = (names.FIELD_VERSION, names.ENTRY_VERSION, names.FIELD_JOB)
        bounds = (names.JOB_RETENTION_S, heartbeat_window_ms, repr(utilization_smoothing_s), names.SERVICE_SAMPLES)
        self._head = (names.GROUP, *entry, *bounds)

    async def admit(
        self,
        candidates: Sequence[Candidate],
        latest_at: float,
        *,
        save_utilization: bool,
        expected_s: Mapping[str, float],
    ) -> Reply:
        """Decides and enqueues in one step; with no candidates it only reads the signals.

        `latest_at` is the Redis time in unix seconds after which nothing may be enqueued; `expected_s` the service time
        by class that the work ahead is reckoned with, of every candidate's class too.

        Raises:
            QueueUnreachableError: no usable answer came; each candidate may or may not be in the stream.
        """
        keys = [names.STREAM, names.WORKERS_KEY, names.HEARTBEATS_KEY, names.UTILIZATION_KEY]
        keys += [names.UNSETTLED_KEY, names.WAITS_KEY]
        keys += [names.JOB_KEY_PREFIX + candidate.job_id for candidate in candidates]
        arguments = call_arguments(self._head, candidates, expected_s, latest_at, saves=save_utilization)
        return read_reply(await self._admit.call(keys, arguments))

    async def withdraw(self, job_id: str) -> float | None:
        """Takes a job back that no worker has yet. Its created_at where it stays admitted, None where it is out.

        Raises:
            QueueUnreachableError: no usable answer came.
        """
        keys = [names.STREAM, names.JOB_KEY_PREFIX + job_id, names.UNSETTLED_KEY]
        created = await self._withdraw.call(keys, (names.GROUP, WITHDRAWN_MARK_S))
        return None if created is None else float(created)

    async def services(self) -> Services:
        """What the workers left about finished services, and the waits that gates measured.

        Raises:
            QueueUnreachableError: no usable answer came.
        """
        keys = (names.CLASSES_KEY, names.UNSETTLED_KEY, names.WAITS_KEY)
        arguments = (names.SERVICE_KEY_PREFIX, names.SERVICE_SAMPLES, MOST_CLASSES)
        read_at, waits, *classes = await self._services.call(keys, arguments)
        pairs = zip(classes[::2], classes[1::2], strict=True)
        samples = {job_class: read_samples(job_class, texts) for job_class, texts in pairs}
        return Services(float(read_at), samples, read_waits_s(waits))

    async def queued(self) -> tuple[float, list[QueuedJob]]:
        """The Redis time, and the oldest jobs not yet delivered, oldest first; what is no job is left out.

        Raises:
            QueueUnreachableError: no usable answer came.
        """
        read_at, *texts = await self._queued.call((names.STREAM,), (names.GROUP, names.FIELD_JOB, MOST_QUEUED))
        return float(read_at), read_queued(texts)

    async def count_refusals(self, refused: Sequence[RefusedClient], limit: int) -> list[int]:
        """For each refusal, how many its client had within its retry window; `limit` of them bring the hard answer.

        Raises:
            QueueUnreachableError: no usable answer came; the refusals may or may not be counted.
        """
        arguments: list[str | int] = [names.MOST_REFUSED_CLIENTS, limit]
        for one in refused:
            arguments += (one.client, round(one.window_s * 1000), round(one.hard_window_s * 1000))
        counts = await self._refused.call((names.REFUSED_KEY, names.REFUSED_UNTIL_KEY), arguments)
        return [int(count) for count in counts]

    async def job_hash(self, job_id: str) -> dict[str, str]:
        """The fields of a job's hash, empty where there is none.

        Raises:
            QueueUnreachableError: no usable answer came.
        """
        try:
            fields = await self._redis.hgetall(names.JOB_KEY_PREFIX + job_id)
        except (RedisError, OSError) as error:
            raise QueueUnreachableError(str(error)) from error
        return {str(name): str(value) for name, value in fields.items()}

    async def close(self) -> None:
        """Closes the connections."""
        await self._redis.aclose()
