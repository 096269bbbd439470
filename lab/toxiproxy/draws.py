"""Chance, made repeatable: streams of draws derived from the seed and from what they are for.

A stream per proxy, connection (counted from 1 in the order accepted) and toxic, so that neither traffic on other
connections nor other toxics move its draws. Whether a toxic acts and what it then draws are two streams, so that an
edit, which draws the former anew, leaves the latter where it was.
"""

import random
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ToxicDraws:
    """One toxic's chance on one connection."""

    acting: random.Random
    effect: random.Random

    def acts(self, toxicity: float) -> bool:
        """Draws whether the toxic acts: with probability `toxicity`, above 1 always, below 0 never."""
        return self.acting.random() < toxicity


class ConnectionDraws:
    """The streams of one connection; a toxic that comes back goes on where its name left off."""

    def __init__(self, seed: int, proxy: str, connection: int) -> None:
        self._stem = f"{seed}/{proxy}/{connection}"
        self._streams: dict[str, ToxicDraws] = {}

    def of(self, toxic: str) -> ToxicDraws:
        """The streams of the toxic of this name."""
        if toxic not in self._streams:
            stem = f"{self._stem}/{toxic}"
            self._streams[toxic] = ToxicDraws(random.Random(f"{stem}/acting"), random.Random(f"{stem}/effect"))
        return self._streams[toxic]
