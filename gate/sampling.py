"""When the stack's signals are sampled, and with which sample a line of them is written. Pure; the time is given."""

SAMPLE_INTERVAL_S = 0.05
SAMPLES_PER_SIGNALS_LINE = 2


class Sampling:
    """The rhythm of one gate's sampler."""

    def __init__(self, now_s: float) -> None:
        """The first sample is due at once; `now_s` is monotonic, as everywhere here."""
        self._next_at_s = now_s
        self._count = 0

    def due_in_s(self, now_s: float) -> float:
        """Seconds until a sample is due."""
        return max(0.0, self._next_at_s - now_s)

    def is_due(self, now_s: float) -> bool:
        """Whether a sample is due; if so, the next one is due an interval later."""
        if now_s < self._next_at_s:
            return False
        self._next_at_s = max(self._next_at_s + SAMPLE_INTERVAL_S, now_s)
        return True

    def ends_a_line(self) -> bool:
        """Counts a sample that succeeded; whether a line is to be written with it."""
        self._count += 1
        return self._count % SAMPLES_PER_SIGNALS_LINE == 0
