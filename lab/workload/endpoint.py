"""How long the model takes without any wait, at rest and under faults: numbers read off the declared distributions."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from lab.contract.fault_spec import AnyFault, LatencyFault, ModelFault, ProcessFault, ProxyDownFault, TimeoutFault
from lab.contract.messages import ScheduledRequest
from lab.contract.overlap import composed_model, newest_last
from lab.contract.scenario import Scenario
from lab.contract.workload_spec import JobClass, ReplayArrivals
from lab.workload.jobs import Seconds, service_times, tokens_at

# Distributions are read at this many evenly spaced quantiles.
QUANTILES = 4000
# Multiples of the golden section fill the unit interval evenly and without relation to the order of the quantiles.
GOLDEN_SECTION = (5**0.5 - 1) / 2


@dataclass(frozen=True, slots=True, eq=False)
class Endpoint:
    """Service times of a kind of job: seconds in all, seconds to the first token (inf: it never comes), and weights."""

    whole: Seconds
    first: Seconds
    weights: Seconds

    @classmethod
    def pooled(cls, parts: Sequence[tuple["Endpoint", float]]) -> Self:
        """Several endpoints as one, each with its share."""
        return cls(
            np.concatenate([part.whole for part, _ in parts]),
            np.concatenate([part.first for part, _ in parts]),
            np.concatenate([part.weights * (share / part.weights.sum()) for part, share in parts]),
        )

    @property
    def mean_service_s(self) -> float:
        """Slot-seconds of a job that is served."""
        return float(np.average(self.whole, weights=self.weights))

    @property
    def served_ratio(self) -> float:
        """The share of the jobs that gets a first token at all."""
        return float(self.weights[np.isfinite(self.first)].sum() / self.weights.sum())

    def service_quantile_s(self, share: float) -> float:
        """Seconds to the last token, inf where too few jobs get one."""
        return self._quantile(np.where(np.isfinite(self.first), self.whole, np.inf), share)

    def first_token_quantile_s(self, share: float) -> float:
        """Seconds to the first token, inf where too few jobs get one."""
        return self._quantile(self.first, share)

    def _quantile(self, values: Seconds, share: float) -> float:
        order = np.argsort(values)
        reached = np.cumsum(self.weights[order]) / self.weights.sum()
        # A hair is taken off so that a share that the values reach exactly is not missed by rounding.
        place = min(int(np.searchsorted(reached, share - 1e-9)), len(values) - 1)
        return float(values[order[place]])


def endpoints_at_rest(
    scenario: Scenario, requests: Sequence[ScheduledRequest] = ()
) -> dict[str, tuple[Endpoint, float]]:
    """Endpoint and share of the requests of each class that occurs; a replay's are those of its schedule."""
    if isinstance(scenario.workload.arrivals, ReplayArrivals) and requests:
        return {name: _played(name, requests) for name in sorted({request.job_class for request in requests})}
    classes = {name: each for name, each in scenario.workload.classes.items() if each.weight > 0}
    total = sum(each.weight for each in classes.values())
    return {name: (_declared(each), each.weight / total) for name, each in classes.items()}


def _played(name: str, requests: Sequence[ScheduledRequest]) -> tuple[Endpoint, float]:
    members = [request for request in requests if request.job_class == name]
    whole = np.array([request.work_s for request in members])
    first = np.array([request.first_token_s for request in members])
    return Endpoint(whole, first, np.ones(len(members))), len(members) / len(requests)


def _declared(job_class: JobClass) -> Endpoint:
    grid = (np.arange(QUANTILES) + 0.5) / QUANTILES
    # A prompt's length and an answer's are drawn apart.
    scattered = np.mod(np.arange(QUANTILES, dtype=np.float64) * GOLDEN_SECTION + 0.5, 1.0)
    tokens_in = tokens_at(job_class.input_tokens, scattered)
    whole, first = service_times(job_class.service, tokens_in, tokens_at(job_class.output_tokens, grid), grid)
    return Endpoint(whole, first, np.ones(QUANTILES))


def under(endpoint: Endpoint, class_name: str, faults: Iterable[AnyFault], max_attempts: int) -> Endpoint:
    """An endpoint while all of `faults` act on it."""
    acting = list(faults)
    models = [each for each in newest_last(acting) if isinstance(each, ModelFault)]
    together = [composed_model(models)] if models else []
    for fault in (*together, *(each for each in acting if not isinstance(each, ModelFault))):
        endpoint = _under_one(endpoint, class_name, fault, max_attempts)
    return endpoint


def _under_one(endpoint: Endpoint, class_name: str, fault: AnyFault, max_attempts: int) -> Endpoint:
    match fault:
        case LatencyFault(link="model"):
            # Chunks are held from their arrival: latency counts once per answer, either way. The mean of jitter is 0.
            slower = Endpoint(endpoint.whole + fault.latency, endpoint.first + fault.latency, endpoint.weights)
            return _in_part(endpoint, slower, fault.toxicity)
        case ModelFault() if not fault.classes or class_name in fault.classes:
            slower = Endpoint(endpoint.whole * fault.slow_factor, endpoint.first * fault.slow_factor, endpoint.weights)
            failing = 1 - (1 - fault.failure_ratio) * (1 - fault.stall_ratio)
            return _in_part(slower, _lost(slower), failing**max_attempts)
        case TimeoutFault(link="model"):
            return _in_part(endpoint, _lost(endpoint), fault.toxicity)
        case ProxyDownFault(link="model") | ProcessFault(service="model", action="kill" | "pause"):
            return _lost(endpoint)
    return endpoint


def _lost(endpoint: Endpoint) -> Endpoint:
    return Endpoint(endpoint.whole, np.full_like(endpoint.first, np.inf), endpoint.weights)


def _in_part(spared: Endpoint, struck: Endpoint, share: float) -> Endpoint:
    """A mixture: this share of the jobs is struck."""
    if share in (0.0, 1.0):
        return struck if share else spared
    return Endpoint.pooled([(spared, 1 - share), (struck, share)])
