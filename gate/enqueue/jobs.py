"""Makes jobs of requests, one by one, and settles what became of those whose enqueueing nobody confirmed.

Knows the queue and the journal's lines. Must not know HTTP.
"""

import asyncio
import logging
import time
from typing import Protocol
from uuid import uuid4

from gate.cancellation import heed_cancellation
from gate.enqueue.journal_lines import JournalLines
from gate.refused import RefusedError, queue_unreachable
from gate.script import QueueUnreachableError
from lab.contract.messages import JobAccepted, JobRequest

logger = logging.getLogger(__name__)

LOOK_EVERY_S = 0.25


class Queue(Protocol):
    """What is needed of the stream; see gate.enqueue.queue.EntryQueue."""

    def now_at(self) -> float:
        """Redis time, as well as it is known."""

    async def enqueue(self, job_id: str, request: JobRequest) -> float | None:
        """Makes a job."""

    async def withdraw(self, job_id: str) -> float | None:
        """Takes one back."""


class Jobs:
    """`settle_doubts` must be running, for a doubt to end before the service does."""

    def __init__(self, queue: Queue, lines: JournalLines) -> None:
        """Nothing is in doubt yet."""
        self._queue = queue
        self._lines = lines
        self._doubts: list[tuple[str, JobRequest]] = []
        self.failed = False

    async def enqueue(self, request: JobRequest) -> JobAccepted:
        """Makes a job of the request, and writes its line.

        Raises:
            RefusedError: the queue does not answer, or did not in time.
        """
        job_id, began_s = uuid4().hex, time.monotonic()
        try:
            created_at = await self._queue.enqueue(job_id, request)
        except QueueUnreachableError:
            self._doubts.append((job_id, request))
            raise queue_unreachable(admission_writes_line=True) from None
        if created_at is None:
            raise queue_unreachable()
        self._admitted(created_at, request, job_id, time.monotonic() - began_s)
        return JobAccepted(
            id=job_id,
            request_id=request.request_id,
            created_at=created_at,
            deadline_at=created_at + request.deadline_s,
        )

    def refused(self, request_id: str | None, refused: RefusedError) -> None:
        """Writes that a request was refused, where nobody else will."""
        if not refused.admission_writes_line:
            self._write_refused(request_id, refused)

    async def settle_doubts(self) -> None:
        """Takes back what no worker has, so that the refusal its client got is true; the rest was enqueued."""
        try:
            while True:
                heed_cancellation()
                await asyncio.sleep(LOOK_EVERY_S)
                await self._settle_those_known()
        finally:
            # The queue is gone, and what it held with it.
            while self._doubts:
                self._write_refused(self._doubts.pop(0)[1].request_id, queue_unreachable())

    async def _settle_those_known(self) -> None:
        while self._doubts:
            job_id, request = self._doubts[0]
            try:
                created_at = await self._queue.withdraw(job_id)
            except QueueUnreachableError:
                return
            self._doubts.pop(0)
            if created_at is None:
                self._write_refused(request.request_id, queue_unreachable())
            else:
                self._admitted(created_at, request, job_id, 0.0)

    def _admitted(self, created_at: float, request: JobRequest, job_id: str, took_s: float) -> None:
        try:
            self._lines.admitted(created_at, request, job_id, took_s)
        except BrokenPipeError:
            self._stop()

    def _write_refused(self, request_id: str | None, refused: RefusedError) -> None:
        try:
            self._lines.refused(self._queue.now_at(), request_id, refused)
        except BrokenPipeError:
            self._stop()

    def _stop(self) -> None:
        # Jobs that nobody records must not be made.
        logger.error("nobody reads this service's standard output any more; it stops")
        self.failed = True
