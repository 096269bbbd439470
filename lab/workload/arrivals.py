"""Due times, in seconds after the schedule's start, for each kind of arrivals that needs no file."""

import math

import numpy as np
from numpy.typing import NDArray

from lab.contract.workload_spec import ConstantArrivals, OnOffArrivals, PoissonArrivals, Stage, StagedArrivals

Times = NDArray[np.float64]
# Beyond this many requests a schedule is a mistake in its rate.
MAX_REQUESTS = 1_000_000


def constant_times(arrivals: ConstantArrivals, duration_s: float) -> Times:
    """One every 1/rate, the first at 0."""
    if arrivals.rate <= 0:
        return np.empty(0)
    # A hair is taken off so that a duration that is a whole number of gaps does not give one request more.
    count = math.ceil(duration_s * arrivals.rate - 1e-9)
    return np.arange(min(count, MAX_REQUESTS + 1)) / arrivals.rate


def poisson_times(arrivals: PoissonArrivals, duration_s: float, generator: np.random.Generator) -> Times:
    """A homogeneous Poisson process on [0, duration)."""
    return unit_poisson_times(arrivals.rate * duration_s, generator) / max(arrivals.rate, 1e-300)


def unit_poisson_times(length: float, generator: np.random.Generator) -> Times:
    """A Poisson process of rate 1 on [0, length)."""
    times = np.cumsum(generator.standard_exponential(size=_enough(length)))
    return times[times < length]


def staged_times(arrivals: StagedArrivals, generator: np.random.Generator) -> Times:
    """Arrivals at a piecewise-linear rate.

    By inversion: with R(t) the expected count up to t, a process of rate 1 on [0, R(end)) mapped through the
    inverse of R is Poisson with that rate (Cinlar 1975); evenly spaced points give the same counts without chance.
    """
    total = sum(_expected(stage) for stage in arrivals.stages)
    if arrivals.process == "poisson":
        counts = unit_poisson_times(total, generator)
    else:
        counts = np.arange(min(math.ceil(total - 1e-9), MAX_REQUESTS + 1), dtype=np.float64)
    return _inverted(arrivals.stages, counts)


def on_off_times(arrivals: OnOffArrivals, duration_s: float, generator: np.random.Generator) -> Times:
    """Poisson at two rates by turns, on first; every turn is exponentially long with its mean."""
    stages: list[Stage] = []
    at, on = 0.0, True
    while at < duration_s:
        lasts = float(generator.exponential(arrivals.mean_on if on else arrivals.mean_off))
        rate = arrivals.on_rate if on else arrivals.off_rate
        lasts = min(lasts, duration_s - at)
        stages.append(Stage.model_construct(lasts=lasts, start_rate=rate, end_rate=rate))
        at, on = at + lasts, not on
        if len(stages) > MAX_REQUESTS:
            break
    total = sum(_expected(stage) for stage in stages)
    return _inverted(tuple(stages), unit_poisson_times(total, generator))


def _expected(stage: Stage) -> float:
    """Expected count of a stage: the area under its rate."""
    return stage.lasts * (stage.start_rate + stage.end_rate) / 2


def _inverted(stages: tuple[Stage, ...], counts: Times) -> Times:
    """The times at which the expected count reaches each of `counts`, which ascend."""
    times = np.empty_like(counts)
    begin_s, begin_count = 0.0, 0.0
    for stage in stages:
        end_count = begin_count + _expected(stage)
        inside = (counts >= begin_count) & (counts < end_count)
        times[inside] = begin_s + _time_in_stage(stage, counts[inside] - begin_count)
        begin_s, begin_count = begin_s + stage.lasts, end_count
    return times


def _time_in_stage(stage: Stage, counts: Times) -> Times:
    """Solves a*t + b*t*t/2 = count for t (a first rate, b slope), without cancellation for small slopes."""
    a, b = stage.start_rate, (stage.end_rate - stage.start_rate) / stage.lasts
    root = np.sqrt(np.maximum(a * a + 2 * b * counts, 0.0))
    denominator = a + root
    return np.divide(2 * counts, denominator, out=np.zeros_like(counts), where=denominator > 0)


def _enough(length: float) -> int:
    # Ten standard deviations above the mean: fewer draws than needed does not happen.
    return min(math.ceil(length + 10 * math.sqrt(length) + 10), 2 * MAX_REQUESTS)
