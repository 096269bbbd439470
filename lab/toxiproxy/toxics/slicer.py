"""slicer: chunks are cut into pieces of about average_size bytes, with a delay in microseconds after each."""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from lab.toxiproxy.toxics import Stub, Toxic, attribute


@dataclass(frozen=True, slots=True)
class SlicerToxic(Toxic):
    """Many small packets."""

    type_name: ClassVar[str] = "slicer"
    go_name: ClassVar[str] = "SlicerToxic"

    average_size_bytes: int = attribute("average_size")
    size_variation_bytes: int = attribute("size_variation")
    delay_us: int = attribute("delay")

    def check(self) -> None:
        """Sizes must be such that halving ends."""
        if self.average_size_bytes < 1:
            raise ValueError(f"slicer: average_size is {self.average_size_bytes}; it must be at least 1")
        if not 0 <= self.size_variation_bytes < self.average_size_bytes:
            raise ValueError(
                f"slicer: size_variation is {self.size_variation_bytes}; "
                f"it must be from 0 to less than average_size, {self.average_size_bytes}"
            )

    def piece_sizes(self, size_bytes: int, chance: random.Random) -> Iterator[int]:
        """Sizes that sum to `size_bytes`: halved, give or take the variation, until near the average."""
        if size_bytes - self.average_size_bytes <= self.size_variation_bytes:
            yield size_bytes
            return
        left_bytes = size_bytes // 2
        if self.size_variation_bytes > 0:
            left_bytes += chance.randrange(2 * self.size_variation_bytes) - self.size_variation_bytes
        yield from self.piece_sizes(left_bytes, chance)
        yield from self.piece_sizes(size_bytes - left_bytes, chance)

    async def pipe(self, stub: Stub) -> None:
        """Cuts each chunk."""
        while (chunk := await stub.receive()) is not None:
            for piece_bytes in self.piece_sizes(len(chunk.data), stub.chance):
                await stub.send(piece_bytes)
                await stub.sleep(self.delay_us / 1_000_000)
        stub.close()
