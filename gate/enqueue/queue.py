"""The enqueue endpoint's only Redis: adds a job, takes back one in doubt, reads one.

Every failure of the client becomes QueueUnreachableError.
"""

import time

from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

from gate.script import QueueUnreachableError, Script
from lab.contract import names
from lab.contract.messages import JobRequest

CONNECT_TIMEOUT_S = 1.0
# Also how long after it was sent a call may still enqueue: a server that wakes up later must not.
ANSWER_TIMEOUT_S = 2.0
WITHDRAWN_MARK_S = 60


class EntryQueue:
    """The stream of jobs, as one sees it who only adds to it. Close it with `close`."""

    def __init__(self, redis_url: str) -> None:
        """Makes the client; nothing connects before the first call. It never sends a job twice."""
        self._redis: Redis = Redis.from_url(
            redis_url,
            decode_responses=True,
            protocol=2,
            socket_connect_timeout=CONNECT_TIMEOUT_S,
            socket_timeout=ANSWER_TIMEOUT_S,
            retry=Retry(NoBackoff(), 0),
        )
        self._enqueue = Script(self._redis, "enqueue.lua")
        self._withdraw = Script(self._redis, "withdraw.lua")
        # Redis' clock less this machine's, as of the last answer.
        self._ahead_s = 0.0

    def now_at(self) -> float:
        """Redis time in unix seconds, as well as it is known."""
        return time.time() + self._ahead_s

    async def enqueue(self, job_id: str, request: JobRequest) -> float | None:
        """Makes a job of the request: its created_at, None where the call came too late to enqueue anything.

        Raises:
            QueueUnreachableError: no usable answer came; the job may or may not be in the stream.
        """
        keys = (names.STREAM, names.UNSETTLED_KEY, names.JOB_KEY_PREFIX + job_id)
        declared = request.model_dump_json(exclude={"deadline_s", "user"}, exclude_none=True)
        job = f'{{"job_id":"{job_id}",{declared[1:-1]}'
        entry = (names.GROUP, names.FIELD_VERSION, names.ENTRY_VERSION, names.FIELD_JOB, names.JOB_RETENTION_S)
        latest = repr(self.now_at() + ANSWER_TIMEOUT_S)
        told = (job, request.request_id, request.job_class, repr(request.deadline_s))
        created = await self._enqueue.call(keys, (*entry, latest, *told))
        if created is None:
            return None
        self._ahead_s = float(created) - time.time()
        return float(created)

    async def withdraw(self, job_id: str) -> float | None:
        """Takes a job back that no worker has yet. Its created_at where it stays enqueued, None where it is out.

        Raises:
            QueueUnreachableError: no usable answer came.
        """
        keys = (names.STREAM, names.JOB_KEY_PREFIX + job_id, names.UNSETTLED_KEY)
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

    async def answers(self) -> bool:
        """Whether it can be reached now."""
        try:
            return bool(await self._redis.ping())
        except (RedisError, OSError):
            return False

    async def close(self) -> None:
        """Closes the connections."""
        await self._redis.aclose()
