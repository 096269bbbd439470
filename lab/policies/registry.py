"""From a declared policy to the policy itself."""

from typing import assert_never

from lab.contract.policy_spec import (
    AgeOrFullPolicy,
    DeadlineSlackPolicy,
    Degrade,
    EstimateSpec,
    LowerThreshold,
    NoPolicy,
    PolicySpec,
    QueueAgePolicy,
    QueueDepthPolicy,
    SlackV1Policy,
    UtilizationPolicy,
)
from lab.policies.age_or_full import AgeOrFull
from lab.policies.deadline_slack import DeadlineSlack
from lab.policies.degrading import Degradation, Degrading
from lab.policies.estimate import Estimator
from lab.policies.none import AdmitAll
from lab.policies.policy import Policy
from lab.policies.queue_age import QueueAge
from lab.policies.queue_depth import QueueDepth
from lab.policies.service_book import ServiceBook
from lab.policies.slack_v1 import SlackV1
from lab.policies.utilization import Utilization

# The thresholds of all kinds: a signal above the first ones is too much, a slack below the second ones too little.
_BIND_FROM_ABOVE = ("max_age", "max_depth", "max_utilization", "depth_factor")
_BIND_FROM_BELOW = ("margin", "slack_floor")


def build_policy(spec: PolicySpec) -> Policy:
    """The policy that a spec declares."""
    policy = _shedding(spec).with_book(ServiceBook(_estimator(spec.estimate)))
    if isinstance(spec, NoPolicy) or spec.degrade is None:
        return policy
    degrade = spec.degrade
    degradation = Degradation(degrade.max_output_tokens, degrade.model, degrade.work_ratio)
    return Degrading.of(policy, _shedding(_earlier(spec, degrade)), degradation)


def _estimator(spec: EstimateSpec) -> Estimator:
    return Estimator(spec.percentile, spec.half_life, spec.samples, spec.min_samples, spec.floor)


def _shedding(spec: PolicySpec) -> Policy:  # noqa: PLR0911 - one for each kind
    match spec:
        case NoPolicy():
            return AdmitAll()
        case QueueAgePolicy():
            return QueueAge(spec.max_age)
        case QueueDepthPolicy():
            return QueueDepth(spec.max_depth)
        case UtilizationPolicy():
            return Utilization(spec.max_utilization)
        case DeadlineSlackPolicy():
            return DeadlineSlack(spec.margin, spec.max_slack, spec.wait)
        case SlackV1Policy():
            return SlackV1(spec.slack_floor)
        case AgeOrFullPolicy():
            return AgeOrFull(spec.max_age, spec.max_in_flight, spec.depth_factor)
        case _:
            assert_never(spec)


def _earlier(spec: PolicySpec, degrade: Degrade) -> PolicySpec:
    """The same policy with the threshold at which it degrades; that it may shed what has too much time stays behind."""
    thresholds = {name: _above(getattr(spec, name), degrade) for name in _BIND_FROM_ABOVE if hasattr(spec, name)}
    slacks = {name: _below(getattr(spec, name), degrade) for name in _BIND_FROM_BELOW if hasattr(spec, name)}
    guards = {"max_slack": None} if isinstance(spec, DeadlineSlackPolicy) else {}
    return spec.model_copy(update=thresholds | slacks | guards)


def _above(threshold: float, degrade: Degrade) -> float:
    """An earlier threshold where signals above it bind."""
    match degrade.at:
        case LowerThreshold():
            return degrade.at.duration
        case int():
            return degrade.at
        case _:
            return threshold * degrade.at


def _below(threshold: float, degrade: Degrade) -> float:
    """An earlier threshold where slack below it binds."""
    return degrade.at.duration if isinstance(degrade.at, LowerThreshold) else threshold / degrade.at
