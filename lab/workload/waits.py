"""The longest wait that each kind of policy lets come about at the heaviest load, and how it comes about. Fluid waits.

By the policy's kind, so that each needs only the keys that its kind declares.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from lab.contract.scenario import Scenario
from lab.contract.workload_spec import JobClass, UniformDeadline
from lab.workload.conditions import P95, Condition
from lab.workload.derive import seconds
from lab.workload.fluid import Instant
from lab.workload.jobs import longest_deadline_s

# An estimate that starts this much too low is worth a sentence.
COLD_RATIO = 0.9


@dataclass(frozen=True, slots=True)
class Wait:
    """Seconds of waiting in the queue, and the arithmetic in words.

    `endpoint_s` is the endpoint's part in the SLO of the jobs that wait so long, where they are not of all classes.
    """

    seconds: float
    how: str
    endpoint_s: float | None = None


@dataclass(frozen=True, slots=True)
class _ClassWait:
    """How long a class's jobs may wait under a slack policy, and what that follows from; seconds."""

    name: str
    wait_s: float
    estimate_s: float
    deadline_s: float
    endpoint_s: float


def bounded_wait(policy: Any, worst: Instant, scenario: Scenario) -> Wait:
    """The longest wait that an enforced policy's threshold lets come about."""
    if worst.load_ratio <= 1:
        return Wait(0.0, f"the load stays at {worst.load_ratio:.0%} of the slots, so no queue builds up for long")
    if worst.condition.service_rate_per_s == 0:
        return Wait(math.inf, _outage_sentence(worst.condition))
    if policy.kind == "utilization":
        return Wait(0.0, _utilization_sentence(policy, worst))
    find = _WAITS.get(policy.kind)
    return Wait(math.inf, "nothing bounds the wait") if find is None else find(policy, worst, scenario)


def _outage_sentence(condition: Condition) -> str:
    why = "no slot serves" if condition.slots == 0 else "the model cannot be reached"
    return (
        f"nothing is served from second {condition.begin_s:g} to {condition.end_s:g}, where {why}, "
        "so what is queued waits that long"
    )


def _age_wait(policy: Any, worst: Instant, _scenario: Scenario) -> Wait:
    rate, served = worst.arrival_rate_per_s, worst.condition.service_rate_per_s
    wait_s = policy.max_age * rate / served
    return Wait(
        wait_s,
        f"until the head is {policy.max_age:g} s old all is admitted, so the queue holds {policy.max_age:g} s x "
        f"{rate:.2f}/s = {policy.max_age * rate:.0f} jobs, which at {served:.2f}/s wait up to {seconds(wait_s)}",
    )


def _depth_wait(policy: Any, worst: Instant, _scenario: Scenario) -> Wait:
    return _wait_of_depth(policy.max_depth, worst)


def _wait_of_depth(depth: int, worst: Instant) -> Wait:
    served = worst.condition.service_rate_per_s
    wait_s = (depth + 1) / served
    return Wait(
        wait_s,
        f"{depth + 1} jobs at {served:.2f}/s are a wait of {seconds(wait_s)} "
        f"({depth} are {seconds(depth / served)}, whatever else happens)",
    )


def _age_or_full_wait(policy: Any, worst: Instant, scenario: Scenario) -> Wait:
    age = _age_wait(policy, worst, scenario)
    depth = math.floor(policy.depth_factor * policy.max_in_flight)
    full = _wait_of_depth(depth, worst)
    first, other, word = (full, age, "depth") if full.seconds <= age.seconds else (age, full, "age")
    return Wait(first.seconds, f"its {word} binds first: {first.how}, and by the other rule {seconds(other.seconds)}")


def _deadline_slack_wait(policy: Any, worst: Instant, scenario: Scenario) -> Wait:
    longest = _longest(_class_waits(worst, scenario, policy.margin, policy.estimate.floor))
    how = (
        f"a job is let in while {longest.deadline_s:.2f} s - estimate {longest.estimate_s:.2f} s - margin "
        f"{policy.margin:.2f} s = {seconds(longest.wait_s)} of waiting are left, the longest"
    )
    cold = None if _is_warmed(policy, scenario) else _cold_start(policy, worst, longest.deadline_s)
    notes = [*_too_much_time(policy, scenario), *([] if cold is None else [cold.how])]
    wait_s = max(longest.wait_s, 0.0 if cold is None else cold.seconds)
    return Wait(wait_s, "; ".join([how, *notes]), longest.endpoint_s)


