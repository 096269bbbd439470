"""What both ways in do with the stream besides adding to it: take back a job in doubt, read a job, close.

Knows nothing of admission, so that the way past the gate works when that is broken.
"""

from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

from gate.script import QueueUnreachableError, Script
from lab.contract import names

CONNECT_TIMEOUT_S = 1.0
# Also how long after it was sent a call may still enqueue: a server that wakes up later must not.
ANSWER_TIMEOUT_S = 2.0
WITHDRAWN_MARK_S = 60


class QueueClient:
    """A client of the stream of jobs. Every failure of it is a QueueUnreachableError. Close it with `close`."""

    def __init__(self, redis_url: str) -> None:
        """Makes the client; nothing connects before the first call.

        Retries are off: the client would send a job twice.
        """
        self._redis: Redis = Redis.from_url(
            redis_url,
            decode_responses=True,
            protocol=2,
            socket_connect_timeout=CONNECT_TIMEOUT_S,
            socket_timeout=ANSWER_TIMEOUT_S,
            retry=Retry(NoBackoff(), 0),
        )
        self._withdraw = Script(self._redis, "withdraw.lua")

    async def withdraw(self, job_id: str) -> float | None:
        """Takes a job back that no worker has yet. Its created_at where it stays admitted, None where it is out.

        Raises:
            QueueUnreachableError: no usable answer came.
        """
        keys = [names.STREAM, names.JOB_KEY_PREFIX + job_id, names.UNSETTLED_KEY]
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
