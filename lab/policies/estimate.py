"""How long a job's service is expected to take, from the last services of its class.

    est(c)  =  max(Q(c), floor)        with at least n_min samples of class c, or with no floor
    est(c)  =  floor                   else
    Q(c)    =  the smallest s whose samples up to it weigh at least p/100 of all samples of c
    weight of a sample  =  2 ** (-(age behind the newest sample) / h),  or 1 without a half-life
    work ahead  =  sum over classes of unsettled(c) * est(c) / max(1, slots)

p       percentile, 0 to 100
h       half_life_s, seconds; after it a sample weighs half
floor   floor_s, the least that is expected, seconds
n_min   min_samples, a count; below it the estimate is cold
samples of c: the newest `most_samples` of the class, a count
unsettled(c)  jobs of class c admitted and not settled, queued or in flight, a count

Ages are taken against the newest sample, since only the ratio of two weights matters; so an estimate does not change
while nothing finishes. Of a class without samples nothing above the floor is expected.

Source: DRILLS.md sections 2 (plain p95, floor) and 4 (recency weighting, queue_ahead).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lab.contract.names import SERVICE_SAMPLES
from lab.policies.snapshot import ServiceSample

# So that 0.95 * 200 samples need exactly 190 of them, whatever the sum of their weights rounds to.
ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Estimate:
    """What is expected of a class: seconds of service, from how many samples, and whether these are too few."""

    service_s: float
    sample_count: int
    cold: bool


@dataclass(frozen=True, slots=True)
class Estimator:
    """The parameters of an estimate; see the module. `half_life_s` None weighs all samples alike."""

    percentile: float = 95.0
    half_life_s: float | None = 30.0
    most_samples: int = SERVICE_SAMPLES
    min_samples: int = 10
    floor_s: float = 0.0

    def estimate(self, samples: Sequence[ServiceSample]) -> Estimate:
        """The estimate from one class's samples, newest first."""
        used = samples[: self.most_samples]
        cold = len(used) < self.min_samples
        if not used or (cold and self.floor_s > 0):
            return Estimate(self.floor_s, len(used), cold)
        weighted = [(sample.service_time_s, self._weight(sample, used[0])) for sample in used]
        return Estimate(max(percentile_of(weighted, self.percentile), self.floor_s), len(used), cold)

    def _weight(self, sample: ServiceSample, newest: ServiceSample) -> float:
        if self.half_life_s is None:
            return 1.0
        return math.exp2(-max(0.0, newest.finished_at - sample.finished_at) / self.half_life_s)


def percentile_of(weighted: Sequence[tuple[float, float]], percentile: float) -> float:
    """The smallest value at which values up to it hold `percentile` (0 to 100) of the weight.

    `weighted` holds (value, weight) and is not empty.
    """
    ordered = sorted(weighted)
    needed = percentile / 100 * sum(weight for _, weight in ordered) * (1 - ROUNDING)
    reached = 0.0
    for value, weight in ordered:
        reached += weight
        if reached >= needed:
            return value
    return ordered[-1][0]


def work_ahead_s(unsettled: Mapping[str, int], expected_s: Mapping[str, float], slots: int) -> float:
    """Seconds until the slots have done all that was admitted, if it takes what is expected.

    `expected_s` is each class's estimate, in the order in which the gate's script adds them up too.
    """
    work_s = 0.0
    for job_class, service_s in expected_s.items():
        work_s += max(0, unsettled.get(job_class, 0)) * service_s
    return work_s / max(1, slots)