def _too_much_time(policy: Any, scenario: Scenario) -> Iterator[str]:
    if policy.max_slack is None:
        return
    classes = [each for each in scenario.workload.classes.values() if each.weight > 0]
    refused = sum(each.weight * _share_above(each, policy.max_slack) for each in classes)
    share = refused / sum(each.weight for each in classes)
    yield (
        f"max_slack {policy.max_slack:g} s refuses {share:.0%} of the requests for having too much time, "
        "those that could wait the longest"
    )


def _share_above(job_class: JobClass, limit_s: float) -> float:
    deadline = job_class.deadline
    if not isinstance(deadline, UniformDeadline):
        return float(deadline > limit_s)
    if deadline.high <= limit_s:
        return 0.0
    return min(1.0, (deadline.high - limit_s) / (deadline.high - deadline.low or math.inf))


def _is_warmed(policy: Any, scenario: Scenario) -> bool:
    """Whether every arm of this very policy is given the samples that its estimator asks for."""
    letters = [letter for letter, declared in scenario.policies.items() if declared is policy]
    return bool(letters) and all(scenario.warms(letter) >= policy.estimate.min_samples for letter in letters)


def _cold_start(policy: Any, worst: Instant, deadline_s: float) -> Wait | None:
    """What an estimate that starts at its floor lets in until it has learnt; None where it starts near the truth."""
    floor_s, needed, slots = policy.estimate.floor, policy.estimate.min_samples, worst.condition.slots
    mean_s, served = worst.condition.all_classes.mean_service_s, worst.condition.service_rate_per_s
    if worst.condition.begin_s > 0 or not 0 < floor_s < COLD_RATIO * mean_s:
        return None
    cold_s = needed / served
    believed = max(0.0, slots * (deadline_s - floor_s - policy.margin) / floor_s)
    admitted = min(worst.arrival_rate_per_s * cold_s, believed + needed + slots)
    return Wait(
        admitted / served,
        f"a cold estimator believes {floor_s:g} s until {needed} services are done, {seconds(cold_s)} at "
        f"{served:.2f}/s, and lets in about {admitted:.0f} jobs, which take {seconds(admitted / served)}: most miss, "
        "where a warmed one would know",
    )


def _slack_v1_wait(policy: Any, worst: Instant, scenario: Scenario) -> Wait:
    classes = _class_waits(worst, scenario, policy.slack_floor, 0.0)
    longest = _longest(classes)
    never = [each.name for each in classes if each.wait_s <= 0]
    note = f"; {', '.join(never)} never fits, so it is refused once the estimate knows" if never else ""
    return Wait(
        longest.wait_s,
        f"a job is let in while {longest.deadline_s:g} s - its service {longest.estimate_s:.2f} s - floor "
        f"{policy.slack_floor:g} s = {seconds(longest.wait_s)} of work ahead are left, the longest{note}",
        longest.endpoint_s,
    )


def _class_waits(worst: Instant, scenario: Scenario, margin_s: float, floor_s: float) -> list[_ClassWait]:
    """What each class's latest deadline leaves for waiting, with a p95 of its service, at least a floor, expected."""
    found = []
    for name, (endpoint, _) in worst.condition.classes.items():
        deadline_s = longest_deadline_s(scenario.workload.classes[name])
        estimate_s = max(endpoint.service_quantile_s(P95), floor_s)
        share = scenario.slo.percentile / 100
        first = scenario.slo.measure == "ttft"
        part_s = endpoint.first_token_quantile_s(share) if first else endpoint.service_quantile_s(share)
        found.append(_ClassWait(name, max(deadline_s - estimate_s - margin_s, 0.0), estimate_s, deadline_s, part_s))
    return found


def _longest(classes: list[_ClassWait]) -> _ClassWait:
    """The class whose jobs end latest; one that is never let in ends never."""
    let_in = [each for each in classes if each.wait_s > 0] or classes
    return max(let_in, key=lambda each: each.wait_s + each.endpoint_s)


def _utilization_sentence(policy: Any, worst: Instant) -> str:
    return (
        f"slots are kept {policy.max_utilization:.0%} busy, so no queue stands, and at least "
        f"{1 - policy.max_utilization / worst.load_ratio:.0%} is shed where {1 - 1 / worst.load_ratio:.0%} would do"
    )


_WAITS: dict[str, Callable[[Any, Instant, Scenario], Wait]] = {
    "queue_age": _age_wait,
    "queue_depth": _depth_wait,
    "age_or_full": _age_or_full_wait,
    "deadline_slack": _deadline_slack_wait,
    "slack_v1": _slack_v1_wait,
}
