"""The values that pass through the admission core: the policy in force, a request on its way, its decision."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Self

from gate.wire import Candidate
from lab.contract.messages import JobRequest
from lab.contract.names import DEFAULT_TENANT
from lab.contract.policy_spec import PolicySpec
from lab.policies.decision import Decision
from lab.policies.degrading import Degrading
from lab.policies.mode import ModedPolicy
from lab.policies.retry_after import spread_retry_after_s
from lab.policies.rule import Rule
from lab.policies.service_book import Samples
from lab.policies.snapshot import AdmissionRequest, Snapshot


@dataclass(frozen=True, slots=True)
class ActivePolicy:
    """The policy in force, as declared, as decisions name it, and as rules."""

    spec: PolicySpec
    label: str
    moded: ModedPolicy

    @classmethod
    def of(cls, spec: PolicySpec, label: str | None) -> Self:
        """The declared policy; without a label decisions name its kind."""
        return cls(spec, label or spec.kind, ModedPolicy.of(spec))

    def informed(self, samples: Samples, waits_s: Sequence[float]) -> Self:
        """The same, once it knows these services and queue waits, newest first."""
        return replace(self, moded=self.moded.informed(samples, waits_s))


@dataclass(frozen=True, slots=True)
class Decided:
    """A decision as the client is told of it. `job_id` and both times, in Redis time, are None where it was shed.

    `hard_backoff` is true where the client came back too early too often.
    """

    decision: Decision
    job_id: str | None
    created_at: float | None
    deadline_at: float | None
    hard_backoff: bool = False


@dataclass(frozen=True, slots=True)
class Waiting:
    """A request on its way through the admission, with the policy and the rules it is decided by."""

    request: JobRequest
    asked: AdmissionRequest
    job_id: str
    received_at: float
    policy: ActivePolicy
    rules: tuple[Rule, ...]
    answer: asyncio.Future[Decided] = field(compare=False)

    @property
    def client(self) -> str | None:
        """Who asks: the user it names, else its tenant; None where it names nobody."""
        request = self.request
        if request.user is not None:
            return f"{request.tenant}/{request.user}"
        return None if request.tenant == DEFAULT_TENANT else request.tenant

    def candidate(self) -> Candidate:
        """The request as the script needs it."""
        request, moded = self.request, self.policy.moded
        rules = tuple((rule, moded.effect(rule, self.asked)) for rule in self.rules)
        may_degrade = any(effect == "degrade" for _, effect in rules)
        degraded = self._degraded_json() if may_degrade else ""
        return Candidate(
            self.job_id,
            self._job_json(request),
            request.request_id,
            request.job_class,
            request.deadline_s,
            rules,
            degraded,
        )

    def decision_by(self, rule: Rule | None, snapshot: Snapshot) -> Decision:
        """The decision where it is known which rule held first, with the time that the client is told to wait."""
        decision = self.policy.moded.decision_by(rule, snapshot, self.asked)
        if decision.retry_after_s is None:
            return decision
        told_s = spread_retry_after_s(decision.retry_after_s, self.request.request_id)
        return replace(decision, retry_after_s=told_s)

    def _degraded_json(self) -> str:
        policy = self.policy.moded.policy
        if not isinstance(policy, Degrading):
            raise TypeError(f"policy {self.policy.label} has a rule that degrades and does not say how")
        model = policy.degradation.model
        named = "" if model is None else f',"model":"{model}"'
        return f'{self._job_json(policy.degradation.applied(self.request))[:-1]},"degraded":true{named}}}'

    def _job_json(self, request: JobRequest) -> str:
        declared = request.model_dump_json(exclude={"deadline_s", "user"}, exclude_none=True)
        return f'{{"job_id":"{self.job_id}",{declared[1:]}'


@dataclass(frozen=True, slots=True)
class Sighting:
    """The signals as last seen, and when they were received by this process's monotonic clock."""

    snapshot: Snapshot
    received_at: float
