"""The capacity check against arithmetic done by hand."""

from pathlib import Path

import pytest

from lab.contract.loading import load_scenario, parse_scenario
from lab.contract.scenario import Scenario
from lab.workload.capacity import mean_rate, phase_loads
from lab.workload.threshold_check import derived_age_limits, forecast, unshed_peak_wait
from lab.workload.wording import capacity_lines

FLAGSHIP = Path(__file__).parents[2] / "scenarios" / "slow_provider.yaml"

REGIME_CHANGE = """
name: regime_change
summary: Drill 4's demand, its rate as published.
slo: {measure: turnaround, within: 30s}
stack: {workers: 2, slots: 4}
workload:
  seed: 1
  duration: 300s
  arrivals: {kind: poisson, rate: 6/s}
  classes:
    small: {weight: 70, service: {kind: constant, time: 800ms}, deadline: 30s}
    medium: {weight: 25, service: {kind: constant, time: 4s}, deadline: 30s}
    large: {weight: 5, service: {kind: constant, time: 12s}, deadline: 30s}
faults:
  - {kind: model, at: 120s, for: 180s, slow_factor: 3, classes: [large]}
policies:
  A: {kind: none}
"""


@pytest.fixture
def flagship() -> Scenario:
    return load_scenario(FLAGSHIP).scenario


def test_the_flagship_is_half_loaded_but_for_the_fault_which_makes_it_one_and_a_half(flagship: Scenario) -> None:
    baseline, fault, recovery = phase_loads(flagship)
    assert baseline.load_ratio == pytest.approx(0.5, rel=0.02)
    assert fault.load_ratio == pytest.approx(1.5, rel=0.02)
    assert recovery.load_ratio == pytest.approx(0.5, rel=0.02)
    assert fault.unavoidable_shed_ratio == pytest.approx(1 / 3, abs=0.01)
    assert baseline.unavoidable_shed_ratio == 0


def test_without_shedding_the_flagships_wait_peaks_where_the_arithmetic_says(flagship: Scenario) -> None:
    # Due t into the fault, a job waits t/2; the last served within the 20 s of fault is due at 13.3 s and waits 6.7 s.
    assert unshed_peak_wait(phase_loads(flagship)) == pytest.approx(20 / 3, abs=0.15)


def test_the_flagships_forecasts_agree_with_what_it_expects(flagship: Scenario) -> None:
    held = {each.letter: each.can_meet_slo for each in forecast(flagship)}
    assert held == {letter: expected.verdict == "held" for letter, expected in flagship.expect.items()}


def test_the_flagships_age_limit_lies_where_the_rule_puts_it(flagship: Scenario) -> None:
    low, high, words = derived_age_limits(flagship)
    assert (low, high) == (pytest.approx(1.56, abs=0.01), pytest.approx(1.82, abs=0.01))
    assert low <= flagship.policies["B"].max_age <= high  # type: ignore[union-attr] # B is a queue_age policy
    assert "slack 3.5 s - 0.90 s" in words


def test_drill_4_asks_for_thirteen_slots_of_eight_as_published_does_not_say() -> None:
    before, after = phase_loads(parse_scenario(REGIME_CHANGE, "regime.yaml"))
    assert before.offered_slots == pytest.approx(6 * 2.16)
    assert after.offered_slots == pytest.approx(6 * (0.7 * 0.8 + 0.25 * 4 + 0.05 * 36))


def test_at_five_slots_the_stated_rate_would_be_2_4() -> None:
    scenario = parse_scenario(REGIME_CHANGE.replace("6/s", "2.4/s"), "regime.yaml")
    assert phase_loads(scenario)[0].offered_slots == pytest.approx(5.18, abs=0.01)


def test_a_ramps_mean_rate_is_that_of_the_stretch_asked_for() -> None:
    text = REGIME_CHANGE.replace(
        "{kind: poisson, rate: 6/s}",
        "{kind: stages, stages: [{lasts: 100s, start_rate: 0/s, end_rate: 20/s}, {lasts: 200s, start_rate: 20/s, end_rate: 20/s}]}",
    )
    arrivals = parse_scenario(text, "ramp.yaml").workload.arrivals
    assert mean_rate(arrivals, 0, 100) == pytest.approx(10)
    assert mean_rate(arrivals, 50, 100) == pytest.approx(15)
    assert mean_rate(arrivals, 100, 300) == pytest.approx(20)


def test_every_line_of_the_check_is_a_sentence_with_its_numbers(flagship: Scenario) -> None:
    lines = capacity_lines(flagship)
    assert len(lines) == 3 + len(flagship.policies) + 1
    assert all(any(character.isdigit() for character in line) for line in lines)
