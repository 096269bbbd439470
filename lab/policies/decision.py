"""A decision: what happens to a request, what enforcing would have done, and the numbers behind it."""

from dataclasses import dataclass
from typing import Literal

from lab.contract.names import REASON_ADMITTED
from lab.contract.policy_spec import Mode
from lab.policies.rule import Rule
from lab.policies.snapshot import SIGNALS, Snapshot

Verdict = Literal["admit", "shed", "degrade"]


@dataclass(frozen=True, slots=True)
class Decision:
    """What happens to one request.

    `would` is what the enforced policy says; `reason` belongs to it, so in log_only an admitted request may carry the
    reason for which it would have been shed. `numbers` holds every signal, and `limit_<signal>` of each condition that
    held. `retry_after_s` is None for what is not shed.
    """

    decision: Verdict
    would: Verdict
    reason: str
    numbers: dict[str, float]
    retry_after_s: float | None


def decision_by(rule: Rule | None, snapshot: Snapshot, mode: Mode) -> Decision:
    """The decision of the first rule that holds, None where none does; a rule takes effect only in mode enforce."""
    if rule is None:
        return Decision("admit", "admit", REASON_ADMITTED, _signals(snapshot), None)
    decision: Verdict = rule.action if mode == "enforce" else "admit"
    limits = {f"limit_{condition.signal}": condition.limit for condition in rule.conditions}
    retry_after_s = rule.retry_after(snapshot) if decision == "shed" else None
    return Decision(decision, rule.action, rule.reason, _signals(snapshot) | limits, retry_after_s)


def _signals(snapshot: Snapshot) -> dict[str, float]:
    return {signal: getattr(snapshot, signal) for signal in SIGNALS}
