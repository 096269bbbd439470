"""How numbers and names read, on the page and in the terminal."""

import math

from lab.contract.policy_spec import (
    AgeOrFullPolicy,
    DeadlineSlackPolicy,
    LowerThreshold,
    NoPolicy,
    PolicySpec,
    QueueAgePolicy,
    QueueDepthPolicy,
    SlackV1Policy,
    ThresholdPolicy,
    UtilizationPolicy,
)
from lab.contract.scenario import Scenario

NOTHING = "–"  # noqa: RUF001 - an en dash is how tables say "no value"
INFINITE = "∞"
MEASURE_WORDS = {"ttft": "time to first token", "turnaround": "turnaround"}
_UNIT_WORDS = {"s": " s", "per_s": "/s", "slot_s": " s", "count": "", "ratio": " %", "factor": " x"}


def measured(value: float | None, unit: str) -> str:
    """A number with its unit: `1.23 s`, `12.3 %`, `∞`, and a dash for nothing."""
    if value is None or math.isnan(value):
        return NOTHING
    if math.isinf(value):
        return INFINITE if value > 0 else f"-{INFINITE}"
    return figure(value, unit) + _UNIT_WORDS[unit]


def figure(value: float, unit: str) -> str:
    """A finite number alone, to as many places as its unit deserves."""
    if unit == "count":
        return f"{value:,.1f}".removesuffix(".0")
    if unit == "ratio":
        return f"{100 * value:.1f}"
    return f"{value:,.2f}" if abs(value) < 100 else f"{value:,.0f}"  # noqa: PLR2004 - three digits say enough


def signed(value: float | None, unit: str) -> str:
    """A difference, with its sign in front; `±` where it is too small to show."""
    if value is None or math.isnan(value):
        return NOTHING
    size = INFINITE if math.isinf(value) else figure(abs(value), unit)
    shows = any(digit in size for digit in f"123456789{INFINITE}")
    sign = "±" if not shows else "+" if value > 0 else "−"  # noqa: RUF001 - a true minus, as wide as the plus
    return f"{sign}{size}{' pt' if unit == 'ratio' else _UNIT_WORDS[unit]}"


def slo_words(scenario: Scenario) -> str:
    """The SLO's subject, such as `p95 time to first token`."""
    return f"p{scenario.slo.percentile:g} {MEASURE_WORDS[scenario.slo.measure]}"


def policy_words(policy: PolicySpec) -> str:
    """What a policy does, in a few words."""
    match policy:
        case NoPolicy():
            return "admits everything"
        case QueueAgePolicy():
            words = f"sheds while the queue is older than {policy.max_age:g} s"
        case QueueDepthPolicy():
            words = f"sheds while more than {policy.max_depth} are queued"
        case UtilizationPolicy():
            words = f"sheds while utilization is above {100 * policy.max_utilization:g} %"
        case DeadlineSlackPolicy():
            words = _deadline_slack_words(policy)
        case SlackV1Policy():
            words = f"sheds what is projected to be done less than {policy.slack_floor:g} s before its deadline"
        case AgeOrFullPolicy():
            most = policy.depth_factor * policy.max_in_flight
            full = f"{policy.max_in_flight} are in flight and more than {most:g} queued"
            words = f"sheds while the queue is older than {policy.max_age:g} s, or while {full}"
    return words + _degrade_words(policy)


def _deadline_slack_words(policy: DeadlineSlackPolicy) -> str:
    wait = "measured" if policy.wait == "measured" else "reckoned"
    words = f"sheds what its estimate and the {wait} wait leave less than {policy.margin:g} s before its deadline"
    return words if policy.max_slack is None else f"{words}, and what has more than {policy.max_slack:g} s"


def _degrade_words(policy: ThresholdPolicy) -> str:
    if policy.degrade is None:
        return ""
    at = policy.degrade.at
    if isinstance(at, LowerThreshold):
        threshold = f"{at.duration:g} s"
    else:
        threshold = f"{at}" if isinstance(at, int) else f"{100 * at:g} % of that"
    return f"; degrades from {threshold} on"


def listed(words: list[str]) -> str:
    """`A`, `A and B`, `A, B and C`."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}" if words else ""
