"""Whether each policy's own threshold can meet the SLO, phase by phase, with the arithmetic as a sentence.

All waits are of a fluid queue: work flows in at the arrival rate and out at slots over mean service time.
"""

from dataclasses import dataclass

from lab.contract.policy_spec import NoPolicy, PolicySpec, QueueAgePolicy, QueueDepthPolicy, UtilizationPolicy
from lab.contract.scenario import Scenario
from lab.workload.capacity import PhaseLoad, phase_loads

# An age limit is sound up to this load; above it, it must shrink (DRILLS, drill 3).
SOUND_LOAD_RATIO = 1.5
AGE_SHARES = (0.60, 0.70)


@dataclass(frozen=True, slots=True)
class PolicyForecast:
    """What arithmetic says of one policy: its longest wait, and whether the SLO can hold with it."""

    letter: str
    peak_wait_s: float
    can_meet_slo: bool
    sentence: str


def forecast(scenario: Scenario) -> tuple[PolicyForecast, ...]:
    """A forecast per declared policy, from its worst phase."""
    loads = phase_loads(scenario)
    return tuple(_forecast(letter, policy, loads, scenario) for letter, policy in scenario.policies.items())


def _forecast(letter: str, policy: PolicySpec, loads: tuple[PhaseLoad, ...], scenario: Scenario) -> PolicyForecast:
    worst = max(loads, key=lambda load: load.load_ratio)
    wait, how = _peak_wait(policy, worst, loads)
    endpoint = worst.p95_first_token_s if scenario.slo.measure == "ttft" else worst.p95_service_s
    total = wait + endpoint
    meets = total <= scenario.slo.within
    verdict = "can meet" if meets else "cannot meet"
    sentence = (
        f"{letter} {policy.kind}: {how}; with the endpoint's p95 of {endpoint:.2f} s that makes {total:.1f} s, "
        f"which {verdict} the SLO of {scenario.slo.within:g} s"
    )
    return PolicyForecast(letter, wait, meets, sentence)


def _peak_wait(policy: PolicySpec, worst: PhaseLoad, loads: tuple[PhaseLoad, ...]) -> tuple[float, str]:
    """The longest wait and how it comes about."""
    unbounded = unshed_peak_wait(loads)
    overloaded = worst.load_ratio > 1
    if isinstance(policy, NoPolicy) or policy.mode != "enforce":
        return unbounded, f"nothing is shed, so the wait peaks near {unbounded:.1f} s"
    if not overloaded:
        return 0.0, f"the load stays at {worst.load_ratio:.0%} of the slots, so no queue builds up for long"
    if isinstance(policy, QueueAgePolicy):
        wait = min(unbounded, policy.max_age * worst.arrival_rate_per_s / worst.service_rate_per_s)
        return wait, (
            f"until the head is {policy.max_age:g} s old all is admitted, so the queue holds "
            f"{policy.max_age * worst.arrival_rate_per_s:.0f} jobs and the wait peaks near {wait:.1f} s"
        )
    if isinstance(policy, QueueDepthPolicy):
        wait = min(unbounded, (policy.max_depth + 1) / worst.service_rate_per_s)
        return wait, f"{policy.max_depth + 1} jobs at {worst.service_rate_per_s:.2f}/s are a wait of {wait:.1f} s"
    return 0.0, _utilization_sentence(policy, worst)


def _utilization_sentence(policy: UtilizationPolicy, worst: PhaseLoad) -> str:
    return (
        f"slots are kept {policy.max_utilization:.0%} busy, so no queue builds up, and at least "
        f"{max(0.0, 1 - policy.max_utilization / worst.load_ratio):.0%} is shed where "
        f"{worst.unavoidable_shed_ratio:.0%} would do"
    )


def unshed_peak_wait(loads: tuple[PhaseLoad, ...]) -> float:
    """The longest wait if everything is admitted, first in first out.

    A job due at t waits until the work before it is done, at the service rate of the time it is served in: walked
    phase by phase, with the count in the queue as fluid.
    """
    queue, peak = 0.0, 0.0
    for number, load in enumerate(loads):
        steps = 200
        step_s = (load.end_s - load.begin_s) / steps
        for step in range(steps):
            queue = max(0.0, queue + (load.arrival_rate_per_s - load.service_rate_per_s) * step_s)
            peak = max(peak, _time_to_serve(queue, load.end_s - load.begin_s - (step + 1) * step_s, loads[number:]))
    return peak


def _time_to_serve(queue: float, left_in_phase_s: float, loads: tuple[PhaseLoad, ...]) -> float:
    """How long the queue takes, at this phase's service rate for what is left of it, then at the following ones'."""
    waited = 0.0
    for number, load in enumerate(loads):
        length_s = left_in_phase_s if number == 0 else load.end_s - load.begin_s
        last = number == len(loads) - 1
        if last or queue <= load.service_rate_per_s * length_s:
            return waited + queue / load.service_rate_per_s
        queue -= load.service_rate_per_s * length_s
        waited += length_s
    return waited


def derived_age_limits(scenario: Scenario) -> tuple[float, float, str]:
    """(lowest, highest, arithmetic) of the age limit that the threshold rule gives, in seconds.

    Slack is the SLO less the endpoint's p95 in the worst phase; 60 to 70 % of it; above 1.5 x capacity no more than
    slack x capacity / arrival rate (DRILLS, drill 3).
    """
    worst = max(phase_loads(scenario), key=lambda load: load.load_ratio)
    endpoint = worst.p95_first_token_s if scenario.slo.measure == "ttft" else worst.p95_service_s
    slack = max(0.0, scenario.slo.within - endpoint)
    low, high = (share * slack for share in AGE_SHARES)
    words = (
        f"slack {scenario.slo.within:g} s - {endpoint:.2f} s = {slack:.2f} s, "
        f"of which 60 to 70 % are {low:.2f} to {high:.2f} s"
    )
    if worst.load_ratio > SOUND_LOAD_RATIO * 1.02:
        cap = slack / worst.load_ratio
        low, high = min(low, cap), min(high, cap)
        words += (
            f"; at {worst.load_ratio:.1f} x capacity no more than {slack:.2f} s / {worst.load_ratio:.1f} = {cap:.2f} s"
        )
    return low, high, words
