"""How sure the numbers of one arm are: a closed list of doubts, each with advice. Pure."""

import math
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import Any

import pandas as pd

from lab.contract.scenario import Scenario
from lab.reporter.before_fault import untouched
from lab.reporter.host import HostLoad, other_work
from lab.reporter.ledger import Ledger
from lab.reporter.measures import PhaseMeasures, Span
from lab.reporter.percentile import percentile
from lab.reporter.read import Tables
from lab.reporter.wording import measured, slo_words

LATE_P99_S = 0.05
# The gate samples its signals ten times a second; so long a hole between two of them is a gap.
SIGNAL_GAP_S = 1.0
LATE_FAULT_S = 0.5
LEAST_SENT_RATIO = 0.98
# So many samples must lie beyond a percentile for it to mean something.
LEAST_BEYOND = 5
# The baseline drifts where its second half's p95 is this much above the first's, and by this share of the SLO.
DRIFT_FACTOR = 1.5
DRIFT_SLO_RATIO = 0.1

CODES: dict[str, str] = {
    "generator_late": "Lower the rate or SPEED, run fewer arms side by side (JOBS=1), and play the drill again.",
    "host_saturated": "Run fewer arms side by side (JOBS=1) or use more cores; the arms may have slowed each other.",
    "other_work": "End what else runs on this machine, or use one that nobody shares, and play the drill again.",
    "runner_stood_still": "Keep the machine awake and do not stop the runner; play the drill again.",
    "too_few_samples": "Lengthen the phase, raise the rate, or add repeats before trusting this percentile.",
    "no_steady_state": "Lower the load or lengthen the baseline; the fault cannot be told from what came before.",
    "fault_touched_nothing": "Check the fault's link and time: traffic may not have passed through it.",
    "leftovers": "Run `shedlab doctor`, then play the drill again: this arm or the next may have met an old fault.",
    "unbalanced_book": "Do not use this arm's numbers; find what is lost in its journal, or play the drill again.",
    "warm_up_not_reached": "Give the stack longer before the load, and look at the first seconds of the baseline.",
    "clock_skew": "Synchronise the clocks; latencies from due time mix the clocks of client and Redis.",
    "too_close_to_call": "Play it again with REPEATS=auto, or give the policy or the SLO a wider margin.",
    "different_schedules": "Compare only arms of one repeat that played one schedule; play the drill again.",
}


@dataclass(frozen=True, slots=True)
class Doubt:
    """One doubt about one arm."""

    code: str
    arm: str
    sentence: str

    @property
    def advice(self) -> str:
        """What to do about it."""
        return CODES[self.code]


@dataclass(frozen=True, slots=True)
class Evidence:
    """What the doubts are drawn from. `jobs` are timed."""

    scenario: Scenario
    spans: tuple[Span, ...]
    start_at: float
    jobs: pd.DataFrame
    tables: Tables
    phases: dict[str, PhaseMeasures]
    ledger: Ledger
    host: HostLoad


def find_doubts(arm: str, evidence: Evidence) -> tuple[Doubt, ...]:
    """Every doubt about this arm, in the list's order."""
    finders = {
        "generator_late": _generator_late,
        "host_saturated": _host_saturated,
        "other_work": lambda evidence: other_work(evidence.host),
        "runner_stood_still": _runner_stood_still,
        "too_few_samples": _too_few_samples,
        "no_steady_state": _no_steady_state,
        "fault_touched_nothing": _fault_touched_nothing,
        "leftovers": _leftovers,
        "unbalanced_book": lambda evidence: iter(evidence.ledger.discrepancies),
        "warm_up_not_reached": _warm_up_not_reached,
        "clock_skew": _clock_skew,
    }
    return tuple(Doubt(code, arm, sentence) for code, find in finders.items() for sentence in find(evidence))


def schedule_doubts(schedules: dict[str, tuple[int, str]]) -> tuple[Doubt, ...]:
    """Arms of one repeat that played different schedules. `schedules` holds each arm's repeat and schedule hash."""
    first: dict[int, str] = {}
    doubts = []
    for arm, (repeat, sha256) in schedules.items():
        reference = first.setdefault(repeat, arm)
        if schedules[reference][1] != sha256:
            doubts.append(Doubt("different_schedules", arm, f"it played another schedule than {reference}"))
    return tuple(doubts)


def _generator_late(evidence: Evidence) -> Iterator[str]:
    jobs = evidence.jobs
    if jobs.empty:
        return
    lag = percentile((jobs["sent_at"] - jobs["due_at"]).fillna(math.inf), 99) or 0.0
    if lag > LATE_P99_S:
        shown = "one in a hundred was never sent" if math.isinf(lag) else f"p99 send lag is {1000 * lag:.0f} ms"
        yield f"{shown}; at most {1000 * LATE_P99_S:.0f} ms is sound"
    sent = float(jobs["sent_at"].notna().mean())
    if sent < LEAST_SENT_RATIO:
        yield f"{100 * sent:.1f} % of the offered requests were sent; at least {100 * LEAST_SENT_RATIO:.0f} % is sound"


def _host_saturated(evidence: Evidence) -> Iterator[str]:
    busy, limit = evidence.host.busy_ratio, evidence.scenario.host_cpu_limit
    if busy is not None and busy > limit:
        yield f"the machine was {100 * busy:.0f} % busy over the load; the limit is {100 * limit:.0f} %"


