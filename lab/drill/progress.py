"""How each arm is doing, counted from its own journal as it is written. The front desk draws it."""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from lab.contract.names import PROBE_PREFIX

# Sampled ten times a second; what is so much older says nothing of now.
STALE_S = 1.0


@dataclass(slots=True)
class ArmProgress:
    """One arm's line of live progress. `total_s` is the schedule's length; counts leave the probes out."""

    arm: str
    kind: str
    total_s: float
    phase: str = "waiting"
    offered: int = 0
    admitted: int = 0
    shed: int = 0
    settled: int = 0
    # The queue's age in seconds and its depth, as last sampled; None where the gate did not know.
    queue: tuple[float, int] | None = None
    sampled_at: float = -math.inf
    active_faults: set[str] = field(default_factory=set)
    failure: str = ""
    _start_at: float | None = None
    _end_at: float | None = None

    @property
    def elapsed_s(self) -> float:
        """Seconds since the schedule's start, frozen when the arm is done."""
        if self._start_at is None:
            return 0.0
        return max(0.0, (self._end_at or time.time()) - self._start_at)

    def observe(self, event: dict[str, Any]) -> None:
        """Counts one event of the arm's journal."""
        handler = _HANDLERS.get(event["event"])
        if handler and not str(event.get("request_id") or "").startswith(PROBE_PREFIX):
            handler(self, event)

    def on_phase(self, event: dict[str, Any]) -> None:
        """A new phase; the last one stops the clock."""
        self.phase = event["phase"]
        if self.phase in ("clean_up", "done") and self._end_at is None:
            self._end_at = event["at"]

    def on_schedule_start(self, event: dict[str, Any]) -> None:
        """Time 0."""
        self._start_at = event["start_at"]

    def on_request(self, _event: dict[str, Any]) -> None:
        """One more offered."""
        self.offered += 1

    def on_decision(self, event: dict[str, Any]) -> None:
        """One more admitted or shed."""
        if event["decision"] == "shed":
            self.shed += 1
        else:
            self.admitted += 1

    def on_outcome(self, event: dict[str, Any]) -> None:
        """One more settled, unless another worker did so before."""
        self.settled += not event["duplicate"]

    def on_signals(self, event: dict[str, Any]) -> None:
        """The queue now; None where the gate does not know."""
        known = event["queue_age_s"] is not None
        self.queue = (event["queue_age_s"], event["queue_depth"]) if known else None
        self.sampled_at = time.time()

    @property
    def queue_now(self) -> tuple[float, int] | None:
        """Age in seconds and depth; None while nobody knows them, as where gate or Redis is away."""
        return self.queue if time.time() - self.sampled_at < STALE_S else None

    def on_fault(self, event: dict[str, Any]) -> None:
        """A fault came or went."""
        if event["action"] == "inject":
            self.active_faults.add(event["name"])
        else:
            self.active_faults.discard(event["name"])


_HANDLERS: dict[str, Callable[[ArmProgress, dict[str, Any]], None]] = {
    "phase": ArmProgress.on_phase,
    "schedule_start": ArmProgress.on_schedule_start,
    "request": ArmProgress.on_request,
    "decision": ArmProgress.on_decision,
    "outcome": ArmProgress.on_outcome,
    "signals": ArmProgress.on_signals,
    "fault": ArmProgress.on_fault,
}

# Called about twice a second with every arm of the drill.
OnProgress = Callable[[Sequence[ArmProgress]], None]
