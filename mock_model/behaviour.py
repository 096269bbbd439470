"""How the mock model behaves: service times, tokens, failures, silences. Pure; must not know a clock or HTTP.

Every draw is a function of the seed, the request's id and what the draw is for, so the same job fares alike in
every arm and every instance, whatever else is asked in between.
"""

import hashlib
from dataclasses import dataclass
from typing import Annotated, Final, Literal

from pydantic import Field

from lab.contract.messages import Label, Message

FIRST_TOKEN_S: Final = 0.1
PER_TOKEN_S: Final = 0.005
# A declared service time that names no first token spends this share of itself before it.
FIRST_TOKEN_SHARE: Final = 0.25
MOST_CHUNKS: Final = 6

Fate = Literal["served", "failed", "stalled"]
Ratio = Annotated[float, Field(ge=0, le=1)]


class Disturbance(Message):
    """How the model misbehaves now; by default it is at rest. `classes` limits it to these job classes, none means all.

    `slow_factor` multiplies service times, `failure_ratio` of the requests are answered with `status`, and
    `stall_ratio` of the others never get a first token.
    """

    slow_factor: Annotated[float, Field(ge=1, le=1000)] = 1.0
    failure_ratio: Ratio = 0.0
    status: Annotated[int, Field(ge=400, le=599)] = 500
    stall_ratio: Ratio = 0.0
    classes: Annotated[tuple[Label, ...], Field(max_length=100)] = ()

    def within(self, job_class: str) -> "Disturbance":
        """The disturbance as this class feels it."""
        return self if not self.classes or job_class in self.classes else AT_REST


AT_REST: Final = Disturbance()


@dataclass(frozen=True, slots=True)
class Asked:
    """What a request asks for. `work_s` and `first_token_s` are declared service times, None where they are not."""

    request_id: str
    attempt: int
    job_class: str
    max_tokens: int
    work_s: float | None = None
    first_token_s: float | None = None


@dataclass(frozen=True, slots=True)
class Service:
    """The service a request gets: all of its time, the part before the first token, and the tokens made."""

    work_s: float
    first_token_s: float
    tokens: int

    def slowed(self, factor: float) -> "Service":
        """The same tokens in `factor` times the time."""
        return Service(self.work_s * factor, self.first_token_s * factor, self.tokens)


@dataclass(frozen=True, slots=True)
class Piece:
    """Content that is due `due_s` after the work began; it stands for `tokens` tokens."""

    due_s: float
    tokens: int


def draw(seed: int, *what: str | int) -> float:
    """An even draw from 0 up to 1: the first 8 bytes of a BLAKE2b hash of the seed and what is drawn."""
    text = "\0".join(str(part) for part in (seed, *what))
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big") / 2**64


def fate(seed: int, asked: Asked, felt: Disturbance) -> Fate:
    """What becomes of an attempt under the disturbance it feels."""
    if draw(seed, asked.request_id, asked.attempt, "failure") < felt.failure_ratio:
        return "failed"
    if draw(seed, asked.request_id, asked.attempt, "stall") < felt.stall_ratio:
        return "stalled"
    return "served"


def service(seed: int, asked: Asked) -> Service:
    """The declared service, or a drawn one: half of max_tokens to all of them, at 100 ms and 5 ms a token."""
    if asked.work_s is not None:
        first_token_s = asked.work_s * FIRST_TOKEN_SHARE if asked.first_token_s is None else asked.first_token_s
        return Service(asked.work_s, first_token_s, asked.max_tokens)
    fewest = (asked.max_tokens + 1) // 2
    tokens = fewest + int(draw(seed, asked.request_id, asked.max_tokens, "tokens") * (asked.max_tokens - fewest + 1))
    first_token_s = FIRST_TOKEN_S if asked.first_token_s is None else asked.first_token_s
    return Service(first_token_s + PER_TOKEN_S * tokens, first_token_s, tokens)


def pieces(given: Service) -> tuple[Piece, ...]:
    """The content in at most MOST_CHUNKS pieces: the first at the first token, the last at the end, evenly spread.

    Few whatever the token count, since every piece costs both ends processor time that the model does not stand for.
    """
    count = min(MOST_CHUNKS, given.tokens)
    gap_s = (given.work_s - given.first_token_s) / max(1, count - 1)
    # Whole shares of the tokens that add up to all of them.
    ends = [given.tokens * (index + 1) // count for index in range(count)]
    starts = [0, *ends[:-1]]
    return tuple(
        Piece(given.first_token_s + index * gap_s, end - start)
        for index, (start, end) in enumerate(zip(starts, ends, strict=True))
    )
