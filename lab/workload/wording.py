"""The capacity check as a whole, and in sentences for the terminal and the report."""

from collections.abc import Sequence
from dataclasses import dataclass

from lab.contract.messages import ScheduledRequest
from lab.contract.scenario import Claim, Scenario
from lab.workload.capacity import ClassLoad, PhaseLoad, phase_loads
from lab.workload.claims import ClaimCheck, check_claims
from lab.workload.conditions import conditions_of, gaps_of
from lab.workload.derive import AgeLimit, derived_age_limit
from lab.workload.overload import overload_lines
from lab.workload.threshold_check import PolicyForecast, forecast

UNKNOWN = "a recording's rate and sizes are not declared, so nothing can be said before its file is read"

# Less than this rounds to 0 %.
LEAST_SHOWN = 0.005


@dataclass(frozen=True, slots=True)
class CapacityCheck:
    """What arithmetic says of a scenario before it is run. Empty for a replay whose schedule was not given."""

    phases: tuple[PhaseLoad, ...]
    gaps: tuple[str, ...]
    overload: tuple[str, ...]
    policies: tuple[PolicyForecast, ...]
    age_limit: AgeLimit | None
    claims: tuple[tuple[str, ClaimCheck], ...]


def check_capacity(scenario: Scenario, requests: Sequence[ScheduledRequest] = ()) -> CapacityCheck:
    """The check of a scenario as it will be played; a replay is judged by `requests`, its schedule."""
    checked = check_claims(scenario, requests)
    return CapacityCheck(
        phases=phase_loads(scenario, requests),
        gaps=tuple(gap.sentence for gap in gaps_of(conditions_of(scenario, requests))),
        overload=tuple(overload_lines(scenario, requests)),
        policies=forecast(scenario, requests),
        age_limit=derived_age_limit(scenario, requests),
        claims=tuple((_claim_words(claim), check) for claim, check in zip(scenario.claims, checked, strict=False)),
    )


def capacity_lines(scenario: Scenario, requests: Sequence[ScheduledRequest] = ()) -> list[str]:
    """The lines of a scenario's check."""
    return lines(check_capacity(scenario, requests))


def lines(check: CapacityCheck) -> list[str]:
    """A sentence per phase and per class of it where there are several, on overload, per policy, on the age limit.

    And one per claim that arithmetic rules out.
    """
    if check.age_limit is None:
        return [UNKNOWN]
    return [
        *(line for load in check.phases for line in _phase_lines(load)),
        *check.gaps,
        *check.overload,
        *(policy.sentence for policy in check.policies),
        f"an age limit by the rule: {check.age_limit.sentence}",
        *(f"{words}: ruled out by capacity: {each.sentence}" for words, each in check.claims if each.ruled_out),
    ]


def _claim_words(claim: Claim) -> str:
    return f"claim, {claim.policy} {claim.measure} {claim.value:g} in {claim.phase}"


def _phase_lines(load: PhaseLoad) -> list[str]:
    classes = [_class_line(load, each) for each in load.classes] if len(load.classes) > 1 else []
    return [_phase_line(load), *classes]


def _phase_line(load: PhaseLoad) -> str:
    work = (
        f"{load.phase}: {load.arrival_rate_per_s:.2f}/s x {load.mean_service_s:.2f} s = "
        f"{load.offered_slots:.1f} slots of work for {load.slots:.3g} slots"
    )
    # A mean hides the seconds without any.
    changes = load.least_slots < load.slots
    if changes:
        work += f" in the mean, {load.least_slots} at the least"
    if load.served_ratio < 1:
        work += f", of which {load.served_ratio:.0%} can be answered"
    if load.away_ratio >= LEAST_SHOWN:
        return f"{work}; {load.away_ratio:.0%} of the requests are due while nobody is answered"
    if load.load_ratio == float("inf"):
        return f"{work}; all of it must be shed or late"
    shed = load.unavoidable_shed_ratio
    said = f"at least {shed:.0%} of the work must be shed or late" if shed >= LEAST_SHOWN else "all of it can be done"
    if changes and shed < LEAST_SHOWN:
        said = "all of it can be done by the mean alone"
    return f"{work} ({load.load_ratio:.0%}); {said}"


def _class_line(load: PhaseLoad, each: ClassLoad) -> str:
    share = each.offered_slots / load.offered_slots if load.offered_slots else 0.0
    late = f"; never done by its deadline of {each.deadline_s:g} s, wait or no wait" if each.never_in_time else ""
    return (
        f"{load.phase}, {each.job_class}: {each.share_ratio:.0%} of the requests at {each.mean_service_s:.2f} s "
        f"(p95 {each.p95_service_s:.2f} s) are {each.offered_slots:.1f} slots, {share:.0%} of the work{late}"
    )
