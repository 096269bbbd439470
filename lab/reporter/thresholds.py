"""The threshold that a signal is held against, and whose it is. Pure.

The arm's own policy's where it has one for the signal, else that of the scenario's first policy that has one, else that
of an alert on it, a page before a warning. What nobody declares is derived from the baseline: HEADROOM times the
highest value there, and never so low that a single job crosses it. Without a fault the drill's first tenth stands in
for the baseline.
"""

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from lab.contract.scenario import Scenario

if TYPE_CHECKING:
    import pandas as pd

HEADROOM = 1.5
OWN = "its own policy"
# Shares: what drills 1 and 4 alert on. Age: as a part of the SLO.
LEAST_RATIO = 0.05
LEAST_AGE_OF_SLO = 0.1
CALM_SHARE = 0.1
# By policy kind and signal, the threshold that the policy declares.
_DECLARED: dict[tuple[str, str], Callable[[Any], float]] = {
    ("queue_age", "queue_age_s"): lambda policy: policy.max_age,
    ("queue_depth", "queue_depth"): lambda policy: policy.max_depth,
    ("utilization", "utilization_ratio"): lambda policy: policy.max_utilization,
    ("age_or_full", "queue_age_s"): lambda policy: policy.max_age,
    ("age_or_full", "queue_depth"): lambda policy: policy.depth_factor * policy.max_in_flight,
}
_ALERTED = {
    "queue_age": "queue_age_s",
    "queue_depth": "queue_depth",
    "utilization": "utilization_ratio",
    "negative_slack_ratio": "negative_slack_ratio",
    "rejection_rate": "shed_ratio",
}


def threshold_of(scenario: Scenario, letter: str, signal: str) -> tuple[float, str] | None:
    """The threshold that a policy declares for a signal, and whose it is; None where no policy has one."""
    for owner in (letter, *(other for other in scenario.policies if other != letter)):
        policy = scenario.policies.get(owner)
        declared = None if policy is None else _DECLARED.get((policy.kind, signal))
        if declared is not None:
            return float(declared(policy)), OWN if owner == letter else f"policy {owner}"
    return None


def watched_threshold(
    scenario: Scenario, letter: str, signal: str, calm: "pd.Series[float]"
) -> tuple[float | None, str]:
    """The threshold a signal is held against, and where it is from; `calm` holds its values in the baseline."""
    return (
        threshold_of(scenario, letter, signal)
        or _alerted(scenario, signal)
        or _from_baseline(scenario, signal, calm, "baseline" if scenario.faults else "first tenth")
    )


def calm_until_s(scenario: Scenario, onset_s: float) -> float:
    """Until when a signal is taken to be at rest, in seconds after the first due time."""
    return onset_s if scenario.faults else CALM_SHARE * scenario.workload.duration


def _alerted(scenario: Scenario, signal: str) -> tuple[float, str] | None:
    mine = [alert for alert in scenario.alerts if _ALERTED.get(alert.signal) == signal]
    for alert in sorted(mine, key=lambda alert: alert.severity != "page"):
        return alert.threshold, f"alert {alert.name}"
    return None


def _from_baseline(scenario: Scenario, signal: str, calm: "pd.Series[float]", where: str) -> tuple[float | None, str]:
    highest = float(calm.max()) if len(calm) else math.nan
    if not math.isfinite(highest):
        return None, f"no {where} to derive one from"
    source = f"{HEADROOM:g} x the {where}'s highest"
    if signal == "utilization_ratio":
        # Nothing exceeds full, so a busy baseline leaves no room for the usual factor.
        return min(HEADROOM * highest, (1 + highest) / 2), f"{source}, or half-way to full"
    if signal in ("shed_ratio", "negative_slack_ratio"):
        return max(LEAST_RATIO, min(HEADROOM * highest, 1.0)), f"{source}, at least {100 * LEAST_RATIO:g} %"
    if signal == "queue_depth":
        slots = scenario.stack.total_slots
        return max(HEADROOM * highest, slots), f"{source}, at least one per slot"
    if signal == "queue_age_s":
        least_s = LEAST_AGE_OF_SLO * scenario.slo.within
        return max(HEADROOM * highest, least_s), f"{source}, at least {100 * LEAST_AGE_OF_SLO:g} % of the SLO"
    return HEADROOM * highest, source
