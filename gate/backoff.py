"""The hard back-off: a client that was shed and comes back too early, again and again, is told to stay away longer.

Knows who is shed and for how long. Must not know why, nor HTTP. The counts live in Redis, shared by all replicas.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from gate.script import QueueUnreachableError
from gate.stream import RefusedClient
from gate.waiting import Waiting
from lab.policies.decision import Decision
from lab.policies.retry_after import HARD_COUNT, HARD_FACTOR


class Counting(Protocol):
    """What the hard back-off needs of the stream."""

    async def count_refusals(self, refused: Sequence[RefusedClient], limit: int) -> list[int]:
        """For each refusal, how many its client had within its retry window."""


@dataclass(frozen=True, slots=True)
class Shed:
    """A request that is shed at a Redis time, and whether its client gets the hard answer."""

    waiting: Waiting
    decision: Decision
    at: float
    hard: bool = False


async def counted(queue: Counting, sheds: Sequence[Shed]) -> list[Shed]:
    """The same sheds, of clients with a name, with the hard answer for those whose clients were shed too often.

    While the queue cannot count, nobody gets the hard answer.
    """
    if not sheds:
        return []
    try:
        counts = await queue.count_refusals([_refused(shed) for shed in sheds], HARD_COUNT)
    except QueueUnreachableError:
        return list(sheds)
    return [_hardened(shed) if count >= HARD_COUNT else shed for shed, count in zip(sheds, counts, strict=True)]


def _refused(shed: Shed) -> RefusedClient:
    told_s = shed.decision.retry_after_s or 0.0
    return RefusedClient(shed.waiting.client or "", told_s, HARD_FACTOR * told_s)


def _hardened(shed: Shed) -> Shed:
    told_s = HARD_FACTOR * (shed.decision.retry_after_s or 0.0)
    return replace(shed, decision=replace(shed.decision, retry_after_s=told_s), hard=True)
