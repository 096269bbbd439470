"""A policy together with the mode it runs in."""

from dataclasses import dataclass
from typing import Self

from lab.contract.policy_spec import Mode, PolicySpec
from lab.policies.decision import Decision, decision_by
from lab.policies.policy import Policy
from lab.policies.registry import build_policy
from lab.policies.rule import Rule, first_holding
from lab.policies.snapshot import AdmissionRequest, Snapshot


@dataclass(frozen=True, slots=True)
class ModedPolicy:
    """A policy in a mode. off: as if there were none; log_only: says what it would do and admits; enforce: does it."""

    policy: Policy
    mode: Mode

    @classmethod
    def of(cls, spec: PolicySpec) -> Self:
        """The declared policy in its declared mode."""
        return cls(build_policy(spec), spec.mode)

    def rules(self, request: AdmissionRequest) -> tuple[Rule, ...]:
        """The rules to evaluate: none in mode off."""
        return () if self.mode == "off" else self.policy.rules(request)

    def takes_effect(self, rule: Rule) -> bool:
        """Whether a request is turned away where this rule holds."""
        return self.mode == "enforce" and rule.action == "shed"

    def decide(self, snapshot: Snapshot, request: AdmissionRequest) -> Decision:
        """What happens to the request, and what enforcing would do."""
        return self.decision_by(first_holding(self.rules(request), snapshot), snapshot)

    def decision_by(self, rule: Rule | None, snapshot: Snapshot) -> Decision:
        """The decision where it is known already which rule held first, None where none did."""
        return decision_by(rule, snapshot, self.mode)