def _runner_stood_still(evidence: Evidence) -> Iterator[str]:
    """Standstills within the load; each with the gap in the signals and the faults that it made late."""
    for gap in evidence.tables["standstill"].to_dict("records"):
        began_s, ended_s = gap["began_at"] - evidence.start_at, gap["ended_at"] - evidence.start_at
        if ended_s <= 0 or began_s >= evidence.spans[-1].end_s:
            continue
        said = [f"the runner stood still from second {began_s:.1f} to {ended_s:.1f}"]
        said.append("the signals have a gap" if _signals_gap(evidence, gap) else "the gate's signals went on")
        faults = evidence.tables["fault"]
        late_s = faults["applied_at"] - faults["intended_at"]
        due = faults["intended_at"].between(gap["began_at"], gap["ended_at"]) & late_s.gt(LATE_FAULT_S)
        said += [
            f"the {step['action']} of {step['name']} came {step['applied_at'] - step['intended_at']:.1f} s late"
            for step in faults[due].to_dict("records")
        ]
        yield "; ".join(said)


def _signals_gap(evidence: Evidence, gap: dict[Hashable, Any]) -> bool:
    """Whether two samples in a row lie SIGNAL_GAP_S apart around or within the standstill."""
    at = evidence.tables["signals"]["at"].sort_values()
    before = at.shift()
    wide = at.sub(before).gt(SIGNAL_GAP_S)
    return bool((wide & before.lt(gap["ended_at"]) & at.gt(gap["began_at"])).any())


def _too_few_samples(evidence: Evidence) -> Iterator[str]:
    slo = evidence.scenario.slo
    for name in slo.phases:
        admitted = evidence.phases[name].numbers["admitted"] if name in evidence.phases else None
        if admitted is not None and too_few(admitted, slo.percentile):
            rests = f"{slo_words(evidence.scenario)} rests on {admitted:,.0f} admitted jobs"
            yield f"{name}: {rests}, fewer than {LEAST_BEYOND} beyond it"


def too_few(count: float, percent: float) -> bool:
    """Whether fewer than LEAST_BEYOND of so many samples lie beyond the percentile."""
    return count * (1 - percent / 100) < LEAST_BEYOND - 1e-9


def _no_steady_state(evidence: Evidence) -> Iterator[str]:
    if not evidence.scenario.faults:
        # One phase from end to end: there is nothing to tell from what came before.
        return
    span, slo = evidence.spans[0], evidence.scenario.slo
    if span.phase != "baseline":
        yield "the fault begins with the load, so there is no baseline before it"
        return
    judged = untouched(evidence.jobs[evidence.jobs["phase"].eq("baseline")], span.end_s)
    if judged.empty:
        yield "no admitted job ended before the fault began, so there is nothing to tell it from"
        return
    slow = percentile(judged[f"{slo.measure}_s"], slo.percentile)
    if slow is not None and slow > slo.within:
        yield f"the baseline itself breaches the SLO: {slo_words(evidence.scenario)} is {measured(slow, 's')}"
    yield from _drift(judged, span.start_s, slo.within)


def _drift(judged: pd.DataFrame, start_s: float, slo_s: float) -> Iterator[str]:
    """Halves of what is judged, which ends before the baseline does."""
    first_half = judged["due_s"].lt((start_s + judged["due_s"].max()) / 2)
    early = percentile(judged.loc[first_half, "ttft_s"], 95)
    late = percentile(judged.loc[~first_half, "ttft_s"], 95)
    if early is None or late is None:
        return
    if late > max(DRIFT_FACTOR * early, early + DRIFT_SLO_RATIO * slo_s):
        halves = f"from {measured(early, 's')} in its first half to {measured(late, 's')}"
        yield f"the baseline drifts: p95 time to first token goes {halves}"


def _fault_touched_nothing(evidence: Evidence) -> Iterator[str]:
    faults = evidence.tables["fault"]
    for fault in faults[faults["action"].eq("revert") & faults["touched_connections"].eq(0)]["name"]:
        yield f"the fault {fault} touched no connection"
    injected = int((faults["action"].eq("inject") & faults["ok"].astype(bool)).sum())
    declared = len(evidence.scenario.faults)
    if injected < declared:
        yield f"{injected} of {declared} declared faults were injected"


def _failed(evidence: Evidence, name: str) -> Iterator[str]:
    checks = evidence.tables["check"]
    yield from checks.loc[checks["name"].eq(name) & ~checks["ok"].astype(bool), "detail"]


def _leftovers(evidence: Evidence) -> Iterator[str]:
    for detail in _failed(evidence, "clean_state"):
        yield f"the stack was not clean afterwards: {detail}"
    if not evidence.tables["check"]["name"].eq("clean_state").any():
        yield "the journal holds no proof that the stack was clean afterwards"


def _warm_up_not_reached(evidence: Evidence) -> Iterator[str]:
    for detail in _failed(evidence, "steady_state"):
        yield f"the steady state was not reached before the load: {detail}"


def _clock_skew(evidence: Evidence) -> Iterator[str]:
    for detail in _failed(evidence, "clock"):
        yield f"the clocks disagree: {detail}"
