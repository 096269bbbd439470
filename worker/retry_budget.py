"""The retry budget: retries are a share of first attempts, whatever fails. Pure; must not know why one is wanted.

A token bucket without time: each first attempt puts `ratio` of a token in, each retry takes a whole one out. Under a
total failure the provider then sees 1 + ratio times the load, not max_attempts times (Finagle's and Envoy's retry
budgets, both 20 % by default).
"""

from typing import Final

# A worker that has just begun may retry at all (Envoy's least number of retries).
FIRST_TOKENS: Final = 3.0
# How many retries a quiet time saves up at most (the size of gRPC's bucket).
MOST_TOKENS: Final = 10.0
# Ten times a tenth is a little less than one.
_ROUNDING: Final = 1e-9


class RetryBudget:
    """One worker's budget; without a ratio every retry is within it."""

    def __init__(self, ratio: float | None) -> None:
        """`ratio` is tokens per first attempt."""
        self._ratio = ratio
        self._tokens = 0.0 if ratio == 0 else FIRST_TOKENS

    def deposit(self) -> None:
        """A first attempt is made."""
        if self._ratio is not None:
            self._tokens = min(MOST_TOKENS, self._tokens + self._ratio)

    def withdraw(self) -> bool:
        """Whether one more retry is within the budget; if so it is spent."""
        if self._ratio is None:
            return True
        if self._tokens < 1 - _ROUNDING:
            return False
        self._tokens -= 1
        return True
