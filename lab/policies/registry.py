"""From a declared policy to the policy itself."""

from typing import assert_never

from lab.contract.policy_spec import NoPolicy, PolicySpec, QueueAgePolicy, QueueDepthPolicy, UtilizationPolicy
from lab.policies.none import AdmitAll
from lab.policies.policy import Policy
from lab.policies.queue_age import QueueAge
from lab.policies.queue_depth import QueueDepth
from lab.policies.utilization import Utilization


def build_policy(spec: PolicySpec) -> Policy:
    """The policy that a spec declares."""
    match spec:
        case NoPolicy():
            return AdmitAll()
        case QueueAgePolicy():
            return QueueAge(spec.max_age)
        case QueueDepthPolicy():
            return QueueDepth(spec.max_depth)
        case UtilizationPolicy():
            return Utilization(spec.max_utilization)
        case _:
            assert_never(spec)
