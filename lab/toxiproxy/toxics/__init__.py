"""The toxics, one a file, and what they act on.

A toxic knows its attributes and the stub it is given: chunks come in, and are held, sent, cut or dropped. It must not
know sockets, links or the API. Whatever interrupts a toxic sends on what it holds, so no toxic has to.
"""

import random
from abc import ABC, abstractmethod
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Protocol

WIRE_NAME = "wire"


@dataclass(slots=True)
class Chunk:
    """What one read brought; `arrived_s` is the stub's clock at that time, and moves on with each latency."""

    data: bytes
    arrived_s: float


class Stub(Protocol):
    """A toxic's place on one connection. Every awaited call may be interrupted by an edit of the chain."""

    @property
    def chance(self) -> random.Random:
        """The toxic's draws on this connection."""

    @property
    def sent_bytes(self) -> int:
        """What the toxic has sent on this connection so far, edits of the toxic included."""

    def now_s(self) -> float:
        """The clock that stamps chunks."""

    async def receive(self, within_s: float | None = None) -> Chunk | None:
        """The next chunk, which the stub holds until sent or dropped; None at the end of the stream.

        Raises:
            TimeoutError: nothing came within `within_s`.
        """

    async def sleep(self, seconds: float, *, interruptible: bool = True) -> None:
        """Lets time pass; negative is none."""

    async def stall(self) -> None:
        """Never returns; only an interruption ends it."""

    async def send(self, size_bytes: int | None = None) -> None:
        """Sends the first bytes of what is held, or all of it."""

    def drop(self) -> None:
        """Throws away what is held."""

    def close(self) -> None:
        """Ends the stream; nothing can be sent afterwards."""


class Toxic(ABC):
    """A kind of fault and its attributes. Subclasses are frozen dataclasses of `attribute` fields."""

    type_name: ClassVar[str]
    # The original's type, which its clients see in messages about attributes.
    go_name: ClassVar[str]
    # How many chunks may wait in front of the toxic before the sender is held up.
    buffer_chunks: ClassVar[int] = 1
    # It has lost data by then, so that going on would hand over a stream with a hole.
    closes_when_removed: ClassVar[bool] = False
    # Closing then sends RST instead of FIN.
    lingers_zero: ClassVar[bool] = False

    @abstractmethod
    async def pipe(self, stub: Stub) -> None:
        """Acts on one connection until its stream ends."""

    def check(self) -> None:  # noqa: B027 - most kinds can act on any attributes
        """Raises ValueError, with a sentence, for attributes that cannot be acted on."""

    def attributes(self) -> dict[str, int]:
        """The attributes under their names on the wire."""
        return {wire: getattr(self, name) for name, wire in attribute_names(type(self)).items()}


def attribute(wire_name: str) -> Any:
    """A toxic's attribute: an integer, 0 unless given."""
    return field(default=0, metadata={WIRE_NAME: wire_name})


def attribute_names(toxic: type[Toxic]) -> dict[str, str]:
    """The attributes of a kind of toxic: field name -> name on the wire, in the order of the original."""
    described: Any = toxic
    return {each.name: each.metadata[WIRE_NAME] for each in fields(described)}
