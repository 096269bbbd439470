"""Due times, in seconds after the schedule's start, for each kind of arrivals that needs no file."""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from lab.contract.workload_spec import ConstantArrivals, OnOffArrivals, PoissonArrivals, StagedArrivals
from lab.workload.errors import WorkloadError
from lab.workload.rates import Stretch, stages_in_a_row, table_of, turn

Times = NDArray[np.float64]
# Beyond this many requests a schedule is a mistake in its rate; beyond as many bursts, in their length.
MAX_REQUESTS = 1_000_000
MAX_TURNS = 1_000_000


def constant_times(arrivals: ConstantArrivals, duration_s: float) -> Times:
    """One every 1/rate, the first at 0."""
    if arrivals.rate <= 0:
        return np.empty(0)
    return evenly_spaced(duration_s * arrivals.rate) / arrivals.rate


def evenly_spaced(length: float) -> Times:
    """0, 1, 2, ... below `length`."""
    # A hair is taken off so that a duration that is a whole number of gaps does not give one request more.
    return np.arange(min(math.ceil(length - 1e-9), MAX_REQUESTS + 1), dtype=np.float64)


def poisson_times(arrivals: PoissonArrivals, duration_s: float, generator: np.random.Generator) -> Times:
    """A homogeneous Poisson process on [0, duration)."""
    if arrivals.rate <= 0:
        return np.empty(0)
    return unit_poisson_times(arrivals.rate * duration_s, generator) / arrivals.rate


def unit_poisson_times(length: float, generator: np.random.Generator) -> Times:
    """A Poisson process of rate 1 on [0, length)."""
    times = np.cumsum(generator.standard_exponential(size=_enough(length)))
    return times[times < length]


def staged_times(arrivals: StagedArrivals, generator: np.random.Generator) -> Times:
    """Arrivals at a piecewise-linear rate.

    By inversion: with R(t) the expected count up to t, a process of rate 1 on [0, R(end)) mapped through the
    inverse of R is Poisson with that rate (Cinlar 1975); evenly spaced points give the same counts without chance.
    """
    stretches = stages_in_a_row(arrivals.stages)
    total = _reached(stretches)[-1]
    counts = evenly_spaced(total) if arrivals.process == "constant" else unit_poisson_times(total, generator)
    return _inverted(stretches, counts)


def on_off_times(arrivals: OnOffArrivals, duration_s: float, generator: np.random.Generator) -> Times:
    """Poisson at two rates by turns, on first; every turn is exponentially long with its mean.

    Raises:
        WorkloadError: the turns are so short that far too many fall into the duration.
    """
    turns = _drawn_turns(arrivals, duration_s, generator)
    return _inverted(turns, unit_poisson_times(_reached(turns)[-1], generator))


def _drawn_turns(arrivals: OnOffArrivals, duration_s: float, generator: np.random.Generator) -> list[Stretch]:
    turns: list[Stretch] = []
    begin_s = 0.0
    for number in range(MAX_TURNS):
        mean_s, rate = (arrivals.mean_off, arrivals.off_rate) if number % 2 else (arrivals.mean_on, arrivals.on_rate)
        end_s = min(begin_s + float(generator.exponential(mean_s)), duration_s)
        if end_s > begin_s:
            turns.append(turn(begin_s, end_s, rate))
        if end_s == duration_s:
            return turns
        begin_s = end_s
    raise WorkloadError(f"more than {MAX_TURNS:,} bursts fall into this workload; lengthen mean_on or mean_off")


def _reached(stretches: Sequence[Stretch]) -> Times:
    """The expected count at the begin of each stretch, and at the end of the last."""
    return np.cumsum([0.0, *(stretch.expected_count for stretch in stretches)])


def _inverted(stretches: Sequence[Stretch], counts: Times) -> Times:
    """The times at which the expected count reaches each of `counts`."""
    if not len(counts):
        return counts
    reached = _reached(stretches)
    # Where the rate is 0 the count stands still, and the last stretch that begins with it is the one that goes on.
    index = np.minimum(np.searchsorted(reached, counts, side="right") - 1, len(stretches) - 1)
    begin, end, begin_rate, end_rate = table_of(stretches)[index].T
    slope = (end_rate - begin_rate) / (end - begin)
    times: Times = np.minimum(begin + _time_until(counts - reached[index], begin_rate, slope), end)
    return times


def _time_until(counts: Times, rate: Times, slope: Times) -> Times:
    """Solves rate * t + slope * t * t / 2 = count for t, without cancellation for small slopes."""
    denominator = rate + np.sqrt(np.maximum(rate * rate + 2 * slope * counts, 0.0))
    return np.divide(2 * counts, denominator, out=np.zeros_like(counts), where=denominator > 0)


def _enough(length: float) -> int:
    # Ten standard deviations above the mean: fewer draws than needed does not happen.
    return min(math.ceil(length + 10 * math.sqrt(length) + 10), 2 * MAX_REQUESTS)
