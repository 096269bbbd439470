"""Which signal moved first: when each crossed its threshold, against when the SLO first broke. Pure.

A crossing counts from the first fault on, or from the start where no fault is injected; one in the baseline is noted as
a false alarm. `lab.reporter.thresholds` says which threshold a signal is held against.
"""

from dataclasses import dataclass

import pandas as pd

from lab.contract.scenario import Scenario
from lab.reporter.read import Tables
from lab.reporter.thresholds import calm_until_s, watched_threshold
from lab.reporter.timeline import Timeline

# The provider's latency is the median of this many answers, the shed rate the share of this many decisions.
RECENT_ATTEMPTS = 5
RECENT_DECISIONS = 20
RECENT_JOBS = 20
SIGNALS = ("queue_age_s", "queue_depth", "utilization_ratio", "provider_ttft_s", "negative_slack_ratio", "shed_ratio")


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
        order = self._in_order()
        return order[0].signal if order else None

    @property
    def second(self) -> str | None:
        """The signal that crossed its threshold next, None where fewer than two did."""
        order = self._in_order()
        return order[1].signal if len(order) > 1 else None

    @property
    def ahead_s(self) -> float | None:
        """By how many seconds the first signal moved before the next."""
        moved = [crossing.crossed_s for crossing in self._in_order() if crossing.crossed_s is not None]
        return moved[1] - moved[0] if len(moved) > 1 else None

    def _in_order(self) -> list[Crossing]:
        crossed = [crossing for crossing in self.crossings if crossing.crossed_s is not None]
        return sorted(crossed, key=lambda crossing: crossing.crossed_s or 0.0)


def first_moves(
    jobs: pd.DataFrame, tables: Tables, scenario: Scenario, letter: str, start_at: float, *, slack: Timeline
) -> FirstMoves:
    """The crossings of one arm. `jobs` are timed; `slack` is the share of queued jobs with negative projected slack."""
    windows = scenario.phase_windows()
    onset = windows.get("fault", (0.0, 0.0))[0]
    breach = slo_breach_s(jobs, scenario, onset)
    tracks = _tracks(tables, slack, start_at)
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


def _tracks(tables: Tables, slack: Timeline, start_at: float) -> dict[str, pd.DataFrame]:
    """Every signal as a table of `second` and `value`, in time order."""
    sampled = tables["signals"].sort_values("at")
    seconds = sampled["at"] - start_at
    tracks = {name: pd.DataFrame({"second": seconds, "value": sampled[name]}) for name in SIGNALS[:3]}
    return tracks | {
        "provider_ttft_s": _provider(tables["attempt"], start_at),
        "negative_slack_ratio": pd.DataFrame({"second": slack.seconds, "value": slack.readings}, dtype="float64"),
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
    calm = track[track["second"].lt(calm_until_s(scenario, onset_s)) & track["second"].ge(0)]
    threshold, source = watched_threshold(scenario, letter, signal, calm["value"])
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
        false_alarm=bool((calm["value"].gt(threshold) & calm["second"].lt(onset_s)).any()),
    )
