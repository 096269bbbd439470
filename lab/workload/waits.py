"""The longest wait that each kind of policy lets come about at the heaviest load, and how it comes about. Fluid waits.

By the policy's kind, so that each needs only the keys that its kind declares.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from lab.contract.scenario import Scenario
from lab.contract.workload_spec import JobClass, UniformDeadline
from lab.workload.conditions import P95
from lab.workload.derive import seconds
from lab.workload.fluid import Instant
from lab.workload.jobs import longest_deadline_s

# An estimate that starts this much too low is worth a sentence.
COLD_RATIO = 0.9


@dataclass(frozen=True, slots=True)
class Wait:
    """Seconds of waiting in the queue, and the arithmetic in words."""

    seconds: float
    how: str


def bounded_wait(policy: Any, worst: Instant, scenario: Scenario) -> Wait:
    """The longest wait that an enforced policy's threshold lets come about."""
    if worst.load_ratio <= 1:
        return Wait(0.0, f"the load stays at {worst.load_ratio:.0%} of the slots, so no queue builds up for long")
    if policy.kind == "utilization":
        return Wait(0.0, _utilization_sentence(policy, worst))
    if worst.condition.service_rate_per_s == 0:
        return Wait(math.inf, "nothing is served while the model cannot be reached, so what is queued waits that long")
    find = _WAITS.get(policy.kind)
    return Wait(math.inf, "nothing bounds the wait") if find is None else find(policy, worst, scenario)


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
    margins = [
        (deadline_s - max(p95_s, policy.estimate.floor) - policy.margin, max(p95_s, policy.estimate.floor), deadline_s)
        for deadline_s, p95_s in _deadlines(worst, scenario)
    ]
    wait_s, estimate_s, deadline_s = max(margins)
    how = (
        f"a job is let in while {deadline_s:.2f} s - estimate {estimate_s:.2f} s - margin {policy.margin:.2f} s = "
        f"{seconds(max(wait_s, 0.0))} of waiting are left, the longest"
    )
    notes = [*_too_much_time(policy, scenario), *_cold_start(policy, worst, deadline_s)]
    return Wait(max(wait_s, 0.0), "; ".join([how, *notes]))


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


def _cold_start(policy: Any, worst: Instant, deadline_s: float) -> Iterator[str]:
    """What an estimate that starts at its floor lets in until it has learnt."""
    floor_s, needed, slots = policy.estimate.floor, policy.estimate.min_samples, worst.condition.slots
    mean_s, served = worst.condition.all_classes.mean_service_s, worst.condition.service_rate_per_s
    if not 0 < floor_s < COLD_RATIO * mean_s:
        return
    cold_s = needed / served
    believed = max(0.0, slots * (deadline_s - floor_s - policy.margin) / floor_s)
    admitted = min(worst.arrival_rate_per_s * cold_s, believed + needed + slots)
    yield (
        f"a cold estimator believes {floor_s:g} s until {needed} services are done, {seconds(cold_s)} at "
        f"{served:.2f}/s, and lets in about {admitted:.0f} jobs, which take {seconds(admitted / served)}: most miss, "
        "unless it is warmed"
    )


def _slack_v1_wait(policy: Any, worst: Instant, scenario: Scenario) -> Wait:
    margins = [
        (deadline_s - p95_s - policy.slack_floor, p95_s, deadline_s)
        for deadline_s, p95_s in _deadlines(worst, scenario)
    ]
    wait_s, p95_s, deadline_s = max(margins)
    never = [name for name, margin in zip(_names(worst), margins, strict=True) if margin[0] <= 0]
    note = f"; {', '.join(never)} never fits, so it is refused once the estimate knows" if never else ""
    return Wait(
        max(wait_s, 0.0),
        f"a job is let in while {deadline_s:g} s - its service {p95_s:.2f} s - floor {policy.slack_floor:g} s = "
        f"{seconds(max(wait_s, 0.0))} of work ahead are left, the longest{note}",
    )


def _names(worst: Instant) -> list[str]:
    return list(worst.condition.classes)


def _deadlines(worst: Instant, scenario: Scenario) -> list[tuple[float, float]]:
    """Per class its longest deadline and the p95 of its service, in seconds; infinite where it is not answered."""
    return [
        (longest_deadline_s(scenario.workload.classes[name]), endpoint.service_quantile_s(P95))
        for name, (endpoint, _) in worst.condition.classes.items()
    ]


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
