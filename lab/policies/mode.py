"""A policy together with the mode it runs in."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

from lab.contract.policy_spec import Mode, PolicySpec
from lab.policies.decision import Decision, decision_by
from lab.policies.policy import Policy
from lab.policies.registry import build_policy
from lab.policies.rule import Action, Rule, first_holding
from lab.policies.service_book import Samples
from lab.policies.snapshot import AdmissionRequest, Snapshot


@dataclass(frozen=True, slots=True)
class ModedPolicy:
    """A policy in a mode. off: no threshold can be reached; log_only: says what it would do and admits; enforce: does.

    Off is a huge threshold and nothing else: the same rules go the same way, so that one rehearses the other.
    """

    policy: Policy
    mode: Mode

    @classmethod
    def of(cls, spec: PolicySpec) -> Self:
        """The declared policy in its declared mode."""
        return cls(build_policy(spec), spec.mode)

    def informed(self, samples: Samples, waits_s: Sequence[float]) -> Self:
        """The same, once the policy knows these services and queue waits, newest first."""
        return replace(self, policy=self.policy.informed(samples, waits_s))

    def rules(self, request: AdmissionRequest) -> tuple[Rule, ...]:
        """The rules to evaluate; in mode off with thresholds out of reach."""
        rules = self.policy.rules(request)
        return tuple(rule.out_of_reach() for rule in rules) if self.mode == "off" else rules

    def mode_for(self, request: AdmissionRequest) -> Mode:
        """The mode this request is decided in: a policy that is cold for its class only logs."""
        return self.policy.acts_as(self.mode, request)

    def effect(self, rule: Rule, request: AdmissionRequest) -> Action | None:
        """What becomes of the request where this rule holds; None where that is only said."""
        return rule.action if self.mode_for(request) == "enforce" else None

    def decide(self, snapshot: Snapshot, request: AdmissionRequest) -> Decision:
        """What happens to the request, and what enforcing would do."""
        return self.decision_by(first_holding(self.rules(request), snapshot), snapshot, request)

    def decision_by(self, rule: Rule | None, snapshot: Snapshot, request: AdmissionRequest) -> Decision:
        """The decision where it is known already which rule held first, None where none did."""
        return decision_by(rule, snapshot, self.mode_for(request), self.policy.forecast(snapshot, request))
