"""The interval of a percentile: its ends, and by simulation with seeded chance that it covers as often as it says."""

import math
import random
from collections.abc import Callable, Iterator

import pytest

from lab.reporter.interval import UNKNOWN, Interval, effective_count, percentile_interval

ROUNDS = 200
Draw = Callable[[random.Random, int], Iterator[float]]


def iid(chance: random.Random, count: int) -> Iterator[float]:
    for _ in range(count):
        yield chance.gauss(0, 1)


def ar1(chance: random.Random, count: int) -> Iterator[float]:
    """Normal in the long run, each 0.7 like the one before."""
    value = chance.gauss(0, 1)
    for _ in range(count):
        value = 0.7 * value + math.sqrt(1 - 0.7**2) * chance.gauss(0, 1)
        yield value


def mm1_waits(chance: random.Random, count: int) -> Iterator[float]:
    """Lindley's recursion at a load of 0.7, begun in its steady state."""
    wait = chance.expovariate(0.3) if chance.random() < 0.7 else 0.0
    for _ in range(count):
        yield wait
        wait = max(0.0, wait + chance.expovariate(1.0) - chance.expovariate(0.7))


P95 = {"iid": 1.6449, "ar1": 1.6449, "mm1_waits": math.log(0.7 / 0.05) / 0.3}


def coverage(draw: Draw, find: Callable[[list[float]], Interval], count: int = 2000) -> float:
    chance, truth = random.Random(1), P95[draw.__name__]
    found = [find(list(draw(chance, count))) for _ in range(ROUNDS)]
    return sum(_covers(interval, truth) for interval in found) / ROUNDS


def _covers(interval: Interval, value: float) -> bool:
    return (interval.low_s or -math.inf) <= value <= (math.inf if interval.high_s is None else interval.high_s)


def naive(samples: list[float]) -> Interval:
    """Order statistics as if jobs did not queue: the normal approximation of the binomial."""
    ordered, count = sorted(samples), len(samples)
    spread = 1.96 * math.sqrt(count * 0.95 * 0.05)
    return Interval(ordered[math.floor(0.95 * count - spread) - 1], ordered[math.ceil(0.95 * count + spread) - 1])


@pytest.mark.parametrize("draw", [iid, ar1, mm1_waits])
def test_it_covers_the_true_percentile_about_as_often_as_it_says(draw: Draw) -> None:
    assert 0.90 <= coverage(draw, lambda samples: percentile_interval([samples], 95)) <= 1.0


def test_as_if_independent_it_would_cover_too_seldom_where_jobs_queue() -> None:
    assert coverage(iid, naive) > 0.9
    assert coverage(ar1, naive) < 0.85
    assert coverage(mm1_waits, naive) < 0.5


def test_correlated_samples_are_worth_fewer() -> None:
    chance = random.Random(1)
    waits = list(mm1_waits(chance, 2000))
    shuffled = chance.sample(waits, len(waits))
    limit = P95["mm1_waits"]
    assert effective_count([waits], limit) < effective_count([shuffled], limit) / 3


def test_repeats_make_it_narrower_and_stay_apart() -> None:
    chance = random.Random(4)
    repeats = [list(iid(chance, 400)) for _ in range(5)]
    one, all_five = percentile_interval(repeats[:1], 95), percentile_interval(repeats, 95)
    assert width(all_five) < width(one)


def width(interval: Interval) -> float:
    assert interval.low_s is not None
    assert interval.high_s is not None
    return interval.high_s - interval.low_s


def test_no_upper_end_is_made_up_where_the_samples_are_too_few() -> None:
    found = percentile_interval([[float(number) for number in range(60)]], 95)
    assert found.low_s is not None
    assert found.high_s is None
    assert percentile_interval([[1.0]], 95) == percentile_interval([], 95) == percentile_interval([[]], 95) == UNKNOWN


def test_the_ends_are_infinite_where_failures_reach_them() -> None:
    few = [math.inf if number % 25 == 0 else 1.0 for number in range(1000)]
    many = [math.inf if number % 10 == 0 else 1.0 for number in range(1000)]
    assert percentile_interval([few], 95) == Interval(1.0, math.inf)
    assert percentile_interval([many], 95) == Interval(math.inf, math.inf)


@pytest.mark.parametrize(
    ("interval", "straddles"),
    [
        (Interval(3.0, 3.4), False),
        (Interval(3.0, 3.5), False),
        (Interval(3.5, 3.6), True),
        (Interval(3.51, math.inf), False),
        (Interval(3.0, math.inf), True),
        (Interval(3.0, None), True),
        (Interval(3.6, None), False),
        (Interval(None, 3.6), True),
        (UNKNOWN, True),
    ],
)
def test_it_straddles_a_bound_that_it_holds_on_both_sides(interval: Interval, straddles: bool) -> None:
    assert interval.straddles(3.5, 1.0, 4.0) is straddles


def test_an_end_that_is_not_known_does_not_speak_against_what_no_job_was_past() -> None:
    assert Interval(3.0, None).straddles(3.5, 1.0, 3.4) is False
