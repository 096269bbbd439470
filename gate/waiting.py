"""The values that pass through the admission core: the policy in force, a request on its way, its decision."""

import asyncio
from dataclasses import dataclass, field
from typing import Self

from gate.stream import Candidate
from lab.contract.messages import JobRequest
from lab.contract.policy_spec import PolicySpec
from lab.policies.decision import Decision
from lab.policies.mode import ModedPolicy
from lab.policies.rule import Rule
from lab.policies.snapshot import Snapshot


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


@dataclass(frozen=True, slots=True)
class Decided:
    """A decision as the client is told of it. `job_id` and both times, in Redis time, are None where it was shed."""

    decision: Decision
    job_id: str | None
    created_at: float | None
    deadline_at: float | None


@dataclass(frozen=True, slots=True)
class Waiting:
    """A request on its way through the admission, with the policy and the rules it is decided by."""

    request: JobRequest
    job_id: str
    received_at: float
    policy: ActivePolicy
    rules: tuple[Rule, ...]
    answer: asyncio.Future[Decided] = field(compare=False)

    def candidate(self) -> Candidate:
        """The request as the script needs it."""
        request, moded = self.request, self.policy.moded
        declared = request.model_dump_json(exclude={"deadline_s"}, exclude_none=True)
        job_json = f'{{"job_id":"{self.job_id}",{declared[1:]}'
        rules = tuple((rule, moded.takes_effect(rule)) for rule in self.rules)
        return Candidate(self.job_id, job_json, request.request_id, request.job_class, request.deadline_s, rules)


@dataclass(frozen=True, slots=True)
class Sighting:
    """The signals as last seen, and when they were received by this process's monotonic clock."""

    snapshot: Snapshot
    received_at: float
