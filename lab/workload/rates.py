"""The expected arrival rate over time, in stretches in which it moves in a straight line."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lab.contract.messages import ScheduledRequest
from lab.contract.workload_spec import (
    Arrivals,
    ConstantArrivals,
    OnOffArrivals,
    PoissonArrivals,
    Stage,
    StagedArrivals,
)

# Of bursts shorter than this part of the workload the mean rate says enough.
MOST_TURNS = 10_000
SHORTEST_BIN_S = 1.0
MOST_BINS = 1000


@dataclass(frozen=True, slots=True)
class Stretch:
    """A stretch of time that is not empty; the rate moves in a straight line from its begin to its end."""

    begin_s: float
    end_s: float
    begin_rate_per_s: float
    end_rate_per_s: float

    @property
    def expected_count(self) -> float:
        """Expected arrivals: the area under the rate."""
        return (self.end_s - self.begin_s) * (self.begin_rate_per_s + self.end_rate_per_s) / 2


def stretches_of(
    arrivals: Arrivals, duration_s: float, requests: Sequence[ScheduledRequest] = ()
) -> tuple[Stretch, ...]:
    """The expected rate of declared arrivals from 0 to `duration_s`.

    Bursts are taken at the mean length of their turns. A replay's rate is counted from `requests`, its schedule;
    without them it is not known and there is no stretch.
    """
    match arrivals:
        case ConstantArrivals() | PoissonArrivals():
            return (Stretch(0.0, duration_s, arrivals.rate, arrivals.rate),)
        case StagedArrivals():
            return stages_in_a_row(arrivals.stages)
        case OnOffArrivals():
            return _mean_turns(arrivals, duration_s)
        case _:
            return _counted(requests, duration_s)


def stages_in_a_row(stages: Iterable[Stage]) -> tuple[Stretch, ...]:
    """One stage after another, those that last no time left out."""
    stretches: list[Stretch] = []
    begin_s = 0.0
    for stage in stages:
        if stage.lasts > 0:
            stretches.append(Stretch(begin_s, begin_s + stage.lasts, stage.start_rate, stage.end_rate))
        begin_s += stage.lasts
    return tuple(stretches)


def table_of(stretches: Sequence[Stretch]) -> NDArray[np.float64]:
    """A row per stretch: begin, end, rate at its begin, rate at its end."""
    return np.array([[s.begin_s, s.end_s, s.begin_rate_per_s, s.end_rate_per_s] for s in stretches], dtype=np.float64)


def turn(begin_s: float, end_s: float, rate_per_s: float) -> Stretch:
    """A stretch at one rate."""
    return Stretch(begin_s, end_s, rate_per_s, rate_per_s)


def mean_rate(
    arrivals: Arrivals, begin_s: float, end_s: float, duration_s: float, requests: Sequence[ScheduledRequest] = ()
) -> float:
    """Expected arrivals per second between two times; of bursts, over a whole cycle."""
    if isinstance(arrivals, OnOffArrivals):
        return _cycle_rate(arrivals)
    stretches = stretches_of(arrivals, duration_s, requests)
    return sum(_count_within(stretch, begin_s, end_s) for stretch in stretches) / (end_s - begin_s)


def _count_within(stretch: Stretch, begin_s: float, end_s: float) -> float:
    begin_s, end_s = max(begin_s, stretch.begin_s), min(end_s, stretch.end_s)
    if end_s <= begin_s:
        return 0.0
    slope = (stretch.end_rate_per_s - stretch.begin_rate_per_s) / (stretch.end_s - stretch.begin_s)
    return (end_s - begin_s) * (stretch.begin_rate_per_s + slope * ((begin_s + end_s) / 2 - stretch.begin_s))


def _cycle_rate(arrivals: OnOffArrivals) -> float:
    cycle_s = arrivals.mean_on + arrivals.mean_off
    if cycle_s <= 0:
        return arrivals.on_rate
    return (arrivals.on_rate * arrivals.mean_on + arrivals.off_rate * arrivals.mean_off) / cycle_s


def _mean_turns(arrivals: OnOffArrivals, duration_s: float) -> tuple[Stretch, ...]:
    cycle_s = arrivals.mean_on + arrivals.mean_off
    if cycle_s <= 0 or 2 * duration_s / cycle_s > MOST_TURNS:
        return (turn(0.0, duration_s, _cycle_rate(arrivals)),)
    turns: list[Stretch] = []
    for cycle in range(math.ceil(duration_s / cycle_s)):
        on_s, off_s = cycle * cycle_s, cycle * cycle_s + arrivals.mean_on
        turns.append(turn(on_s, min(off_s, duration_s), arrivals.on_rate))
        turns.append(turn(off_s, min(on_s + cycle_s, duration_s), arrivals.off_rate))
    return tuple(each for each in turns if each.end_s > each.begin_s)


def _counted(requests: Sequence[ScheduledRequest], duration_s: float) -> tuple[Stretch, ...]:
    if not requests:
        return ()
    bins = max(1, min(MOST_BINS, math.floor(duration_s / SHORTEST_BIN_S)))
    counts, edges = np.histogram([request.due_s for request in requests], bins=bins, range=(0.0, duration_s))
    return tuple(
        turn(float(begin_s), float(end_s), float(count / (end_s - begin_s)))
        for count, begin_s, end_s in zip(counts, edges[:-1], edges[1:], strict=True)
    )
