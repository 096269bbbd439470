"""What a policy has learnt: the last services of each class, the waits measured last, and what follows from them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Self

from lab.policies.estimate import Estimate, Estimator, percentile_of
from lab.policies.snapshot import ServiceSample

# One value for `informed`: samples by class and waits in seconds, both newest first.
Samples = Mapping[str, Sequence[ServiceSample]]


@dataclass(frozen=True, slots=True)
class ServiceBook:
    """A value: learning gives a new one. `estimates` are kept, so that asking for one costs nothing.

    `wait_s` is the estimator's percentile of the queue waits measured last, 0 with none.
    """

    estimator: Estimator = field(default_factory=Estimator)
    samples: Samples = field(default_factory=dict)
    estimates: Mapping[str, Estimate] = field(default_factory=dict)
    wait_s: float = 0.0

    def expected(self, job_class: str) -> Estimate:
        """The class's estimate; of a class never seen, the estimate from nothing."""
        known = self.estimates.get(job_class)
        return self.estimator.estimate(()) if known is None else known

    def observing(self, sample: ServiceSample) -> Self:
        """The book after one more finished service."""
        job_class = sample.job_class
        newest = (sample, *self.samples.get(job_class, ()))[: self.estimator.most_samples]
        estimates = {**self.estimates, job_class: self.estimator.estimate(newest)}
        return replace(self, samples={**self.samples, job_class: newest}, estimates=estimates)

    def informed(self, samples: Samples, waits_s: Sequence[float]) -> Self:
        """A book of the same estimator that holds these samples and waits, and no others."""
        estimates = {job_class: self.estimator.estimate(samples[job_class]) for job_class in sorted(samples)}
        wait_s = percentile_of([(wait_s, 1.0) for wait_s in waits_s], self.estimator.percentile) if waits_s else 0.0
        return replace(self, samples=samples, estimates=estimates, wait_s=wait_s)
