"""How numbers and names read, on the page and in the terminal."""

import math
import re
from collections.abc import Callable
from typing import Any

from lab.contract.scenario import Scenario

NOTHING = "–"  # noqa: RUF001 - an en dash is how tables say "no value"
INFINITE = "∞"
MEASURE_WORDS = {"ttft": "time to first token", "turnaround": "turnaround"}
_BEFORE_UNIT = re.compile(r"(?<=\d) (?=s\b|%|x\b|pt\b)")
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


def unbroken(text: str) -> str:
    """The same text, in which no line ends between a number and its unit."""
    return _BEFORE_UNIT.sub("\N{NO-BREAK SPACE}", text)


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


def policy_words(policy: Any) -> str:
    """What a policy does, in a few words, by its kind."""
    words = _POLICY_WORDS.get(policy.kind)
    said = policy.kind.replace("_", " ") if words is None else words(policy)
    degrade = getattr(policy, "degrade", None)
    return said if degrade is None else f"{said}; degrades from {_degrade_words(degrade.at)}"


def _degrade_words(at: Any) -> str:
    if isinstance(at, float):
        return f"{100 * at:g} % of its threshold"
    return f"{at}" if isinstance(at, int) else f"{at.duration:g} s"


def _deadline_slack_words(policy: Any) -> str:
    upper = "" if policy.max_slack is None else f", or has more than {policy.max_slack:g} s"
    return f"sheds what is not expected to be done {policy.margin:g} s before its deadline{upper}"


_POLICY_WORDS: dict[str, Callable[[Any], str]] = {
    "none": lambda _policy: "admits everything",
    "queue_age": lambda policy: f"sheds while the queue is older than {policy.max_age:g} s",
    "queue_depth": lambda policy: f"sheds while more than {policy.max_depth} are queued",
    "utilization": lambda policy: f"sheds while utilization is above {100 * policy.max_utilization:g} %",
    "deadline_slack": _deadline_slack_words,
    "slack_v1": lambda policy: f"sheds what is projected to have no more than {policy.slack_floor:g} s of slack left",
    "age_or_full": lambda policy: (
        f"sheds while the queue is older than {policy.max_age:g} s, or {policy.max_in_flight} are in flight and more "
        f"than {policy.depth_factor:g} times that wait"
    ),
}


def listed(words: list[str]) -> str:
    """`A`, `A and B`, `A, B and C`."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}" if words else ""
