"""Whether each policy's own threshold can meet the SLO, and the arithmetic as a sentence. All waits are of fluid."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from lab.contract.messages import ScheduledRequest
from lab.contract.policy_spec import NoPolicy, PolicySpec
from lab.contract.scenario import Scenario
from lab.workload.conditions import Gap, conditions_of, gaps_of
from lab.workload.derive import seconds, worst_endpoint_s
from lab.workload.fluid import Unshed, admit_all
from lab.workload.waits import Wait, bounded_wait


@dataclass(frozen=True, slots=True)
class PolicyForecast:
    """What arithmetic says of one policy: its longest wait, with the endpoint's part, and whether the SLO can hold.

    `how` is the part of the sentence that works out the wait.
    """

    letter: str
    peak_wait_s: float
    peak_measure_s: float
    can_meet_slo: bool
    sentence: str
    how: str


def forecast(scenario: Scenario, requests: Sequence[ScheduledRequest] = ()) -> tuple[PolicyForecast, ...]:
    """A forecast per declared policy, for the SLO's phases; none of a replay without `requests`, its schedule."""
    unshed = admit_all(scenario, requests)
    if unshed is None:
        return ()
    endpoint_s = worst_endpoint_s(scenario, requests)
    gaps = gaps_of(conditions_of(scenario, requests))
    return tuple(
        _forecast(letter, policy, scenario, unshed, endpoint_s, gaps=gaps)
        for letter, policy in scenario.policies.items()
    )


def _forecast(
    letter: str, policy: PolicySpec, scenario: Scenario, unshed: Unshed, endpoint_s: float, *, gaps: Sequence[Gap]
) -> PolicyForecast:
    peaks = [peak for phase, peak in unshed.peaks.items() if phase in scenario.slo.phases]
    unshed_s = max((peak.wait_s for peak in peaks), default=0.0)
    if isinstance(policy, NoPolicy) or policy.mode != "enforce":
        peak = "lasts for ever" if math.isinf(unshed_s) else f"peaks near {seconds(unshed_s)}"
        wait = Wait(unshed_s, f"nothing is shed, so the wait {peak}")
        total_s = max((peak.measure_s for peak in peaks), default=endpoint_s)
    else:
        wait = _capped(bounded_wait(policy, unshed.worst, scenario), unshed_s)
        endpoint_s = endpoint_s if wait.endpoint_s is None else wait.endpoint_s
        total_s = wait.seconds + endpoint_s
    meets = total_s <= scenario.slo.within
    said = [*(gap.sentence for gap in gaps), wait.how, _against_slo(scenario, endpoint_s, total_s)]
    if gaps:
        said.append("said only of those who are answered")
    sentence = f"{letter} {policy.kind}: {'; '.join(said)}"
    return PolicyForecast(letter, wait.seconds, total_s, meets, sentence, wait.how)


def _against_slo(scenario: Scenario, endpoint_s: float, total_s: float) -> str:
    slo = scenario.slo
    if math.isinf(endpoint_s):
        return f"too few jobs are answered at all, which cannot meet the SLO of {slo.within:g} s"
    if math.isinf(total_s):
        return f"what is queued is never served, which cannot meet the SLO of {slo.within:g} s"
    return (
        f"with the endpoint's p{slo.percentile:g} of {seconds(endpoint_s)} that makes {seconds(total_s)}, "
        f"which {'can' if total_s <= slo.within else 'cannot'} meet the SLO of {slo.within:g} s"
    )


def _capped(wait: Wait, unshed_s: float) -> Wait:
    """No policy makes a job wait longer than admitting all would."""
    if wait.seconds <= unshed_s:
        return wait
    return replace(
        wait, seconds=unshed_s, how=f"{wait.how}, though with nothing shed none waits longer than {seconds(unshed_s)}"
    )
