"""The capacity check: can this be done at all, and can each policy's own threshold meet the SLO? Said before the run.

Per phase: offered slots = arrival rate x mean service time (Little's law for busy servers), unavoidable shed =
1 - slots / offered where that is positive: a share of the work that no policy can do in time for long. With unequal job
sizes a policy that refuses the largest jobs can refuse fewer of them than this share.
"""

from dataclasses import dataclass

import numpy as np

from lab.contract.fault_spec import AnyFault, LatencyFault, ModelFault, ProxyDownFault, TimeoutFault
from lab.contract.scenario import PhaseName, Scenario
from lab.contract.workload_spec import (
    Arrivals,
    ConstantArrivals,
    JobClass,
    OnOffArrivals,
    PoissonArrivals,
    ReplayArrivals,
    StagedArrivals,
)
from lab.workload.jobs import Seconds, service_times, tokens_at

# Service times are read off their distribution at this many evenly spaced quantiles.
QUANTILES = 4000
P95 = 0.95


@dataclass(frozen=True, slots=True)
class PhaseLoad:
    """One phase. `p95_first_token_s` is the endpoint's, without any wait; inf where the model cannot be reached."""

    phase: PhaseName
    begin_s: float
    end_s: float
    arrival_rate_per_s: float
    mean_service_s: float
    p95_service_s: float
    p95_first_token_s: float
    offered_slots: float
    slots: int

    @property
    def load_ratio(self) -> float:
        """Offered slots over slots."""
        return self.offered_slots / self.slots

    @property
    def unavoidable_shed_ratio(self) -> float:
        """The share of the offered work that the slots cannot do."""
        return max(0.0, 1 - 1 / self.load_ratio) if self.load_ratio > 0 else 0.0

    @property
    def service_rate_per_s(self) -> float:
        """Jobs per second that all slots together finish."""
        return self.slots / self.mean_service_s if self.mean_service_s > 0 else float("inf")


def phase_loads(scenario: Scenario, peak_rates: dict[PhaseName, float] | None = None) -> tuple[PhaseLoad, ...]:
    """The load of every phase; `peak_rates` gives the arrival rates of a workload whose file knows them (a replay)."""
    return tuple(
        _phase_load(scenario, phase, begin_s, end_s, (peak_rates or {}).get(phase))
        for phase, (begin_s, end_s) in scenario.phase_windows().items()
    )


def _phase_load(scenario: Scenario, phase: PhaseName, begin_s: float, end_s: float, rate: float | None) -> PhaseLoad:
    faults = [fault for fault in scenario.faults if fault.start < end_s and fault.end > begin_s]
    rate = mean_rate(scenario.workload.arrivals, begin_s, end_s) if rate is None else rate
    whole, first, weights = _mixture(scenario, faults)
    return PhaseLoad(
        phase=phase,
        begin_s=begin_s,
        end_s=end_s,
        arrival_rate_per_s=rate,
        mean_service_s=float(np.average(whole, weights=weights)),
        p95_service_s=_quantile(whole, weights, P95),
        p95_first_token_s=_quantile(first, weights, P95),
        offered_slots=rate * float(np.average(whole, weights=weights)),
        slots=scenario.stack.total_slots,
    )


def mean_rate(arrivals: Arrivals, begin_s: float, end_s: float) -> float:
    """Expected arrivals per second between two times; nan for a replay, whose file alone knows."""
    match arrivals:
        case ConstantArrivals() | PoissonArrivals():
            return arrivals.rate
        case OnOffArrivals():
            cycle = arrivals.mean_on + arrivals.mean_off
            return (arrivals.on_rate * arrivals.mean_on + arrivals.off_rate * arrivals.mean_off) / cycle
        case StagedArrivals():
            return (_count_until(arrivals, end_s) - _count_until(arrivals, begin_s)) / (end_s - begin_s)
        case ReplayArrivals():
            return float("nan")


def _count_until(arrivals: StagedArrivals, until_s: float) -> float:
    count, begin_s = 0.0, 0.0
    for stage in arrivals.stages:
        part = min(max(until_s - begin_s, 0.0), stage.lasts)
        rate_there = stage.start_rate + (stage.end_rate - stage.start_rate) * part / stage.lasts
        count += part * (stage.start_rate + rate_there) / 2
        begin_s += stage.lasts
    return count


def _mixture(scenario: Scenario, faults: list[AnyFault]) -> tuple[Seconds, Seconds, Seconds]:
    """Service times and first tokens of all classes on a grid of quantiles, with each value's weight."""
    parts = [
        (*_class_times(name, job_class, faults), np.full(QUANTILES, job_class.weight / QUANTILES))
        for name, job_class in scenario.workload.classes.items()
        if job_class.weight > 0
    ]
    whole, first, weights = (np.concatenate([part[column] for part in parts]) for column in range(3))
    return whole, first, weights


def _class_times(name: str, job_class: JobClass, faults: list[AnyFault]) -> tuple[Seconds, Seconds]:
    grid = (np.arange(QUANTILES) + 0.5) / QUANTILES
    tokens_out = tokens_at(job_class.output_tokens, grid)
    # The mean count of tokens in: a prompt's length and an answer's are drawn apart.
    tokens_in = np.full(QUANTILES, round(float(tokens_at(job_class.input_tokens, grid).mean())))
    whole, first = service_times(job_class.service, tokens_in, tokens_out, grid)
    for fault in faults:
        whole, first = _under(fault, name, whole, first)
    return whole, first


def _under(fault: AnyFault, class_name: str, whole: Seconds, first: Seconds) -> tuple[Seconds, Seconds]:
    """Service times while one fault acts. Chunks are held from their arrival, so latency counts once per answer."""
    if isinstance(fault, LatencyFault) and fault.link == "model":
        added = fault.latency * fault.toxicity
        return whole + added, first + added
    if isinstance(fault, ModelFault) and (not fault.classes or class_name in fault.classes):
        return whole * fault.slow_factor, first * fault.slow_factor
    if isinstance(fault, ProxyDownFault | TimeoutFault) and fault.link == "model":
        return whole, np.full_like(first, np.inf)
    return whole, first


def _quantile(values: Seconds, weights: Seconds, share: float) -> float:
    order = np.argsort(values)
    reached = np.cumsum(weights[order]) / weights.sum()
    return float(values[order][np.searchsorted(reached, share)])
