"""The gate's only Redis: the admission script, the withdrawal of a job in doubt, and a job's hash.

Knows keys, scripts and time-outs, and turns every failure into QueueUnreachableError. Must not know HTTP or policies
beyond their rules.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from itertools import chain
from typing import Any

from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import NoScriptError, RedisError

from lab.contract import names
from lab.policies.rule import Rule
from lab.policies.snapshot import Snapshot

CONNECT_TIMEOUT_S = 1.0
# Also how long after it was sent a call may still enqueue: a server that wakes up later must not.
ANSWER_TIMEOUT_S = 2.0
WITHDRAWN_MARK_S = 60


class QueueUnreachableError(Exception):
    """Redis did not answer, or not as it should; whether it did what it was asked is not known."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """One request as the script needs it. `rules` come with whether each turns the request away."""

    job_id: str
    job_json: str
    request_id: str
    job_class: str
    deadline_s: float
    rules: tuple[tuple[Rule, bool], ...]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the script did with one candidate, and the signals it saw. `rule` is the index of the first that held.

    `enqueued` is None where the call arrived too late to enqueue anything.
    """

    enqueued: bool | None
    rule: int | None
    snapshot: Snapshot


@dataclass(frozen=True, slots=True)
class Reply:
    """The verdicts in the order of the candidates, and the signals after them."""

    verdicts: tuple[Verdict, ...]
    snapshot: Snapshot


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
        self._admit = _Script(self._redis, "admit.lua")
        self._withdraw = _Script(self._redis, "withdraw.lua")
        heartbeat_window_ms = round(names.LIVE_HEARTBEATS * heartbeat_s * 1000)
        entry = (names.FIELD_VERSION, names.ENTRY_VERSION, names.FIELD_JOB)
        self._head = (names.GROUP, *entry, names.JOB_RETENTION_S, heartbeat_window_ms, repr(utilization_smoothing_s))

    async def admit(self, candidates: Sequence[Candidate], latest_at: float, *, save_utilization: bool) -> Reply:
        """Decides and enqueues in one step; with no candidates it only reads the signals.

        `latest_at` is the Redis time in unix seconds after which nothing may be enqueued.

        Raises:
            QueueUnreachableError: no usable answer came; each candidate may or may not be in the stream.
        """
        keys = [names.STREAM, names.WORKERS_KEY, names.HEARTBEATS_KEY, names.UTILIZATION_KEY]
        keys += [names.JOB_KEY_PREFIX + candidate.job_id for candidate in candidates]
        common = (*self._head, int(save_utilization), repr(latest_at))
        arguments = chain(common, *map(_arguments, candidates))
        return _reply(await self._admit.call(keys, arguments))

    async def withdraw(self, job_id: str) -> float | None:
        """Takes a job back that no worker has yet. Its created_at where it stays admitted, None where it is out.

        Raises:
            QueueUnreachableError: no usable answer came.
        """
        keys = [names.STREAM, names.JOB_KEY_PREFIX + job_id]
        created = await self._withdraw.call(keys, (names.GROUP, WITHDRAWN_MARK_S))
        return None if created is None else float(created)

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


class _Script:
    """A Lua script that stands beside this module, sent once and then called by its hash."""

    def __init__(self, redis: Redis, file_name: str) -> None:
        self._redis = redis
        self._text = files("gate").joinpath(file_name).read_text(encoding="utf-8")
        self._sha: str | None = None

    async def call(self, keys: Sequence[str], arguments: Iterable[Any]) -> Any:
        try:
            return await self._call_loaded(keys, tuple(arguments))
        except (RedisError, OSError) as error:
            raise QueueUnreachableError(str(error)) from error

    async def _call_loaded(self, keys: Sequence[str], arguments: tuple[Any, ...]) -> Any:
        if self._sha is not None:
            try:
                return await self._redis.evalsha(self._sha, len(keys), *keys, *arguments)
            except NoScriptError:
                # The server was restarted or its cache was flushed; nothing was run.
                self._sha = None
        self._sha = await self._redis.script_load(self._text)
        return await self._redis.evalsha(self._sha, len(keys), *keys, *arguments)


def _arguments(candidate: Candidate) -> Iterable[Any]:
    yield from (candidate.job_json[:-1], candidate.request_id, candidate.job_class, repr(candidate.deadline_s))
    yield len(candidate.rules)
    for rule, turns_away in candidate.rules:
        yield from (int(turns_away), len(rule.conditions))
        for condition in rule.conditions:
            yield from (condition.signal, condition.comparison, repr(condition.limit))


def _reply(texts: list[str]) -> Reply:
    now_at = float(texts[0])
    verdicts = tuple(_verdict(now_at, text.split(" ")) for text in texts[1:-1])
    return Reply(verdicts, _snapshot(now_at, texts[-1].split(" ")))


def _verdict(now_at: float, words: list[str]) -> Verdict:
    enqueued = {"1": True, "0": False, "-1": None}[words[0]]
    rule = int(words[1]) - 1
    return Verdict(enqueued, rule if rule >= 0 else None, _snapshot(now_at, words[2:]))


def _snapshot(now_at: float, words: list[str]) -> Snapshot:
    age_s, depth, in_flight, slots, utilization_ratio = words
    return Snapshot(now_at, float(age_s), int(depth), int(in_flight), int(slots), float(utilization_ratio))
