"""A, none: every request is admitted.

    admit always

Source: the control arm of DRILLS.md section 3; what a queue without admission control does.
"""

from dataclasses import dataclass

from lab.policies.policy import Policy
from lab.policies.rule import Rule
from lab.policies.snapshot import AdmissionRequest


@dataclass(frozen=True, slots=True)
class AdmitAll(Policy):
    """Admits everything."""

    def rules(self, request: AdmissionRequest) -> tuple[Rule, ...]:  # noqa: ARG002 - no request is treated differently
        """No rules."""
        return ()
