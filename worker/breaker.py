"""The breaker: no new jobs while the provider fails. Pure: time is an argument; must not know jobs, Redis or the model.

    closed --`failures` calls in a row fail--> open --open_for_s--> half-open --`probes` calls succeed--> closed
                                                ^                      |
                                                +---- one call fails --+

What a worker does not take stays in the stream, undelivered. Each worker has a breaker of its own, as it has its own
calls to judge by. All times are monotonic seconds.
"""

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal

State = Literal["closed", "open", "half_open"]
UNBOUNDED: Final = sys.maxsize


@dataclass(frozen=True, slots=True)
class BreakerRule:
    """Opens after `failures` failed calls in a row, for `open_for_s`; then `probes` jobs are tried."""

    failures: int
    open_for_s: float
    probes: int


class Breaker:
    """One worker's breaker; without a rule it never opens."""

    def __init__(self, rule: BreakerRule | None, on_change: Callable[[State, str], None]) -> None:
        """Closed; `on_change` is told each new state and why."""
        self._rule = rule
        self._on_change = on_change
        self._state: State = "closed"
        self._changed_at = -math.inf
        self._failed_in_a_row = 0
        self._succeeded_probes = 0
        self._probing: set[str] = set()

    @property
    def closed(self) -> bool:
        """Whether calls may be made freely."""
        return self._state == "closed"

    def room(self, now: float) -> int:
        """How many further jobs may be taken; a breaker that was open for long enough is half-open from here on."""
        if self._rule is None or self._state == "closed":
            return UNBOUNDED
        if self._state == "open":
            if now < self._changed_at + self._rule.open_for_s:
                return 0
            self._change("half_open", now, f"open for {self._rule.open_for_s:g} s; the next jobs are probes")
        return max(0, self._rule.probes - self._succeeded_probes - len(self._probing))

    def wait_s(self, now: float) -> float | None:
        """Seconds until there is room by time alone; None where it takes the end of a job."""
        if self._rule is None or self._state != "open":
            return None
        return max(0.0, self._changed_at + self._rule.open_for_s - now)

    def took(self, job: str) -> None:
        """A job was taken; while half-open it is a probe until it `left`."""
        if self._state == "half_open":
            self._probing.add(job)

    def left(self, job: str) -> None:
        """A job is done with, whether it was called for or not."""
        self._probing.discard(job)

    def observe(self, *, failed: bool, started_at: float, now: float, detail: str) -> None:
        """Takes the result of one call; `failed` is a failure or time-out of the provider's, `detail` its sentence.

        A call that began before the last change of state says nothing of the provider since.
        """
        if self._rule is None or self._state == "open" or started_at < self._changed_at:
            return
        if self._state == "half_open":
            self._observe_probe(self._rule, failed, now, detail)
            return
        self._failed_in_a_row = self._failed_in_a_row + 1 if failed else 0
        if self._failed_in_a_row >= self._rule.failures:
            self._change("open", now, f"{self._failed_in_a_row} calls in a row failed; the last: {detail}")

    def _observe_probe(self, rule: BreakerRule, failed: bool, now: float, detail: str) -> None:
        if failed:
            self._change("open", now, f"a probe failed: {detail}")
            return
        self._succeeded_probes += 1
        if self._succeeded_probes >= rule.probes:
            self._change("closed", now, f"probes that succeeded: {self._succeeded_probes}")

    def _change(self, state: State, now: float, reason: str) -> None:
        self._state, self._changed_at = state, now
        self._failed_in_a_row = self._succeeded_probes = 0
        self._probing.clear()
        self._on_change(state, reason)
