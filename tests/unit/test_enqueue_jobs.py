"""The enqueue endpoint's jobs: every request ends in one line, also where nobody knows at first what became of it."""

import asyncio
import io
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from gate.enqueue.jobs import Jobs
from gate.enqueue.journal_lines import JournalLines
from gate.refused import RefusedError
from gate.script import QueueUnreachableError
from lab.contract.messages import JobRequest

REQUEST = JobRequest(request_id="r-1", deadline_s=5)


class StubQueue:
    """`created_at` is what enqueueing says, `kept_at` what withdrawing does; an exception is raised instead."""

    def __init__(self, created_at: float | Exception | None, kept_at: float | Exception | None = None) -> None:
        self._created_at, self.kept_at = created_at, kept_at

    def now_at(self) -> float:
        return 7.0

    async def enqueue(self, _job_id: str, _request: JobRequest) -> float | None:
        return said(self._created_at)

    async def withdraw(self, _job_id: str) -> float | None:
        return said(self.kept_at)


def said(answer: float | Exception | None) -> float | None:
    if isinstance(answer, Exception):
        raise answer
    return answer


def lines_of(queue: StubQueue, play: Callable[[Jobs], Awaitable[None]]) -> list[tuple[Any, ...]]:
    stream = io.StringIO()
    asyncio.run(played(Jobs(queue, JournalLines(stream)), play))
    lines = map(json.loads, stream.getvalue().splitlines())
    return [(line["event"], line["request_id"], line["at"]) for line in lines]


async def played(jobs: Jobs, play: Callable[[Jobs], Awaitable[None]]) -> None:
    await play(jobs)


async def refused_then_settled(jobs: Jobs) -> None:
    with pytest.raises(RefusedError) as refused:
        await jobs.enqueue(REQUEST)
    jobs.refused("r-1", refused.value)
    await jobs._settle_those_known()


def test_a_job_is_accepted_with_its_times_and_written_down_once() -> None:
    async def play(jobs: Jobs) -> None:
        accepted = await jobs.enqueue(REQUEST)
        assert (accepted.created_at, accepted.deadline_at) == (3.0, 8.0)

    assert lines_of(StubQueue(3.0), play) == [("decision", "r-1", 3.0)]


def test_a_call_that_came_too_late_is_a_refusal_at_once() -> None:
    assert lines_of(StubQueue(None), refused_then_settled) == [("refusal", "r-1", 7.0)]


def test_a_job_in_doubt_that_could_be_taken_back_was_refused() -> None:
    queue = StubQueue(QueueUnreachableError(), kept_at=None)
    assert lines_of(queue, refused_then_settled) == [("refusal", "r-1", 7.0)]


def test_a_job_in_doubt_that_a_worker_has_was_admitted() -> None:
    queue = StubQueue(QueueUnreachableError(), kept_at=4.0)
    assert lines_of(queue, refused_then_settled) == [("decision", "r-1", 4.0)]


def test_a_doubt_stays_open_while_the_queue_is_gone_and_ends_as_refused_with_the_service() -> None:
    async def play(jobs: Jobs) -> None:
        await refused_then_settled(jobs)
        settling = asyncio.create_task(jobs.settle_doubts())
        await asyncio.sleep(0)
        settling.cancel()
        await asyncio.wait([settling])

    queue = StubQueue(QueueUnreachableError(), kept_at=QueueUnreachableError())
    assert lines_of(queue, play) == [("refusal", "r-1", 7.0)]
