"""A rule: bounds on the signals, and what follows when all of them hold.

Rules are data, so that the same rule can be evaluated here and by the gate's script inside Redis, where the evaluation
and the enqueue are one step. Limits may depend on the request and on what a policy has learnt, never on the signals.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from lab.policies.snapshot import Signal, Snapshot

Comparison = Literal[">", ">="]
Action = Literal["shed", "degrade"]


@dataclass(frozen=True, slots=True)
class Condition:
    """Holds where the signal lies beyond the limit, which is in the signal's unit."""

    signal: Signal
    comparison: Comparison
    limit: float

    def holds(self, snapshot: Snapshot) -> bool:
        """Whether the snapshot's signal lies beyond the limit."""
        value: float = getattr(snapshot, self.signal)
        return value > self.limit if self.comparison == ">" else value >= self.limit


@dataclass(frozen=True, slots=True)
class Rule:
    """What to do with a request, and why, where all conditions hold.

    `retry_after` estimates, from the snapshot alone, in how many seconds the rule may no longer hold.
    """

    action: Action
    reason: str
    conditions: tuple[Condition, ...]
    retry_after: Callable[[Snapshot], float]

    def holds(self, snapshot: Snapshot) -> bool:
        """Whether every condition holds."""
        return all(condition.holds(snapshot) for condition in self.conditions)


def first_holding(rules: Iterable[Rule], snapshot: Snapshot) -> Rule | None:
    """The first rule that holds; None where the request is admitted as it is."""
    return next((rule for rule in rules if rule.holds(snapshot)), None)
