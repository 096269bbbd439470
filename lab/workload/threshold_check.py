"""Whether each policy's own threshold can meet the SLO, and the arithmetic as a sentence. All waits are of fluid."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from lab.contract.messages import ScheduledRequest
from lab.contract.policy_spec import NoPolicy, PolicySpec, QueueAgePolicy, QueueDepthPolicy, UtilizationPolicy
from lab.contract.scenario import Scenario
from lab.workload.conditions import conditions_of
from lab.workload.fluid import Instant, Unshed, admit_all

# An age limit is sound up to this load; above it, it must shrink (DRILLS, drill 3).
SOUND_LOAD_RATIO = 1.5
# What a load may be off the declared one by the shape of its distribution alone.
LOAD_TOLERANCE = 1.02
AGE_SHARES = (0.60, 0.70)


@dataclass(frozen=True, slots=True)
class PolicyForecast:
    """What arithmetic says of one policy: its longest wait, with the endpoint's part, and whether the SLO can hold."""

    letter: str
    peak_wait_s: float
    peak_measure_s: float
    can_meet_slo: bool
    sentence: str


@dataclass(frozen=True, slots=True)
class AgeLimit:
    """The bounds of an age limit by the rule, and how they come about."""

    lowest_s: float
    highest_s: float
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
    endpoint_s = _worst_endpoint_s(scenario, requests)
    return tuple(
        _forecast(letter, policy, scenario, unshed, endpoint_s) for letter, policy in scenario.policies.items()
    )


def _worst_endpoint_s(scenario: Scenario, requests: Sequence[ScheduledRequest]) -> float:
    """The endpoint's part in the SLO at its largest in the SLO's phases."""
    windows = [window for phase, window in scenario.phase_windows().items() if phase in scenario.slo.phases]
    return max(
        (
            condition.measure_s(scenario.slo)
            for condition in conditions_of(scenario, requests)
            if any(condition.begin_s < end_s and condition.end_s > begin_s for begin_s, end_s in windows)
        ),
        default=0.0,
    )


def _forecast(letter: str, policy: PolicySpec, scenario: Scenario, unshed: Unshed, endpoint_s: float) -> PolicyForecast:
    peaks = [peak for phase, peak in unshed.peaks.items() if phase in scenario.slo.phases]
    unshed_s = max((peak.wait_s for peak in peaks), default=0.0)
    if isinstance(policy, NoPolicy) or policy.mode != "enforce":
        wait = _Wait(unshed_s, f"nothing is shed, so the wait peaks near {_seconds(unshed_s)}")
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
        f"with the endpoint's p{slo.percentile:g} of {_seconds(endpoint_s)} that makes {_seconds(total_s)}, "
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
        return _Wait(wait_s, f"{policy.max_depth + 1} jobs at {served:.2f}/s are a wait of {_seconds(wait_s)}")
    return _Wait(math.inf, "nothing bounds the wait")


def _age_wait(policy: QueueAgePolicy, worst: Instant) -> _Wait:
    rate, served = worst.arrival_rate_per_s, worst.condition.service_rate_per_s
    wait_s = policy.max_age * rate / served
    return _Wait(
        wait_s,
        f"until the head is {policy.max_age:g} s old all is admitted, so the queue holds {policy.max_age:g} s x "
        f"{rate:.2f}/s = {policy.max_age * rate:.0f} jobs, which at {served:.2f}/s wait up to {_seconds(wait_s)}",
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
    return _Wait(unshed_s, f"{wait.how}, though with nothing shed none waits longer than {_seconds(unshed_s)}")


def derived_age_limit(scenario: Scenario, requests: Sequence[ScheduledRequest] = ()) -> AgeLimit | None:
    """The age limit that the threshold rule gives; None of a replay without `requests`, its schedule.

    Slack is the SLO less the endpoint's part at its largest; 60 to 70 % of it; above 1.5 x capacity no more than
    slack x capacity / arrival rate (DRILLS, drill 3).
    """
    unshed = admit_all(scenario, requests)
    if unshed is None:
        return None
    within, endpoint_s = scenario.slo.within, _worst_endpoint_s(scenario, requests)
    if endpoint_s >= within:
        return AgeLimit(0.0, 0.0, f"none holds, for the endpoint alone takes {_seconds(endpoint_s)} of {within:g} s")
    slack_s = within - endpoint_s
    low_s, high_s = (share * slack_s for share in AGE_SHARES)
    words = (
        f"slack {within:g} s - {endpoint_s:.2f} s = {slack_s:.2f} s, of which 60 to 70 % are "
        f"{low_s:.2f} to {high_s:.2f} s"
    )
    load = unshed.worst.load_ratio
    if load > SOUND_LOAD_RATIO * LOAD_TOLERANCE:
        cap_s = slack_s / load
        low_s, high_s = min(low_s, cap_s), min(high_s, cap_s)
        words += f"; at {load:.1f} x capacity no more than {slack_s:.2f} s / {load:.1f} = {cap_s:.2f} s"
    return AgeLimit(low_s, high_s, words)


def _seconds(seconds: float) -> str:
    """A time as a sentence gives it."""
    if math.isinf(seconds):
        return "for ever"
    return f"{seconds:.2f} s" if seconds < 1 else f"{seconds:.1f} s"
