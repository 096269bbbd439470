"""Redis time, told from this process' monotonic clock. Knows readings; must not know Redis or a socket.

A reading brackets Redis' own time between a send and a receipt; its error is at most half the round trip, so the
quickest of the last readings is the one to believe.
"""

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

READINGS_KEPT = 8


@dataclass(frozen=True, slots=True)
class Reading:
    """One look at Redis' clock. `sent_at` and `received_at` are monotonic seconds, `redis_at` unix seconds."""

    sent_at: float
    received_at: float
    redis_at: float

    @property
    def round_trip_s(self) -> float:
        """Twice the most this reading can be wrong."""
        return self.received_at - self.sent_at

    @property
    def offset_s(self) -> float:
        """Redis time less monotonic time."""
        return self.redis_at - (self.sent_at + self.received_at) / 2


class RedisClock:
    """Redis time at any monotonic moment, by the quickest of the last readings."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        """`monotonic` is the clock that the readings are taken with."""
        self._monotonic = monotonic
        self._readings: deque[Reading] = deque(maxlen=READINGS_KEPT)

    def observe(self, reading: Reading) -> None:
        """Takes one more reading; the oldest is forgotten, so that a clock that was set is followed."""
        self._readings.append(reading)

    def redis_at(self, monotonic_at: float) -> float:
        """Redis time, in unix seconds, at a monotonic moment.

        Raises:
            RuntimeError: nothing was observed yet.
        """
        if not self._readings:
            raise RuntimeError("Redis' clock was not read yet")
        return monotonic_at + min(self._readings, key=lambda reading: reading.round_trip_s).offset_s

    def now(self) -> float:
        """Redis time now, in unix seconds."""
        return self.redis_at(self._monotonic())
