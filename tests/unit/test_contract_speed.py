"""SPEED divides every duration, multiplies every rate, and leaves everything else alone."""

from typing import Any

import pytest

from lab.contract.loading import parse_scenario
from lab.contract.scenario import Scenario
from lab.contract.speed import scaled
from lab.contract.workload_spec import ReplayArrivals

TEXT = """
name: faster
summary: Everything that SPEED touches, and some that it does not.
slo: {within: 4s, percentile: 95}
stack: {drain: 10s, workers: 3}
workload:
  seed: 3
  duration: 60s
  arrivals: {kind: stages, stages: [{lasts: 60s, start_rate: 2/s, end_rate: 6/s}]}
  classes:
    fixed: {service: {kind: constant, time: 2s, first_token: 1s}, deadline: 8s}
    drawn: {service: {kind: uniform, low: 1s, high: 2s}, deadline: {low: 2s, high: 6s}, weight: 2}
client: {answer_timeout: 6s}
faults: [{kind: latency, at: 20s, for: 10s, latency: 800ms, toxicity: 50%}]
policies: {B: {kind: queue_age, max_age: 2s}, C: {kind: queue_depth, max_depth: 40}}
expect: {B: {verdict: held}}
"""


@pytest.fixture(name="declared")
def declared_scenario() -> Scenario:
    return parse_scenario(TEXT, "faster.yaml")


def dump(scenario: Scenario) -> dict[str, Any]:
    return scenario.model_dump(by_alias=True)


def test_durations_shrink_wherever_they_stand(declared: Scenario) -> None:
    played = dump(scaled(declared, 2))
    assert played["slo"]["within"] == 2.0
    assert played["stack"]["drain"] == 5.0
    assert played["workload"]["duration"] == 30.0
    assert played["workload"]["arrivals"]["stages"][0]["lasts"] == 30.0
    assert played["client"]["answer_timeout"] == 3.0
    assert (played["faults"][0]["at"], played["faults"][0]["for"], played["faults"][0]["latency"]) == (10.0, 5.0, 0.4)
    assert played["policies"]["B"]["max_age"] == 1.0


def test_both_forms_of_a_deadline_and_an_optional_duration_shrink(declared: Scenario) -> None:
    fixed, drawn = scaled(declared, 2).workload.classes.values()
    assert fixed.deadline == 4.0
    assert dump(scaled(declared, 2))["workload"]["classes"]["drawn"]["deadline"] == {"low": 1.0, "high": 3.0}
    assert fixed.service.first_token == 0.5
    assert drawn.service.first_token is None


def test_rates_grow(declared: Scenario) -> None:
    stage = dump(scaled(declared, 2))["workload"]["arrivals"]["stages"][0]
    assert (stage["start_rate"], stage["end_rate"]) == (4.0, 12.0)


def test_counts_ratios_weights_and_seeds_stay(declared: Scenario) -> None:
    played = scaled(declared, 2)
    assert (played.stack.workers, played.slo.percentile, played.workload.seed) == (3, 95, 3)
    assert played.workload.classes["drawn"].weight == 2
    assert dump(played)["faults"][0]["toxicity"] == 0.5
    assert dump(played)["policies"]["C"]["max_depth"] == 40
    assert played.expect == declared.expect


def test_speed_one_is_the_scenario_itself(declared: Scenario) -> None:
    assert scaled(declared, 1) is declared


@pytest.mark.parametrize("speed", [0.0, -1.0, float("nan")])
def test_a_speed_that_is_not_above_zero_is_refused(declared: Scenario, speed: float) -> None:
    with pytest.raises(ValueError, match="it must be above 0"):
        scaled(declared, speed)


def test_a_played_scenario_written_as_json_reads_back_as_it_was(declared: Scenario) -> None:
    played = scaled(declared, 4)
    assert Scenario.model_validate(played.model_dump(mode="json", by_alias=True)) == played


def test_a_replay_is_played_faster_and_still_starts_where_it_did() -> None:
    arrivals = ReplayArrivals.model_validate({"kind": "replay", "file": "trace.csv", "skip": "10s", "time_scale": 2})
    faster = scaled(arrivals, 4)
    assert (faster.time_scale, faster.skip) == (8, 10)
