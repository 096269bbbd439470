"""One job from delivery to ending: deadline, attempts, outcome. Knows the model's protocol; must not know Redis."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final, Protocol

from lab.contract.messages import Job
from worker.breaker import Breaker
from worker.clock import RedisClock
from worker.delivery import Delivery, MalformedEntryError, identity_of, read_job
from worker.model_client import Attempt
from worker.outcome import Ending, RetryDenial
from worker.retry_budget import RetryBudget

FIRST_BACKOFF_S: Final = 0.1
LONGEST_BACKOFF_S: Final = 1.0
WORDS_OF_DENIAL: Final[dict[RetryDenial, str]] = {
    "breaker": "the breaker is not closed",
    "retry_budget": "the retry budget is spent",
}


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


def last_attempt(times_begun: int, max_attempts: int) -> int:
    """The number of the last attempt this delivery allows.

    Each delivery that began before this one counts as an attempt. A job whose worker died was never answered, so every
    delivery has at least one attempt of its own.
    """
    return max(times_begun, max_attempts)


@dataclass(frozen=True, slots=True)
class Tried:
    """The last attempt made, its number, and what forbade another where only that did."""

    number: int
    attempt: Attempt
    retry_denied: RetryDenial | None


class Serving:
    """Serves one job at a time and slot; between jobs only the breaker and the retry budget remember."""

    def __init__(
        self,
        worker_id: str,
        max_attempts: int,
        model: Model,
        clock: RedisClock,
        emit: Emit,
        *,
        breaker: Breaker,
        budget: RetryBudget,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """`sleep` waits between attempts, in seconds."""
        self._worker_id = worker_id
        self._max_attempts = max_attempts
        self._model = model
        self._clock = clock
        self._emit = emit
        self._breaker = breaker
        self._budget = budget
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
            return Ending(delivery, identity_of(job), "expired", detail, now, attempt=delivery.times_begun - 1)
        return self._ending(delivery, job, await self._try(job, delivery))

    async def _try(self, job: Job, delivery: Delivery) -> Tried:
        """Calls until it is done; another attempt is made only where the deadline leaves time for it."""
        number = delivery.times_begun
        self._budget.deposit()
        while True:
            attempt = await self._call(job, number)
            wait_s = backoff_s(number - delivery.times_begun + 1)
            in_time = self._clock.now() + wait_s < job.deadline_at
            allowed = number < last_attempt(delivery.times_begun, self._max_attempts)
            if not (attempt.may_be_retried and allowed and in_time):
                return Tried(number, attempt, None)
            if (denial := self._denial()) is not None:
                return Tried(number, attempt, denial)
            await self._sleep(wait_s)
            number += 1

    async def _call(self, job: Job, number: int) -> Attempt:
        attempt = await self._model.call(job, number)
        self._say(job, number, attempt)
        # What the request itself is at fault for says nothing against the provider.
        failed, ended_at = attempt.may_be_retried, attempt.ended_at
        self._breaker.observe(failed=failed, started_at=attempt.started_at, now=ended_at, detail=attempt.detail)
        return attempt

    def _denial(self) -> RetryDenial | None:
        if not self._breaker.closed:
            return "breaker"
        return None if self._budget.withdraw() else "retry_budget"

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

    def _ending(self, delivery: Delivery, job: Job, tried: Tried) -> Ending:
        attempt = tried.attempt
        finished_at = self._clock.redis_at(attempt.ended_at)
        late = attempt.result == "ok" and finished_at > job.deadline_at
        detail = f"done {finished_at - job.deadline_at:.3f} s past its deadline" if late else attempt.detail
        if tried.retry_denied is not None:
            detail = f"{detail}; not tried again: {WORDS_OF_DENIAL[tried.retry_denied]}"
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
            attempt=tried.number,
            retry_denied=tried.retry_denied,
        )
