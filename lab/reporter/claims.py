"""Published numbers beside the measured ones, and whether arithmetic rules them out. Pure.

What arithmetic says stands in the journal, as the runner wrote it before the load.
"""

import math
from dataclasses import dataclass
from typing import Any

from lab.contract.scenario import Claim
from lab.reporter.arm import ArmReport
from lab.reporter.catalogue import BY_NAME
from lab.reporter.wording import measured

# Not of the report's measures: what the capacity check says a phase demands.
OFFERED_SLOTS = "offered_slots"


@dataclass(frozen=True, slots=True)
class ClaimReport:
    """One claim on one arm. `ruled_out` is None where the journal holds no check of it; `why` is its arithmetic."""

    claim: Claim
    repeat: int
    measured: float | None
    ruled_out: bool | None
    why: str

    @property
    def arm(self) -> str:
        """The arm's name."""
        return f"{self.claim.policy}-{self.repeat}"

    @property
    def label(self) -> str:
        """The measure's name for readers."""
        known = BY_NAME.get(self.claim.measure)
        return known.label if known else self.claim.measure.replace("_", " ")

    @property
    def claimed_words(self) -> str:
        """The claimed number as it reads."""
        return measured(self.claim.value, self._unit)

    @property
    def measured_words(self) -> str:
        """The measured number as it reads."""
        return measured(self.measured, self._unit)

    @property
    def _unit(self) -> str:
        known = BY_NAME.get(self.claim.measure)
        return known.unit if known else "count"


def claim_reports(arms: tuple[ArmReport, ...]) -> tuple[ClaimReport, ...]:
    """Every claim, one entry per repeat of its policy, in the scenario's order."""
    return tuple(
        _report(arm, number, claim)
        for number, claim in enumerate(arms[0].header.scenario.claims)
        for arm in arms
        if arm.header.policy == claim.policy
    )


def _report(arm: ArmReport, number: int, claim: Claim) -> ClaimReport:
    check = _entry(arm.capacity, "claims", number)
    ruled_out = check.get("ruled_out")
    return ClaimReport(
        claim=claim,
        repeat=arm.header.repeat,
        measured=_measured(arm, claim),
        ruled_out=ruled_out if isinstance(ruled_out, bool) else None,
        why=str(check.get("sentence", "")),
    )


def _measured(arm: ArmReport, claim: Claim) -> float | None:
    if arm.void:
        return None
    if claim.measure == OFFERED_SLOTS:
        return _offered_slots(arm.capacity, claim.phase)
    return arm.phases[claim.phase].numbers.get(claim.measure) if claim.phase in arm.phases else None


def _offered_slots(capacity: dict[str, Any] | None, phase: str) -> float | None:
    rows = capacity.get("phases") if capacity else None
    for row in rows if isinstance(rows, list) else []:
        value = row.get(OFFERED_SLOTS) if isinstance(row, dict) and row.get("phase") == phase else None
        if isinstance(value, int | float) and math.isfinite(value):
            return float(value)
    return None


def _entry(capacity: dict[str, Any] | None, key: str, number: int) -> dict[str, Any]:
    """One entry of a list in the journal's capacity check; empty where there is none."""
    entries = capacity.get(key) if capacity else None
    found = entries[number] if isinstance(entries, list) and number < len(entries) else None
    return found if isinstance(found, dict) else {}
