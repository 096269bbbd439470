"""One job from delivery to ending: deadline, attempts, outcome. Knows the model's protocol; must not know Redis."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Final, Protocol

from lab.contract.messages import Job
from worker.clock import RedisClock
from worker.delivery import Delivery, MalformedEntryError, identity_of, read_job
from worker.model_client import Attempt
from worker.outcome import Ending

FIRST_BACKOFF_S: Final = 0.1
LONGEST_BACKOFF_S: Final = 1.0


class Model(Protocol):
    """Whoever answers jobs."""

    async def call(self, job: Job, attempt: int) -> Attempt:
        """One attempt; never raises."""


class Emit(Protocol):
    """Says one event of the journal."""

    def __call__(self, event: str, at: float, **fields: Any) -> None:
        """`at` is Redis time."""


def backoff_s(failed_attempts: int) -> float:
    """Seconds between one attempt and the next: doubling, capped."""
    return min(LONGEST_BACKOFF_S, FIRST_BACKOFF_S * 2.0 ** min(failed_attempts - 1, 10))


def last_attempt(delivery_count: int, max_attempts: int) -> int:
    """The number of the last attempt this delivery allows.

    Each delivery before this one counts as an attempt. A job whose worker died was never answered, so every delivery
    has at least one attempt of its own.
    """
    return max(delivery_count, max_attempts)


class Serving:
    """Serves one job at a time and slot; holds no state between jobs."""

    def __init__(
        self,
        worker_id: str,
        max_attempts: int,
        model: Model,
        clock: RedisClock,
        emit: Emit,
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """`sleep` waits between attempts, in seconds."""
        self._worker_id = worker_id
        self._max_attempts = max_attempts
        self._model = model
        self._clock = clock
        self._emit = emit
        self._sleep = sleep

    async def serve(self, delivery: Delivery) -> Ending:
        """The ending of what was delivered; a malformed entry ends as dead_lettered, it never raises."""
        try:
            job = read_job(delivery)
        except MalformedEntryError as error:
            return Ending(delivery, error.identity, "dead_lettered", str(error), self._clock.now())
        now = self._clock.now()
        if now > job.deadline_at:
            detail = f"its deadline passed {now - job.deadline_at:.3f} s before a slot was free"
            return Ending(delivery, identity_of(job), "expired", detail, now, attempt=delivery.delivery_count - 1)
        number, attempt = await self._try(job, delivery)
        return self._ending(delivery, job, number, attempt)

    async def _try(self, job: Job, delivery: Delivery) -> tuple[int, Attempt]:
        """The last attempt made and its number; another is made only where the deadline leaves time for it."""
        number = delivery.delivery_count
        while True:
            attempt = await self._model.call(job, number)
            self._say(job, number, attempt)
            wait_s = backoff_s(number - delivery.delivery_count + 1)
            in_time = self._clock.now() + wait_s < job.deadline_at
            allowed = number < last_attempt(delivery.delivery_count, self._max_attempts)
            if not (attempt.may_be_retried and allowed and in_time):
                return number, attempt
            await self._sleep(wait_s)
            number += 1

    def _say(self, job: Job, number: int, attempt: Attempt) -> None:
        self._emit(
            "attempt",
            self._clock.now(),
            request_id=job.request_id,
            job_id=job.job_id,
            worker_id=self._worker_id,
            attempt=number,
            started_at=self._clock.redis_at(attempt.started_at),
            ttft_s=attempt.ttft_s,
            endpoint_latency_s=attempt.endpoint_latency_s,
            tokens_out=attempt.tokens_out,
            status=attempt.status,
            result=attempt.result,
            detail=attempt.detail,
        )

    def _ending(self, delivery: Delivery, job: Job, number: int, attempt: Attempt) -> Ending:
        finished_at = self._clock.redis_at(attempt.ended_at)
        late = attempt.result == "ok" and finished_at > job.deadline_at
        detail = f"done {finished_at - job.deadline_at:.3f} s past its deadline" if late else attempt.detail
        return Ending(
            delivery,
            identity_of(job),
            "late" if late else attempt.result,
            detail,
            finished_at,
            first_token_at=None if attempt.first_token_at is None else self._clock.redis_at(attempt.first_token_at),
            endpoint_latency_s=attempt.endpoint_latency_s,
            ttft_s=attempt.ttft_s,
            tokens_out=attempt.tokens_out,
            attempt=number,
        )
