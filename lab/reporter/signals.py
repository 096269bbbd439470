"""Which signal moved first: when each crossed its threshold, against when the SLO first broke. Pure.

The threshold is the arm's own policy's where it has one for that signal, else that of the scenario's first policy that
has one, else HEADROOM times the highest value of the baseline (for the shed rate never below SHED_FLOOR_RATIO). A
crossing counts from the first fault on, or from the start where no fault is injected; one in the baseline is noted as a
false alarm.
"""

import math
from dataclasses import dataclass

import pandas as pd

from lab.contract.policy_spec import QueueAgePolicy, QueueDepthPolicy, UtilizationPolicy
from lab.contract.scenario import Scenario
from lab.reporter.read import Tables

HEADROOM = 1.5
OWN = "its own policy"
SHED_FLOOR_RATIO = 0.05
# The provider's latency is the median of this many answers, the shed rate the share of this many decisions.
RECENT_ATTEMPTS = 5
RECENT_DECISIONS = 20
RECENT_JOBS = 20
SIGNALS = ("queue_age_s", "queue_depth", "utilization_ratio", "provider_ttft_s", "shed_ratio")


@dataclass(frozen=True, slots=True)
class Crossing:
    """One signal of one arm. `crossed_s` counts from the first due time; `lead_s` is positive before the breach."""

    signal: str
    threshold: float | None
    threshold_from: str
    crossed_s: float | None
    since_fault_s: float | None
    lead_s: float | None
    false_alarm: bool


@dataclass(frozen=True, slots=True)
class FirstMoves:
    """When the SLO first broke, in seconds after the first due time, and every signal's crossing."""

    breach_s: float | None
    breach_since_fault_s: float | None
    crossings: tuple[Crossing, ...]

    @property
    def first(self) -> str | None:
        """The signal that crossed its threshold first, None where none did."""
        crossed = [crossing for crossing in self.crossings if crossing.crossed_s is not None]
        return min(crossed, key=lambda crossing: crossing.crossed_s or 0.0).signal if crossed else None


def first_moves(jobs: pd.DataFrame, tables: Tables, scenario: Scenario, letter: str, start_at: float) -> FirstMoves:
    """The crossings of one arm. `jobs` are timed; the sampled signals have `second`."""
    windows = scenario.phase_windows()
    onset = windows.get("fault", (0.0, 0.0))[0]
    breach = slo_breach_s(jobs, scenario, onset)
    tracks = _tracks(tables, start_at)
    crossings = (_crossing(name, tracks[name], scenario, letter, onset_s=onset, breach_s=breach) for name in SIGNALS)
    return FirstMoves(breach, None if breach is None else breach - onset, tuple(crossings))


def slo_breach_s(jobs: pd.DataFrame, scenario: Scenario, onset_s: float) -> float | None:
    """The first moment, from the onset on, at which more of the last admitted jobs were past the SLO than it allows.

    A job goes past it at its due time plus `within`. The last jobs are 20, or as many as the percentile needs to allow
    one.
    """
    slo = scenario.slo
    allowed = 1 - slo.percentile / 100
    recent = max(RECENT_JOBS, round(1 / allowed))
    admitted = jobs[jobs["fate"].eq("admitted")].sort_values("due_s")
    past = admitted[f"{slo.measure}_s"].gt(slo.within).astype(float)
    # A hair more than allowed, so that exactly one in twenty at p95 is no breach.
    broken = past.rolling(recent, min_periods=min(recent, len(past)) or 1).mean().gt(allowed + 1e-9)
    moments = admitted.loc[broken, "due_s"] + slo.within
    moments = moments[moments >= onset_s]
    return None if moments.empty else float(moments.iloc[0])


def threshold_of(scenario: Scenario, letter: str, signal: str) -> tuple[float, str] | None:
    """The declared threshold for a signal, and whose it is; None where no policy of the scenario has one."""
    for owner in (letter, *(other for other in scenario.policies if other != letter)):
        declared = _declared(scenario, owner, signal)
        if declared is not None:
            return declared, OWN if owner == letter else f"policy {owner}"
    return None


def _declared(scenario: Scenario, letter: str, signal: str) -> float | None:
    policy = scenario.policies.get(letter)
    if signal == "queue_age_s" and isinstance(policy, QueueAgePolicy):
        return policy.max_age
    if signal == "queue_depth" and isinstance(policy, QueueDepthPolicy):
        return float(policy.max_depth)
    if signal == "utilization_ratio" and isinstance(policy, UtilizationPolicy):
        return policy.max_utilization
    return None


def _tracks(tables: Tables, start_at: float) -> dict[str, pd.DataFrame]:
    """Every signal as a table of `second` and `value`, in time order."""
    sampled = tables["signals"].sort_values("at")
    seconds = sampled["at"] - start_at
    tracks = {name: pd.DataFrame({"second": seconds, "value": sampled[name]}) for name in SIGNALS[:3]}
    return tracks | {
        "provider_ttft_s": _provider(tables["attempt"], start_at),
        "shed_ratio": _shed(tables["decision"], start_at),
    }


def _provider(attempts: pd.DataFrame, start_at: float) -> pd.DataFrame:
    # An attempt without a first token shows its slowness only when it is given up.
    waited = attempts["ttft_s"].fillna(attempts["endpoint_latency_s"])
    seen = pd.DataFrame({"second": attempts["started_at"] + waited - start_at, "value": waited}).sort_values("second")
    seen["value"] = seen["value"].rolling(RECENT_ATTEMPTS, min_periods=1).median()
    return seen


def _shed(decisions: pd.DataFrame, start_at: float) -> pd.DataFrame:
    # `would` says what enforce would have done, so that log_only arms show their policy's signal too.
    shed = decisions["would"].eq("shed").astype(float)
    seen = pd.DataFrame({"second": decisions["at"] - start_at, "value": shed}).sort_values("second")
    seen["value"] = seen["value"].rolling(RECENT_DECISIONS, min_periods=1).mean()
    return seen


def _crossing(
    signal: str, track: pd.DataFrame, scenario: Scenario, letter: str, *, onset_s: float, breach_s: float | None
) -> Crossing:
    before = track[track["second"].lt(onset_s) & track["second"].ge(0)]
    threshold, source = threshold_of(scenario, letter, signal) or _from_baseline(signal, before)
    if threshold is None:
        return Crossing(signal, None, source, None, None, None, false_alarm=False)
    after = track[track["second"].ge(onset_s) & track["value"].gt(threshold)]
    crossed = None if after.empty else float(after["second"].iloc[0])
    return Crossing(
        signal=signal,
        threshold=threshold,
        threshold_from=source,
        crossed_s=crossed,
        since_fault_s=None if crossed is None else crossed - onset_s,
        lead_s=None if crossed is None or breach_s is None else breach_s - crossed,
        false_alarm=bool(before["value"].gt(threshold).any()),
    )


def _from_baseline(signal: str, before: pd.DataFrame) -> tuple[float | None, str]:
    if before.empty:
        return None, "no baseline to derive one from"
    highest = float(before["value"].max())
    if signal == "shed_ratio":
        return max(
            SHED_FLOOR_RATIO, min(HEADROOM * highest, 1.0)
        ), f"{HEADROOM:g} x the baseline's highest, at least 5 %"
    if signal == "utilization_ratio":
        # Nothing exceeds full, so a busy baseline leaves no room for the usual factor.
        return min(HEADROOM * highest, (1 + highest) / 2), f"{HEADROOM:g} x the baseline's highest, or half-way to full"
    return HEADROOM * highest if math.isfinite(highest) else None, f"{HEADROOM:g} x the baseline's highest"
