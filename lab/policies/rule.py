"""A rule: bounds on the signals, and what follows when all of them hold.

Rules are data, so that the same rule can be evaluated here and by the gate's script inside Redis, where the evaluation
and the enqueue are one step. Limits may depend on the request and on what a policy has learnt, never on the signals.
A rule of several conditions is an "all of"; several rules are an "any of", in order.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Literal, Self

from lab.policies.snapshot import Signal, Snapshot

Comparison = Literal[">", ">="]
Action = Literal["shed", "degrade"]
# No signal ever gets there.
OUT_OF_REACH = 1e300


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
    """What to do with a request, and why, where all conditions hold; without conditions it always holds.

    `retry_after` estimates, from the snapshot alone, in how many seconds the rule may no longer hold. `futile` says
    that the same request would be shed by an idle system too.
    """

    action: Action
    reason: str
    conditions: tuple[Condition, ...]
    retry_after: Callable[[Snapshot], float]
    futile: bool = False

    def holds(self, snapshot: Snapshot) -> bool:
        """Whether every condition holds."""
        return all(condition.holds(snapshot) for condition in self.conditions)

    def out_of_reach(self) -> Self:
        """The same rule with its thresholds so huge that it never holds."""
        conditions = self.conditions or (Condition("queue_age_s", ">", OUT_OF_REACH),)
        return replace(self, conditions=tuple(replace(condition, limit=OUT_OF_REACH) for condition in conditions))


def first_holding(rules: Iterable[Rule], snapshot: Snapshot) -> Rule | None:
    """The first rule that holds; None where the request is admitted as it is."""
    return next((rule for rule in rules if rule.holds(snapshot)), None)
