"""Drift: an estimate that more than doubles within the window is said once."""

from lab.policies.drift import Drift, DriftWatch
from lab.policies.estimate import Estimate


def played(*seen: tuple[float, float], cold: bool = False) -> list[list[Drift]]:
    """The drifts said at each look, given as (at, estimated service in s)."""
    watch, said = DriftWatch(60.0), []
    for at, service_s in seen:
        watch, drifts = watch.after(at, {"large": Estimate(service_s, 200, cold)})
        said.append(list(drifts))
    return said


def test_an_estimate_that_triples_within_a_minute_is_said_once() -> None:
    assert played((0.0, 12.0), (30.0, 36.0), (31.0, 36.0), (90.0, 36.0)) == [
        [],
        [Drift("large", 12.0, 36.0, 60.0)],
        [],
        [],
    ]


def test_exactly_double_is_not_more_than_double() -> None:
    assert played((0.0, 1.0), (1.0, 2.0)) == [[], []]


def test_a_rise_in_small_steps_is_measured_against_the_lowest_of_the_window() -> None:
    assert [len(said) for said in played((0.0, 1.0), (20.0, 1.5), (40.0, 2.1))] == [0, 0, 1]
    assert [len(said) for said in played((0.0, 1.0), (50.0, 1.5), (100.0, 2.1))] == [0, 0, 0]


def test_an_estimate_that_stayed_low_counts_from_when_it_was_last_seen() -> None:
    assert [len(said) for said in played((0.0, 1.0), (100.0, 1.0), (150.0, 2.5))] == [0, 0, 1]


def test_a_second_change_is_said_again() -> None:
    assert [len(said) for said in played((0.0, 1.0), (10.0, 3.0), (20.0, 7.0))] == [0, 1, 1]


def test_what_is_learnt_from_too_few_samples_is_no_drift() -> None:
    assert played((0.0, 1.0), (10.0, 9.0), cold=True) == [[], []]


def test_classes_drift_apart() -> None:
    watch, _ = DriftWatch(60.0).after(0.0, {"a": Estimate(1.0, 50, cold=False), "b": Estimate(9.0, 50, cold=False)})
    _, drifts = watch.after(1.0, {"a": Estimate(9.0, 51, cold=False), "b": Estimate(9.0, 51, cold=False)})
    assert [drift.job_class for drift in drifts] == ["a"]
