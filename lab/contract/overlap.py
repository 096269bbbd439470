"""What holds where two faults act at once: they compose by a stated rule, or the scenario is refused. Pure.

An end takes away its own share only. Where one ends at the second at which another begins, they do not overlap.
"""

import math
from collections.abc import Callable, Sequence

from lab.contract.fault_spec import AnyFault, LatencyFault, ModelFault, PolicyFault, ProcessFault, ToxicFault

# Ends and starts are sums of decimal fractions, so they may miss each other by rounding; seconds.
ROUNDING_S = 1e-9
MOST_SLOW_FACTOR = 1000

# One rule a kind for two faults of that kind on one target; a test asks for a rule of every kind.
RULES: dict[str, str] = {
    "noop": "nothing happens, however many there are",
    "latency": "latencies add up; jitters by the root of the sum of their squares",
    "bandwidth": "refused",
    "slow_close": "refused",
    "timeout": "refused",
    "reset_peer": "refused",
    "slicer": "refused",
    "limit_data": "refused",
    "proxy_down": "the link is down while any acts",
    "model": "slow factors multiply, failure and stall ratios combine as 1 - (1 - a)(1 - b), the newest status wins",
    "process": "of scales the newest wins; everything else on one process is refused",
    "policy": "the newest wins",
    "route": "past the gate while any acts",
}


def overlap(one: AnyFault, other: AnyFault) -> bool:
    """Whether there is a time at which both act."""
    return min(one.end, other.end) - max(one.start, other.start) > ROUNDING_S


def refusal(one: AnyFault, other: AnyFault) -> str | None:
    """Why two faults must not act at once, such as `two bandwidth toxics sit on ...`; None where they may."""
    match one, other:
        case ToxicFault(), ToxicFault() if one.kind == other.kind:
            return _toxics(one, other)
        case ModelFault(), ModelFault() if set(one.classes) != set(other.classes):
            return "two model faults hit different classes at once; give both the same classes"
        case ProcessFault(), ProcessFault():
            return _processes(one, other)
        case (ModelFault(), ProcessFault(service="model")) | (ProcessFault(service="model"), ModelFault()):
            return "a model process that is killed, paused or restarted cannot be told to misbehave"
        case (PolicyFault(), ProcessFault(service="gate")) | (ProcessFault(service="gate"), PolicyFault()):
            return "a gate that is killed, paused or restarted cannot keep another policy"
        case _:
            return None


def newest_last(faults: Sequence[AnyFault]) -> list[AnyFault]:
    """By their start; of those that start together the one declared later is newer."""
    return sorted(faults, key=lambda fault: fault.start)


def composed_model(faults: Sequence[ModelFault]) -> ModelFault:
    """One fault that does what all of these do at once, newest last; at least one, all with the same classes."""
    failing = [fault for fault in faults if fault.failure_ratio > 0]
    return faults[-1].model_copy(
        update={
            "slow_factor": math.prod(fault.slow_factor for fault in faults),
            "failure_ratio": _any_of(faults, lambda fault: fault.failure_ratio),
            "stall_ratio": _any_of(faults, lambda fault: fault.stall_ratio),
            "status": (failing or faults)[-1].status,
        }
    )


def composed_latency(faults: Sequence[LatencyFault]) -> LatencyFault:
    """One delay as long as all of these; its jitter keeps the variance that independent ones have together."""
    return faults[-1].model_copy(
        update={
            "latency": sum(fault.latency for fault in faults),
            "jitter": math.hypot(*(fault.jitter for fault in faults)),
        }
    )


def _any_of(faults: Sequence[ModelFault], ratio: Callable[[ModelFault], float]) -> float:
    """How often at least one of independent things happens; exact where there is one."""
    if len(faults) == 1:
        return ratio(faults[0])
    return 1 - math.prod(1 - ratio(fault) for fault in faults)


def _toxics(one: ToxicFault, other: ToxicFault) -> str | None:
    if (one.link, one.stream) != (other.link, other.stream):
        return None
    if not isinstance(one, LatencyFault):
        return f"two toxics of one kind sit on the {one.link} link, {one.stream}, at once"
    if one.toxicity < 1 or other.toxicity < 1:
        return f"two latencies on the {one.link} link add up only where both have a toxicity of 100%"
    return None


def _processes(one: ProcessFault, other: ProcessFault) -> str | None:
    if one.service != other.service:
        return None
    scales = [one.action, other.action].count("scale")
    if scales == 1:
        return "the number of workers changes while a worker is killed, paused or restarted"
    if scales == 0 and one.index == other.index:
        return f"{one.service} {one.index} is hit by {one.action} and {other.action} at once"
    return None
