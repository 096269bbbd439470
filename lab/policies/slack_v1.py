"""F, slack_v1: shed what would finish with too little slack, by the expected work of everything ahead of it.

    admit iff  slack > f
    slack = d - ahead - est
    ahead = sum over classes of unsettled(c) * est(c) / slots
    retry after  f - slack

d       deadline_s, the declared deadline from the gate's receipt, seconds
est     expected service time of the request's class, seconds: the recency-weighted p95 of its last 200 services,
        half-life 30 s unless declared otherwise; the half-life and the percentile are ours, DRILLS.md leaves them open
ahead   work_ahead_s, seconds: everything admitted and not settled, queued or in flight, each counted in full
f       slack_floor_s, seconds; 5 s

Cold, with fewer than 50 samples of the request's class, it acts as log_only: it says what it would do and admits.
A deadline with d - est <= f would be shed by an idle system too: its reason is a code of its own, and no
retry is advised: the hint is d, when the deadline has passed.
The hint: with the gate shut the work ahead falls by a second a second.

After a regime change the estimate moves with the first services that finish in the new regime, and at rate r per second
of a class about r * h / ln 2 old ones weigh against them, h being the half-life: the fewer, the sooner p95 moves.

Source: DRILLS.md section 4.
"""

from dataclasses import dataclass, replace

from lab.contract.names import REASON_DEADLINE_SLACK, REASON_DEADLINE_UNMEETABLE
from lab.contract.policy_spec import Mode
from lab.policies.decision import Forecast
from lab.policies.policy import Policy
from lab.policies.rule import Condition, Rule
from lab.policies.snapshot import AdmissionRequest, Snapshot


@dataclass(frozen=True, slots=True)
class SlackV1(Policy):
    """Sheds unless the projected slack is above slack_floor_s."""

    slack_floor_s: float

    def rules(self, request: AdmissionRequest) -> tuple[Rule, ...]:
        """The one rule: the work ahead must stay below what deadline, service and floor leave."""
        est_s = self.book.expected(request.job_class).service_s
        budget_s = request.deadline_s - est_s - self.slack_floor_s
        if budget_s <= 0:
            return (Rule("shed", REASON_DEADLINE_UNMEETABLE, (), lambda _: request.deadline_s, futile=True),)
        condition = Condition("work_ahead_s", ">=", budget_s)
        return (Rule("shed", REASON_DEADLINE_SLACK, (condition,), lambda s: s.work_ahead_s - budget_s),)

    def acts_as(self, mode: Mode, request: AdmissionRequest) -> Mode:
        """log_only instead of enforce while the class is cold."""
        cold = self.book.expected(request.job_class).cold
        return "log_only" if mode == "enforce" and cold else mode

    def forecast(self, snapshot: Snapshot, request: AdmissionRequest) -> Forecast:
        """As for every policy, against the floor."""
        # slots=True makes the class anew, so that super() without arguments would not find it.
        return replace(Policy.forecast(self, snapshot, request), slack_floor_s=self.slack_floor_s)
