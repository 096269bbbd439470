"""The gate's only Redis: the admission script, the withdrawal of a job in doubt, a job's hash, and what estimates need.

Knows keys, scripts and time-outs, and turns every failure into QueueUnreachableError. Must not know HTTP or policies
beyond their rules.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gate.queue_client import QueueClient
from gate.script import Script
from gate.wire import Candidate, Reply, call_arguments, read_queued, read_reply, read_samples, read_waits_s
from lab.contract import names
from lab.policies.negative_slack import QueuedJob
from lab.policies.snapshot import ServiceSample

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


class JobStream(QueueClient):
    """The stream of jobs, as the gate sees it."""

    def __init__(self, redis_url: str, utilization_smoothing_s: float, heartbeat_s: float) -> None:
        """Nothing connects before the first call."""
        super().__init__(redis_url)
        self._admit = Script(self._redis, "admit.lua")
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
