"""A rehearsed roll-back, measured: how long a bad switch of policy went unseen, how long it stood, what it cost. Pure.

The first step on the timeline that switches a policy is the bad one. It is detected by the first firing, from then on,
of an alert on rejections; it is reverted by the next such step, whether that switches on or back. What was shed in
between was shed wrongly where the capacity check says that the slots could do all of the phase's work.
"""

from dataclasses import dataclass
from typing import Any

import pandas as pd

from lab.reporter.alerts import AlertReport

SWITCH_KINDS = ("policy", "mode")
DETECTING = ("shed_without_fault", "rejection_rate")


@dataclass(frozen=True, slots=True)
class Rollback:
    """One arm's roll-back. Moments are seconds after the first due time; None for what did not come.

    `shed_wrongly_count` is None where the journal holds no capacity check.
    """

    change: str
    applied_s: float
    detected_by: str | None
    detected_s: float | None
    reverted_by: str | None
    reverted_s: float | None
    shed_count: int
    shed_wrongly_count: int | None

    @property
    def time_to_detect_s(self) -> float | None:
        """From the bad switch to the alert; None where nothing fired before it was reverted."""
        return None if self.detected_s is None else self.detected_s - self.applied_s

    @property
    def time_to_revert_s(self) -> float | None:
        """From the alert to the switch that undid it."""
        if self.detected_s is None or self.reverted_s is None:
            return None
        return self.reverted_s - self.detected_s

    @property
    def exposed_s(self) -> float | None:
        """How long the bad switch stood."""
        return None if self.reverted_s is None else self.reverted_s - self.applied_s


def measure_rollback(
    faults: pd.DataFrame,
    jobs: pd.DataFrame,
    alerts: tuple[AlertReport, ...],
    capacity: dict[str, Any] | None,
    start_at: float,
) -> Rollback | None:
    """The roll-back of one arm, None where no policy was switched. `jobs` are timed."""
    switches = faults[faults["kind"].isin(SWITCH_KINDS) & faults["ok"].astype(bool)].sort_values("applied_at")
    injected = switches[switches["action"].eq("inject")]
    if injected.empty:
        return None
    bad = injected.iloc[0]
    applied_s = float(bad["applied_at"]) - start_at
    later = switches[switches["applied_at"].gt(bad["applied_at"])]
    reverted_s = None if later.empty else float(later["applied_at"].iloc[0]) - start_at
    detected_s, detected_by = _detection(alerts, applied_s, reverted_s)
    second = jobs["decided_at"] - start_at
    shed = jobs[jobs["fate"].eq("shed") & second.ge(applied_s)]
    if reverted_s is not None:
        shed = shed[shed["decided_at"].sub(start_at).lt(reverted_s)]
    return Rollback(
        change=_words(bad),
        applied_s=applied_s,
        detected_by=detected_by,
        detected_s=detected_s,
        reverted_by=None if later.empty else _words(later.iloc[0]),
        reverted_s=reverted_s,
        shed_count=len(shed),
        shed_wrongly_count=_wrongly(shed, capacity),
    )


def _detection(
    alerts: tuple[AlertReport, ...], applied_s: float, reverted_s: float | None
) -> tuple[float | None, str | None]:
    found = [
        (firing.began_s, report.alert.name)
        for report in alerts
        if report.alert.signal in DETECTING
        for firing in report.firings
        if firing.began_s >= applied_s and (reverted_s is None or firing.began_s <= reverted_s)
    ]
    return min(found) if found else (None, None)


def _wrongly(shed: pd.DataFrame, capacity: dict[str, Any] | None) -> int | None:
    rows = capacity.get("phases") if capacity else None
    if not isinstance(rows, list):
        return None
    feasible = [row.get("phase") for row in rows if isinstance(row, dict) and _all_can_be_served(row)]
    return int(shed["phase"].isin(feasible).sum())


def _all_can_be_served(row: dict[str, Any]) -> bool:
    load = row.get("load_ratio")
    return isinstance(load, int | float) and load <= 1


def _words(step: "pd.Series[Any]") -> str:
    said = f"{step['name']}, {step['action']}"
    return f"{said}: {step['detail']}" if step["detail"] else said
