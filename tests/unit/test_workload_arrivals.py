"""Due times of each kind of arrivals."""

import numpy as np
import pytest

from lab.contract.workload_spec import ConstantArrivals, OnOffArrivals, PoissonArrivals, StagedArrivals
from lab.workload.arrivals import MAX_REQUESTS, Times, constant_times, on_off_times, poisson_times, staged_times
from lab.workload.errors import WorkloadError


def generator() -> np.random.Generator:
    return np.random.default_rng(5)


def constant(rate: str, duration_s: float) -> Times:
    return constant_times(ConstantArrivals.model_validate({"kind": "constant", "rate": rate}), duration_s)


def poisson(rate: str, duration_s: float) -> Times:
    return poisson_times(PoissonArrivals.model_validate({"kind": "poisson", "rate": rate}), duration_s, generator())


def staged(*stages: tuple[str, str, str], process: str = "poisson") -> Times:
    declared = [{"lasts": lasts, "start_rate": start, "end_rate": end} for lasts, start, end in stages]
    arrivals = StagedArrivals.model_validate({"kind": "stages", "process": process, "stages": declared})
    return staged_times(arrivals, generator())


def on_off(duration_s: float, **changes: str) -> Times:
    declared = {"kind": "on_off", "on_rate": "50/s", "off_rate": "0/s", "mean_on": "2s", "mean_off": "6s", **changes}
    return on_off_times(OnOffArrivals.model_validate(declared), duration_s, generator())


def test_constant_arrivals_are_evenly_spaced_from_0_and_end_before_the_duration() -> None:
    assert constant("4/s", 2).tolist() == [n / 4 for n in range(8)]


def test_a_rate_of_0_is_no_arrivals() -> None:
    assert len(constant("0/s", 9)) == 0
    assert len(poisson("0/s", 9)) == 0
    assert len(staged(("9s", "0/s", "0/s"))) == 0


def test_a_rate_far_too_high_gives_more_than_the_limit_and_not_endless_memory() -> None:
    limit = MAX_REQUESTS
    assert limit < len(constant("1000000000000/s", 9)) < 3 * limit
    assert limit < len(poisson("1000000000000/s", 9)) < 3 * limit


def test_poisson_arrivals_have_the_declared_rate_and_exponential_gaps() -> None:
    times = poisson("40/s", 500)
    gaps = np.diff(times)
    # Five standard deviations of a Poisson count of 20,000 are 3.5 %.
    assert len(times) == pytest.approx(20_000, rel=0.035)
    assert gaps.std() / gaps.mean() == pytest.approx(1, abs=0.05)
    assert times[0] >= 0
    assert times[-1] < 500


def test_a_ramp_without_chance_is_where_the_inverse_of_its_integral_puts_it() -> None:
    # From 0 to 100/s in 200 s the count is t * t / 4, so the n-th comes at 2 * sqrt(n).
    times = staged(("200s", "0/s", "100/s"), process="constant")
    assert times == pytest.approx(2 * np.sqrt(np.arange(10_000)))


def test_a_ramp_by_chance_has_a_quarter_of_its_arrivals_in_its_first_half() -> None:
    times = staged(("200s", "0/s", "100/s"))
    assert len(times) == pytest.approx(10_000, rel=0.05)
    assert (times < 100).mean() == pytest.approx(0.25, abs=0.02)
    assert times.max() < 200


def test_stages_follow_each_other_and_a_silent_or_empty_one_holds_nothing() -> None:
    times = staged(
        ("0s", "9/s", "9/s"), ("2s", "2/s", "2/s"), ("3s", "0/s", "0/s"), ("2s", "2/s", "0/s"), process="constant"
    )
    assert times.tolist() == pytest.approx([0.0, 0.5, 1.0, 1.5, 5.0, 5.0 + (2 - np.sqrt(4 - 2)) / 1])


def test_bursts_come_and_go_as_declared() -> None:
    times = on_off(2000)
    active = np.bincount(times.astype(int), minlength=2000) > 0
    assert len(times) / 2000 == pytest.approx(50 * 2 / 8, rel=0.25)
    assert 0.2 < active.mean() < 0.5


def test_bursts_without_a_pause_are_one_rate() -> None:
    assert len(on_off(400, mean_off="0s")) == pytest.approx(20_000, rel=0.035)


def test_bursts_that_last_no_time_at_all_are_refused() -> None:
    with pytest.raises(WorkloadError, match="more than 1,000,000 bursts fall into this workload; lengthen mean_on"):
        on_off(10, mean_on="0s", mean_off="0s")
