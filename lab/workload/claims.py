"""Published claims against arithmetic: which of them cannot be, and why. Pure.

A claim is ruled out only where it lies beyond the bound by more than chance and the fluid's roughness could explain;
a claim that is not ruled out may still be wrong.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from lab.contract.messages import ScheduledRequest
from lab.contract.scenario import Claim, Scenario
from lab.workload.fluid import Unshed, admit_all
from lab.workload.threshold_check import PolicyForecast, forecast
from lab.workload.totals import Total, totals

# A count or share must be off its bound by a tenth, a wait by half: the fluid says nothing finer.
COUNT_MARGIN = 0.9
WAIT_MARGIN = 0.5
LEAST_RATIO = 0.02
# These kinds look at what a job asks for, so they may refuse the largest first.
SEEING_SIZE = ("deadline_slack", "slack_v1")


@dataclass(frozen=True, slots=True)
class ClaimCheck:
    """One claim: whether arithmetic rules it out, and why; no sentence where nothing can be said."""

    ruled_out: bool
    sentence: str


@dataclass(frozen=True, slots=True)
class _Ground:
    """What a claim of one policy in one phase is held against."""

    scenario: Scenario
    claim: Claim
    total: Total
    forecast: PolicyForecast
    unshed: Unshed

    @property
    def bounded(self) -> bool:
        """Whether the policy refuses anything."""
        policy = self.scenario.policies[self.claim.policy]
        return policy.kind != "none" and policy.mode == "enforce"

    @property
    def sees_size(self) -> bool:
        """Whether the policy may refuse the largest jobs first."""
        return self.scenario.policies[self.claim.policy].kind in SEEING_SIZE

    def other(self, measure: str) -> float | None:
        """The value that is claimed of another measure, of the same policy in the same phase."""
        same = (
            each.value
            for each in self.scenario.claims
            if (each.policy, each.phase, each.measure) == (self.claim.policy, self.claim.phase, measure)
        )
        return next(same, None)

    @property
    def most_admitted(self) -> float:
        """The most jobs that an enforced policy admits: what is served, what runs, and what its threshold lets wait."""
        done = self.total.most_count if self.sees_size else self.total.served_count
        # Where a wait has no end, nothing bounds how many wait.
        wait_s = self.forecast.peak_wait_s
        waiting = wait_s * self.total.end_rate_per_s if math.isfinite(wait_s) else math.inf
        return done + self.scenario.stack.total_slots + waiting


def check_claims(scenario: Scenario, requests: Sequence[ScheduledRequest] = ()) -> tuple[ClaimCheck, ...]:
    """A check per claim, in the scenario's order; none of a replay without `requests`, its schedule."""
    unshed, phases = admit_all(scenario, requests), totals(scenario, requests)
    if unshed is None:
        return ()
    forecasts = {each.letter: each for each in forecast(scenario, requests)}
    return tuple(
        _check(
            _Ground(
                scenario,
                claim,
                phases[claim.phase],
                forecasts[claim.policy],
                unshed,
            )
        )
        if claim.phase in phases
        else ClaimCheck(ruled_out=False, sentence="")
        for claim in scenario.claims
    )


def _check(ground: _Ground) -> ClaimCheck:
    find = _CHECKS.get(ground.claim.measure)
    sentence = None if find is None else find(ground)
    return ClaimCheck(ruled_out=sentence is not None, sentence=sentence or "")


def _offered_slots(ground: _Ground) -> str | None:
    endpoint, value = ground.total.endpoint, ground.claim.value
    rate = ground.total.offered_count / ground.total.length_s
    slots = rate * endpoint.mean_service_s
    if value >= COUNT_MARGIN * slots and slots >= COUNT_MARGIN * value:
        return None
    return (
        f"{rate:.2f}/s x {endpoint.mean_service_s:.2f} s = {slots:.1f} slots of demand against "
        f"{ground.scenario.stack.total_slots}, not {value:g}; at {value:g} slots the rate would be "
        f"{value / endpoint.mean_service_s:.2f}/s"
    )


def _offered(ground: _Ground) -> str | None:
    return _fewer_than_due(ground, ground.claim.value, f"{ground.claim.value:g} requests")


def _shed_count(ground: _Ground) -> str | None:
    """Admitted and rejected must make up what is due."""
    admitted = ground.other("admitted")
    if admitted is None:
        return None
    words = f"{admitted:g} admitted and {ground.claim.value:g} rejected are {admitted + ground.claim.value:g} requests"
    return _fewer_than_due(ground, admitted + ground.claim.value, words)


