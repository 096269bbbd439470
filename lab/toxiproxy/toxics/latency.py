"""latency: each chunk leaves a delay after it arrived, give or take jitter.

delay = latency + u, u a whole number of milliseconds drawn evenly from [-jitter, jitter - 1]; a negative delay is none.
Counted from arrival, so the chunks of one answer do not add up their delays, and in order, so a late chunk holds those
behind it.
"""

import random
from dataclasses import dataclass
from typing import ClassVar

from lab.toxiproxy.toxics import Stub, Toxic, attribute

# Beyond this the original's draw overflows.
MOST_JITTER_MS = 2**62 - 1


@dataclass(frozen=True, slots=True)
class LatencyToxic(Toxic):
    """Every chunk is held for a while."""

    type_name: ClassVar[str] = "latency"
    go_name: ClassVar[str] = "LatencyToxic"
    buffer_chunks: ClassVar[int] = 1024

    latency_ms: int = attribute("latency")
    jitter_ms: int = attribute("jitter")

    def check(self) -> None:
        """The jitter must be one that can be drawn."""
        if self.jitter_ms > MOST_JITTER_MS:
            raise ValueError(f"latency: jitter is {self.jitter_ms}; it must be at most {MOST_JITTER_MS}")

    def delay_s(self, chance: random.Random) -> float:
        """Seconds that the next chunk is held after its arrival."""
        drawn = chance.randrange(2 * self.jitter_ms) - self.jitter_ms if self.jitter_ms > 0 else 0
        return (self.latency_ms + drawn) / 1000

    async def pipe(self, stub: Stub) -> None:
        """Holds each chunk until its time."""
        while (chunk := await stub.receive()) is not None:
            remaining_s = self.delay_s(stub.chance) - (stub.now_s() - chunk.arrived_s)
            await stub.sleep(remaining_s)
            # The next latency in the chain counts from here, so that two of them add up. A chunk that waited behind
            # another is stamped too early by that wait: the original does so, and drills must agree on both.
            chunk.arrived_s += remaining_s
            await stub.send()
        stub.close()
