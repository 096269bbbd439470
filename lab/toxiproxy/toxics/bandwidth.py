"""bandwidth: each chunk pays its length over the rate before it leaves, per connection and direction.

A kilobyte is 1,000 bytes, so a rate of r KB/s is r bytes per millisecond. A chunk that would take longer than
PIECE_MS leaves in pieces. What a sleep overran is taken off the next.
"""

from dataclasses import dataclass
from typing import ClassVar

from lab.toxiproxy.toxics import Chunk, Stub, Toxic, attribute

PIECE_MS = 100


@dataclass(frozen=True, slots=True)
class BandwidthToxic(Toxic):
    """At most so many kilobytes per second."""

    type_name: ClassVar[str] = "bandwidth"
    go_name: ClassVar[str] = "BandwidthToxic"

    rate_kb_per_s: int = attribute("rate")

    def check(self) -> None:
        """A negative rate has no meaning."""
        if self.rate_kb_per_s < 0:
            raise ValueError(f"bandwidth: rate is {self.rate_kb_per_s}; it must not be negative")

    async def pipe(self, stub: Stub) -> None:
        """Pays for each chunk; at rate 0 nothing passes."""
        owed_s = 0.0
        while (chunk := await stub.receive()) is not None:
            if self.rate_kb_per_s == 0:
                await stub.stall()
            owed_s = await self._pay(stub, chunk, owed_s)
        stub.close()

    async def _pay(self, stub: Stub, chunk: Chunk, owed_s: float) -> float:
        left_bytes = len(chunk.data)
        owed_s += left_bytes / (self.rate_kb_per_s * 1000)
        piece_bytes = self.rate_kb_per_s * PIECE_MS
        while left_bytes > piece_bytes:
            owed_s -= await _timed_sleep(stub, PIECE_MS / 1000)
            await stub.send(piece_bytes)
            left_bytes -= piece_bytes
        owed_s -= await _timed_sleep(stub, owed_s)
        await stub.send()
        return owed_s


async def _timed_sleep(stub: Stub, seconds: float) -> float:
    """Sleeps and returns how long it really took."""
    started_s = stub.now_s()
    await stub.sleep(seconds)
    return stub.now_s() - started_s
