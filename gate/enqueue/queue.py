"""The enqueue endpoint's only Redis: adds a job; whatever else is the queue client's.

Every failure of the client becomes QueueUnreachableError.
"""

import time

from redis.exceptions import RedisError

from gate.queue_client import ANSWER_TIMEOUT_S, QueueClient
from gate.script import Script
from lab.contract import names
from lab.contract.messages import JobRequest


class EntryQueue(QueueClient):
    """The stream of jobs, as one sees it who only adds to it. Close it with `close`."""

    def __init__(self, redis_url: str) -> None:
        """Nothing connects before the first call."""
        super().__init__(redis_url)
        self._enqueue = Script(self._redis, "enqueue.lua")
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

    async def answers(self) -> bool:
        """Whether it can be reached now."""
        try:
            return bool(await self._redis.ping())
        except (RedisError, OSError):
            return False
