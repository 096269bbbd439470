"""A decision: what happens to a request, what enforcing would have done, and the numbers behind it."""

from dataclasses import dataclass
from typing import Literal

from lab.contract.names import REASON_ADMITTED
from lab.contract.policy_spec import Mode
from lab.policies.rule import Rule
from lab.policies.snapshot import SIGNALS, Snapshot

Verdict = Literal["admit", "shed", "degrade"]


@dataclass(frozen=True, slots=True)
class Forecast:
    """What a policy expects of one request, in seconds: the wait ahead of it, and its service from so many samples.

    `slack_floor_s` is the least projected slack that the policy asks for, None where it asks for none.
    """

    deadline_s: float
    est_service_s: float
    estimator_n: int
    queue_ahead_s: float
    slack_floor_s: float | None = None

    @property
    def slack_s(self) -> float:
        """The projected slack: what would be left of the deadline once the job is done; negative where it is late."""
        return self.deadline_s - self.queue_ahead_s - self.est_service_s


@dataclass(frozen=True, slots=True)
class Decision:
    """What happens to one request.

    `would` is what the enforced policy says; `reason` belongs to it, so in log_only an admitted request may carry the
    reason for which it would have been shed. `mode` is the one it was decided in, which for a cold estimator may be
    log_only under an enforced policy. `numbers` holds every signal, and `limit_<signal>` of each condition that held.
    `retry_after_s` is None for what is not shed; `futile` says that no retry with the same deadline can be admitted.
    `forecast` is None where the signals it was decided on are lost.
    """

    decision: Verdict
    would: Verdict
    reason: str
    numbers: dict[str, float]
    retry_after_s: float | None
    mode: Mode = "enforce"
    forecast: Forecast | None = None
    futile: bool = False


def decision_by(rule: Rule | None, snapshot: Snapshot, mode: Mode, forecast: Forecast | None = None) -> Decision:
    """The decision of the first rule that holds, None where none does; a rule takes effect only in mode enforce."""
    if rule is None:
        return Decision("admit", "admit", REASON_ADMITTED, _signals(snapshot), None, mode, forecast)
    decision: Verdict = rule.action if mode == "enforce" else "admit"
    limits = {f"limit_{condition.signal}": condition.limit for condition in rule.conditions}
    retry_after_s = rule.retry_after(snapshot) if decision == "shed" else None
    numbers = _signals(snapshot) | limits
    return Decision(decision, rule.action, rule.reason, numbers, retry_after_s, mode, forecast, rule.futile)


def _signals(snapshot: Snapshot) -> dict[str, float]:
    return {signal: getattr(snapshot, signal) for signal in SIGNALS}