def _fewer_than_due(ground: _Ground, count: float, words: str) -> str | None:
    due = ground.total.offered_count
    if count >= COUNT_MARGIN * due:
        return None
    return (
        f"{words} where {due:.0f} are due: the others never arrived, as when a generator waits (coordinated omission)"
    )


def _admitted(ground: _Ground) -> str | None:
    most = min(ground.most_admitted, ground.total.in_time_count) if ground.sees_size else ground.most_admitted
    if not ground.bounded or COUNT_MARGIN * ground.claim.value <= most:
        return None
    if ground.sees_size:
        return (
            f"at most {most:.0f} jobs can be done by their deadlines, so {ground.claim.value:g} cannot all be in time"
        )
    return (
        f"{ground.total.served_count:.0f} jobs can be done in {ground.total.length_s:g} s, and what runs and may wait "
        f"makes at most {most:.0f} admitted"
    )


def _done_count(ground: _Ground) -> str | None:
    drain_s = ground.scenario.stack.drain
    most = ground.total.served_count + ground.total.end_rate_per_s * drain_s
    if ground.bounded:
        most = min(most, ground.most_admitted)
    if COUNT_MARGIN * ground.claim.value <= most:
        return None
    return f"{ground.total.served_count:.0f} jobs can be done in {ground.total.length_s:g} s, with the drain {most:.0f}"


def _shed_rate(ground: _Ground) -> str | None:
    if not ground.bounded:
        return None
    least = 1 - ground.most_admitted / ground.total.offered_count
    if least < LEAST_RATIO or ground.claim.value >= COUNT_MARGIN * least:
        return None
    return (
        f"of {ground.total.offered_count:.0f} requests at most {ground.most_admitted:.0f} can be served or wait within "
        f"the threshold, so at least {least:.0%} must be shed"
    )


def _deadline_miss_rate(ground: _Ground) -> str | None:
    """What is not refused and cannot be done in time misses; what is refused is taken from the claims."""
    shed = (ground.other("shed_rate") or 0.0) if ground.bounded else 0.0
    lost = shed + (1 - shed) * ground.claim.value
    most = max(ground.total.in_time_count, ground.total.most_count if ground.sees_size else 0.0)
    least = 1 - most / ground.total.offered_count
    if least < LEAST_RATIO or lost >= COUNT_MARGIN * least:
        return None
    return (
        f"of {ground.total.offered_count:.0f} requests at most {most:.0f} can be done by their deadlines, so at least "
        f"{least:.0%} must be shed or late where {lost:.0%} are claimed"
    )


def _wait(ground: _Ground) -> str | None:
    wait_s = ground.forecast.peak_wait_s if ground.bounded else _unshed_wait_s(ground)
    if ground.total.load_ratio <= 1 or math.isinf(wait_s) or ground.claim.value >= WAIT_MARGIN * wait_s:
        return None
    how = ground.forecast.how if ground.bounded else f"nothing is shed, so the wait grows to {wait_s:.0f} s"
    return f"{how}; {ground.claim.value:g} s cannot be"


def _unshed_wait_s(ground: _Ground) -> float:
    peaks = ground.unshed.peaks
    chosen = [peak for phase, peak in peaks.items() if ground.claim.phase in (phase, "all")]
    return max(peak.wait_s for peak in chosen)


def _utilization(ground: _Ground) -> str | None:
    policy = ground.scenario.policies[ground.claim.policy]
    expected = min(1.0, getattr(policy, "max_utilization", 1.0) if ground.bounded else 1.0)
    load = ground.total.load_ratio
    if not 1 < load < math.inf or ground.claim.value >= COUNT_MARGIN * expected:
        return None
    return (
        f"at {load:.1f} x capacity the slots are occupied {expected:.0%} of the time; a worker that "
        "waits for the model is busy"
    )


_CHECKS: dict[str, Callable[[_Ground], str | None]] = {
    "offered_slots": _offered_slots,
    "offered": _offered,
    "admitted": _admitted,
    "shed_count": _shed_count,
    "done_count": _done_count,
    "shed_rate": _shed_rate,
    "deadline_miss_rate": _deadline_miss_rate,
    "mean_utilization_ratio": _utilization,
    **{f"p{percent}_{measure}_s": _wait for percent in (95, 99) for measure in ("ttft", "turnaround")},
    "slo_percentile_s": _wait,
}
