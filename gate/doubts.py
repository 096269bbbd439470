"""Requests whose enqueueing nobody confirmed: kept until the queue answers again and can say what became of each."""

from collections.abc import Callable, Iterable
from typing import Protocol

from gate.waiting import Waiting


class Withdrawing(Protocol):
    """What settling a doubt needs of the stream."""

    async def withdraw(self, job_id: str) -> float | None:
        """Takes a job back that no worker has yet."""


class Doubts:
    """The open doubts of one admission core, oldest first."""

    def __init__(self, queue: Withdrawing, conclude: Callable[[Waiting, float | None], None]) -> None:
        """`conclude` is told of each how it ended: when it was admitted in Redis time, None where it was not."""
        self._queue = queue
        self._conclude = conclude
        self._open: list[Waiting] = []

    def add(self, waiting: Iterable[Waiting]) -> None:
        """More of them."""
        self._open += waiting

    async def settle(self) -> None:
        """Takes back what no worker has, so that the refusal its client got is true; the rest was admitted.

        Raises:
            QueueUnreachableError: the queue is gone again; what is left stays open.
        """
        while self._open:
            created_at = await self._queue.withdraw(self._open[0].job_id)
            self._conclude(self._open.pop(0), created_at)

    def give_up(self) -> None:
        """Ends as not admitted what could not be settled: the queue is gone, and what it held with it."""
        still_open, self._open = self._open, []
        for waiting in still_open:
            self._conclude(waiting, None)
