"""E, deadline_slack: shed what cannot be expected to be done in time, by the queue and the class's service times.

    admit iff  d >= est + m + w   and   d <= d_max
    w = q / k * est               (wait: queued)
    w = p95 of the queue waits measured last    (wait: measured)
    retry after  w - (d - est - m),   and  d - d_max  for what has too much time

d      slack as drill 2 says it: deadline - now, seconds; at the gate the declared deadline_s
est    expected service time of the class, seconds: max(p95 of its last 200, 350 ms), 350 ms alone below 10 samples
m      margin_s, seconds; 250 ms
q / k  queued_per_slot: entries not yet delivered over live slots, at least 1 slot
d_max  max_slack_s, seconds; 1,500 ms as published, which sheds jobs for having too much time; None binds nobody

In the words of the decision line: slack_ms = d - w - est, slack_floor_ms = m, queue_ahead_ms = w.
A deadline with d < est + m is missed on an idle system too: its reason is a code of its own, and no retry
is advised: the hint is d, when the deadline has passed.
The hint: with the gate shut the wait falls by a second a second, so a request with the same deadline fits in that time.
Measured waits fall only as idle samples (20 a second) push busy ones out: the gate stays shut for up to ten seconds.

Source: DRILLS.md section 2, the policy and the threshold it would start with.
"""

from dataclasses import dataclass
from typing import Literal

from lab.contract.names import REASON_DEADLINE_SLACK, REASON_DEADLINE_UNMEETABLE, REASON_SLACK_ABOVE_MAX
from lab.policies.decision import Forecast
from lab.policies.policy import Policy
from lab.policies.rule import OUT_OF_REACH, Condition, Rule
from lab.policies.snapshot import AdmissionRequest, Snapshot


@dataclass(frozen=True, slots=True)
class DeadlineSlack(Policy):
    """Sheds unless deadline_s >= expected service + margin_s + expected wait."""

    margin_s: float
    max_slack_s: float | None = None
    wait: Literal["queued", "measured"] = "queued"

    def rules(self, request: AdmissionRequest) -> tuple[Rule, ...]:
        """The guard against too much slack where there is one, then the test of slack."""
        if self.max_slack_s is not None and request.deadline_s > self.max_slack_s:
            above_s = request.deadline_s - self.max_slack_s
            return (Rule("shed", REASON_SLACK_ABOVE_MAX, (), lambda _: above_s),)
        est_s = self.book.expected(request.job_class).service_s
        budget_s = request.deadline_s - est_s - self.margin_s
        if budget_s < 0:
            return (Rule("shed", REASON_DEADLINE_UNMEETABLE, (), lambda _: request.deadline_s, futile=True),)
        return self._measured(budget_s) if self.wait == "measured" else self._queued(budget_s, est_s)

    def forecast(self, snapshot: Snapshot, request: AdmissionRequest) -> Forecast:
        """The wait that the rule reckons with."""
        expected = self.book.expected(request.job_class)
        wait_s = self.book.wait_s if self.wait == "measured" else snapshot.queued_per_slot * expected.service_s
        return Forecast(request.deadline_s, expected.service_s, expected.sample_count, wait_s, self.margin_s)

    def _queued(self, budget_s: float, est_s: float) -> tuple[Rule, ...]:
        most = budget_s / est_s if est_s > 0 else OUT_OF_REACH
        condition = Condition("queued_per_slot", ">", most)
        return (Rule("shed", REASON_DEADLINE_SLACK, (condition,), lambda s: s.queued_per_slot * est_s - budget_s),)

    def _measured(self, budget_s: float) -> tuple[Rule, ...]:
        # No signal of this instant enters; the rule holds or it does not.
        excess_s = self.book.wait_s - budget_s
        return (Rule("shed", REASON_DEADLINE_SLACK, (), lambda _: excess_s),) if excess_s > 0 else ()
