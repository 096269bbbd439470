"""Service times that an estimator is warmed with: as if so many jobs of each class had just been served at rest."""

from collections.abc import Sequence

import numpy as np

from lab.contract.messages import ScheduledRequest
from lab.contract.scenario import Scenario
from lab.workload.endpoint import endpoints_at_rest


def warm_samples(
    scenario: Scenario, requests: Sequence[ScheduledRequest], completions: int
) -> dict[str, list[tuple[float, float]]]:
    """Per class, newest first, `completions` pairs (age, service time), both in seconds.

    Service times are evenly spaced quantiles of the class's own distribution at rest, in an order drawn from the seed;
    ages are those of jobs that arrived at the workload's mean rate, in the class's share.
    """
    generator = np.random.default_rng(np.random.SeedSequence((scenario.workload.seed, completions)))
    rate_per_s = len(requests) / scenario.workload.duration
    samples = {}
    for name, (endpoint, share) in sorted(endpoints_at_rest(scenario, requests).items()):
        places = (generator.permutation(completions) + 0.5) / completions
        gap_s = 1 / (rate_per_s * share)
        samples[name] = [(n * gap_s, endpoint.service_quantile_s(float(place))) for n, place in enumerate(places)]
    return samples
