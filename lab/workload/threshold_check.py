"""Whether each policy's own threshold can meet the SLO, and the arithmetic as a sentence. All waits are of fluid."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from lab.contract.messages import ScheduledRequest
from lab.contract.policy_spec import NoPolicy, PolicySpec, QueueAgePolicy, QueueDepthPolicy, UtilizationPolicy
from lab.contract.scenario import Scenario
from lab.workload.derive import seconds, worst_endpoint_s
from lab.workload.fluid import Instant, Unshed, admit_all


@dataclass(frozen=True, slots=True)
class PolicyForecast:
    """What arithmetic says of one policy: its longest wait, with the endpoint's part, and whether the SLO can hold."""

    letter: str
    peak_wait_s: float
    peak_measure_s: float
    can_meet_slo: bool
    sentence: str


@dataclass(frozen=True, slots=True)
class _Wait:
    seconds: float
    how: str


def forecast(scenario: Scenario, requests: Sequence[ScheduledRequest] = ()) -> tuple[PolicyForecast, ...]:
    """A forecast per declared policy, for the SLO's phases; none of a replay without `requests`, its schedule."""
    unshed = admit_all(scenario, requests)
    if unshed is None:
        return ()
    endpoint_s = worst_endpoint_s(scenario, requests)
    return tuple(
        _forecast(letter, policy, scenario, unshed, endpoint_s) for letter, policy in scenario.policies.items()
    )


def _forecast(letter: str, policy: PolicySpec, scenario: Scenario, unshed: Unshed, endpoint_s: float) -> PolicyForecast:
    peaks = [peak for phase, peak in unshed.peaks.items() if phase in scenario.slo.phases]
    unshed_s = max((peak.wait_s for peak in peaks), default=0.0)
    if isinstance(policy, NoPolicy) or policy.mode != "enforce":
        wait = _Wait(unshed_s, f"nothing is shed, so the wait peaks near {seconds(unshed_s)}")
        total_s = max((peak.measure_s for peak in peaks), default=endpoint_s)
    else:
        wait = _capped(_bounded_wait(policy, unshed.worst), unshed_s)
        total_s = wait.seconds + endpoint_s
    meets = total_s <= scenario.slo.within
    sentence = f"{letter} {policy.kind}: {wait.how}; {_against_slo(scenario, endpoint_s, total_s)}"
    return PolicyForecast(letter, wait.seconds, total_s, meets, sentence)


def _against_slo(scenario: Scenario, endpoint_s: float, total_s: float) -> str:
    slo = scenario.slo
    if math.isinf(endpoint_s):
        return f"too few jobs are answered at all, which cannot meet the SLO of {slo.within:g} s"
    return (
        f"with the endpoint's p{slo.percentile:g} of {seconds(endpoint_s)} that makes {seconds(total_s)}, "
        f"which {'can' if total_s <= slo.within else 'cannot'} meet the SLO of {slo.within:g} s"
    )


def _bounded_wait(policy: PolicySpec, worst: Instant) -> _Wait:
    """The longest wait that a policy's threshold lets come about at the heaviest load."""
    served = worst.condition.service_rate_per_s
    if worst.load_ratio <= 1:
        return _Wait(0.0, f"the load stays at {worst.load_ratio:.0%} of the slots, so no queue builds up for long")
    if isinstance(policy, UtilizationPolicy):
        return _Wait(0.0, _utilization_sentence(policy, worst))
    if served == 0:
        return _Wait(math.inf, "nothing is served while the model cannot be reached, so what is queued waits that long")
    if isinstance(policy, QueueAgePolicy):
        return _age_wait(policy, worst)
    if isinstance(policy, QueueDepthPolicy):
        wait_s = (policy.max_depth + 1) / served
        return _Wait(wait_s, f"{policy.max_depth + 1} jobs at {served:.2f}/s are a wait of {seconds(wait_s)}")
    return _Wait(math.inf, "nothing bounds the wait")


def _age_wait(policy: QueueAgePolicy, worst: Instant) -> _Wait:
    rate, served = worst.arrival_rate_per_s, worst.condition.service_rate_per_s
    wait_s = policy.max_age * rate / served
    return _Wait(
        wait_s,
        f"until the head is {policy.max_age:g} s old all is admitted, so the queue holds {policy.max_age:g} s x "
        f"{rate:.2f}/s = {policy.max_age * rate:.0f} jobs, which at {served:.2f}/s wait up to {seconds(wait_s)}",
    )


def _utilization_sentence(policy: UtilizationPolicy, worst: Instant) -> str:
    return (
        f"slots are kept {policy.max_utilization:.0%} busy, so no queue stands, and at least "
        f"{1 - policy.max_utilization / worst.load_ratio:.0%} is shed where {1 - 1 / worst.load_ratio:.0%} would do"
    )


def _capped(wait: _Wait, unshed_s: float) -> _Wait:
    """No policy makes a job wait longer than admitting all would."""
    if wait.seconds <= unshed_s:
        return wait
    return _Wait(unshed_s, f"{wait.how}, though with nothing shed none waits longer than {seconds(unshed_s)}")
