"""What every admission policy is: rules for a request, and a way to learn from finished work."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Self

from lab.policies.decision import Decision, decision_by
from lab.policies.rule import Rule, first_holding
from lab.policies.snapshot import AdmissionRequest, ServiceSample, Snapshot


@dataclass(frozen=True, slots=True)
class Policy(ABC):
    """An admission policy. It is a value: learning gives a new one."""

    @abstractmethod
    def rules(self, request: AdmissionRequest) -> tuple[Rule, ...]:
        """The rules for this request, in order; the first that holds decides, and none means admit."""

    def observe(self, sample: ServiceSample) -> Self:  # noqa: ARG002 - a policy that estimates uses the sample
        """The policy after a finished service; one that does not estimate stays as it is."""
        return self

    def decide(self, snapshot: Snapshot, request: AdmissionRequest) -> Decision:
        """What this policy, enforced, does with the request."""
        return decision_by(first_holding(self.rules(request), snapshot), snapshot, "enforce")
