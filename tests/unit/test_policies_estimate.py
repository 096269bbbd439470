"""Estimates by hand: plain and recency-weighted percentiles, floors, cold starts, the work ahead, what a book keeps."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.policies.estimate import Estimate, Estimator, percentile_of, work_ahead_s
from lab.policies.service_book import ServiceBook
from lab.policies.snapshot import ServiceSample

PLAIN = Estimator(half_life_s=None)


def services(*times_s: float, every_s: float = 1.0, job_class: str = "chat") -> tuple[ServiceSample, ...]:
    """Newest first, the first given finished last."""
    return tuple(ServiceSample(job_class, time_s, 1_000.0 - place * every_s) for place, time_s in enumerate(times_s))


def test_the_plain_p95_of_200_is_the_190th() -> None:
    shuffled = [float((number * 77) % 200 + 1) for number in range(200)]
    assert sorted(shuffled) == [float(number) for number in range(1, 201)]
    assert PLAIN.estimate(services(*shuffled)) == Estimate(190.0, 200, cold=False)


def test_only_the_last_samples_count() -> None:
    assert Estimator(half_life_s=None, most_samples=20).estimate(services(*[1.0] * 20, *[9.0] * 100)).service_s == 1.0


@pytest.mark.parametrize(
    ("weighted", "percentile", "value"),
    [
        pytest.param([(1.0, 1.0), (2.0, 1.0)], 50, 1.0, id="half of the weight is reached at the first of two"),
        pytest.param([(1.0, 1.0), (2.0, 1.0)], 51, 2.0, id="and no more than half is not"),
        pytest.param([(3.0, 1.0), (1.0, 2.0), (2.0, 1.0)], 75, 2.0, id="by value, not by place"),
        pytest.param([(1.0, 1.0), (9.0, 0.0)], 99, 1.0, id="what weighs nothing is not there"),
        pytest.param([(5.0, 0.25)], 1, 5.0, id="one is every percentile"),
    ],
)
def test_a_weighted_percentile_is_where_the_weight_is_reached(
    weighted: list[tuple[float, float]], percentile: float, value: float
) -> None:
    assert percentile_of(weighted, percentile) == value


def test_a_sample_one_half_life_older_weighs_half() -> None:
    # Weights 1 (12 s), 1/2 (4 s), 1/4 (2 s), 1.75 in all: 4 s and less hold 3/7 = 42.86 % of it.
    taught = services(12.0, 4.0, 2.0, every_s=30.0)
    assert Estimator(percentile=42.8, half_life_s=30.0, min_samples=1).estimate(taught).service_s == 4.0
    assert Estimator(percentile=42.9, half_life_s=30.0, min_samples=1).estimate(taught).service_s == 12.0


def test_after_a_regime_change_recency_moves_the_estimate_that_a_plain_percentile_keeps() -> None:
    # Drill 4's large jobs: 199 old ones of 12 s, one each 3.3 s, and the first of 36 s. With a half-life of 30 s the
    # old ones weigh 0.927 / (1 - 0.927) = 12.6 together, and the new one has 1 / 13.6 = 7.4 %: more than the top 5 %.
    taught = services(36.0, *[12.0] * 199, every_s=3.3)
    assert Estimator(half_life_s=30.0).estimate(taught).service_s == 36.0
    assert PLAIN.estimate(taught).service_s == 12.0


def test_drill_2_takes_the_floor_alone_until_ten_services_are_done() -> None:
    drill_2 = Estimator(half_life_s=None, floor_s=0.35)
    assert drill_2.estimate(services(*[1.2] * 9)) == Estimate(0.35, 9, cold=True)
    assert drill_2.estimate(services(*[1.2] * 10)) == Estimate(1.2, 10, cold=False)
    assert drill_2.estimate(services(*[0.2] * 10)) == Estimate(0.35, 10, cold=False)


def test_without_a_floor_a_cold_estimate_is_what_there_is() -> None:
    assert Estimator(min_samples=50).estimate(services(3.0)) == Estimate(3.0, 1, cold=True)
    assert Estimator(min_samples=50).estimate(()) == Estimate(0.0, 0, cold=True)


@given(times_s=st.lists(st.floats(0.001, 100), min_size=1, max_size=40), half_life_s=st.floats(0.1, 1_000))
def test_an_estimate_is_one_of_the_services_seen(times_s: list[float], half_life_s: float) -> None:
    assert Estimator(half_life_s=half_life_s, min_samples=1).estimate(services(*times_s)).service_s in times_s


def test_the_work_ahead_counts_every_class_by_its_estimate_and_slots_share_it() -> None:
    # 10 small at 0.8 s, 4 medium at 4 s, 1 large at 12 s: 36 s of work over 8 slots.
    unsettled = {"small": 10, "medium": 4, "large": 1, "unknown": 50}
    assert work_ahead_s(unsettled, {"small": 0.8, "medium": 4.0, "large": 12.0}, 8) == 4.5


def test_the_work_ahead_of_no_live_worker_is_that_of_one_slot_and_a_count_below_zero_is_none() -> None:
    assert work_ahead_s({"chat": 3, "code": -1}, {"chat": 2.0, "code": 5.0}, 0) == 6.0


def test_a_book_taught_one_by_one_is_the_book_informed_of_all() -> None:
    taught = ServiceBook()
    for sample in reversed(services(3.0, 2.0, 1.0)):
        taught = taught.observing(sample)
    informed = ServiceBook().informed({"chat": services(3.0, 2.0, 1.0)}, ())
    assert (taught.samples, taught.estimates) == (informed.samples, informed.estimates)


def test_a_book_keeps_no_more_samples_than_its_estimator_takes() -> None:
    book = ServiceBook(Estimator(most_samples=3))
    for sample in reversed(services(5.0, 4.0, 3.0, 2.0, 1.0)):
        book = book.observing(sample)
    assert [sample.service_time_s for sample in book.samples["chat"]] == [5.0, 4.0, 3.0]


def test_a_class_never_seen_is_expected_to_take_the_floor() -> None:
    assert ServiceBook(Estimator(floor_s=0.35)).expected("new") == Estimate(0.35, 0, cold=True)


def test_measured_waits_become_their_percentile() -> None:
    waits_s = [float(number) for number in range(1, 101)]
    assert ServiceBook().informed({}, waits_s).wait_s == 95.0
    assert ServiceBook().informed({}, ()).wait_s == 0.0
