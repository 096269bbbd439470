"""Whether thresholds can meet the SLO, against arithmetic done by hand."""

from pathlib import Path
from typing import Any

import pytest

from lab.contract.loading import load_scenario
from lab.contract.scenario import Scenario
from lab.workload.derive import AgeLimit, derived_age_limit
from lab.workload.threshold_check import PolicyForecast, forecast
from tests.unit.workload_scenarios import drill_4, fault, scenario, slow_by_800_ms

FLAGSHIP = Path(__file__).parents[2] / "scenarios" / "slow_provider.yaml"
SLOW = fault("latency", latency="800ms")


def by_letter(declared: Scenario) -> dict[str, PolicyForecast]:
    return {each.letter: each for each in forecast(declared)}


def limit(declared: Scenario) -> AgeLimit:
    found = derived_age_limit(declared)
    assert found is not None
    return found


def drill_3(max_age: str = "2s") -> Scenario:
    """Two slots that serve 2/s, 20/s offered for long."""
    chat = {"service": {"kind": "constant", "time": "1s", "first_token": "1s"}, "deadline": "30s"}
    return scenario(
        duration="200s",
        arrivals={"kind": "constant", "rate": "20/s"},
        stack={"workers": 2, "slots": 1},
        classes={"chat": chat},
        slo={"within": "5s"},
        policies={"B": {"kind": "queue_age", "max_age": max_age}, "C": {"kind": "queue_depth", "max_depth": 10}},
    )


def test_each_policys_wait_and_first_token_in_the_slow_provider_drill() -> None:
    found = by_letter(slow_by_800_ms())
    # A: 6.67 s. B: 1.6 s x 10/s at 6.67/s. C: 41 jobs at 6.67/s. D: no queue stands.
    waits = {letter: each.peak_wait_s for letter, each in found.items()}
    assert waits == pytest.approx({"A": 20 / 3, "B": 2.4, "C": 6.15, "D": 0.0}, abs=0.05)
    totals = {letter: each.peak_measure_s for letter, each in found.items()}
    assert totals == pytest.approx({"A": 7.57, "B": 3.3, "C": 7.05, "D": 0.9}, abs=0.05)
    assert {letter: each.can_meet_slo for letter, each in found.items()} == {
        "A": False,
        "B": True,
        "C": False,
        "D": True,
    }


def test_the_flagships_forecasts_agree_with_what_it_expects() -> None:
    flagship = load_scenario(FLAGSHIP).scenario
    held = {letter: each.can_meet_slo for letter, each in by_letter(flagship).items()}
    assert held == {letter: expected.verdict == "held" for letter, expected in flagship.expect.items()}


def test_sentences_carry_the_arithmetic() -> None:
    found = by_letter(slow_by_800_ms())
    assert "1.6 s x 10.00/s = 16 jobs, which at 6.67/s wait up to 2.4 s; " in found["B"].sentence
    assert "with the endpoint's p95 of 0.90 s that makes 3.3 s, which can meet" in found["B"].sentence
    assert "41 jobs at 6.67/s are a wait of 6.1 s" in found["C"].sentence
    assert "at least 47% is shed where 33% would do" in found["D"].sentence
    assert found["A"].sentence.endswith("which cannot meet the SLO of 3.5 s")


def test_an_age_limit_overshoots_as_in_drill_3_where_the_claim_cannot_be() -> None:
    found = by_letter(drill_3())
    # 2 s x 20/s let 40 jobs in, and at 2/s the last waits 20 s; a depth of 10 is a queue of 5.5 s.
    assert found["B"].peak_wait_s == pytest.approx(20)
    assert found["C"].peak_wait_s == pytest.approx(5.5)
    assert not found["B"].can_meet_slo


def test_far_above_capacity_the_age_limit_shrinks_with_the_load_and_then_holds() -> None:
    found = limit(drill_3())
    assert [found.lowest_s, found.highest_s] == pytest.approx([0.6 * 4 / 10, 0.7 * 4 / 10])
    assert "at 10.0 x capacity waits swing up to 10.0 x the limit, so divided by that: 0.24 to 0.28 s" in found.sentence
    assert by_letter(drill_3("400ms"))["B"].can_meet_slo


def test_a_derived_age_limit_leaves_a_third_of_the_slack_to_spare() -> None:
    declared = slow_by_800_ms()
    found = limit(declared)
    assert [found.lowest_s, found.highest_s] == pytest.approx([1.04, 1.213], abs=0.001)
    assert found.sentence.startswith("slack 3.5 s - 0.90 s = 2.60 s, of which 60 to 70 % are 1.56 to 1.82 s; ")
    by_the_rule = declared.model_copy(
        update={"policies": {"B": declared.policies["B"].model_copy(update={"max_age": found.highest_s})}}
    )
    assert by_letter(by_the_rule)["B"].peak_wait_s == pytest.approx(0.7 * 2.6)


def test_no_age_limit_holds_where_the_endpoint_alone_takes_longer_than_the_slo() -> None:
    found = limit(scenario(fault("latency", latency="9s")))
    assert (found.lowest_s, found.highest_s) == (0, 0)
    assert found.sentence == "none holds, for the endpoint alone takes 9.1 s of 3.5 s"


def test_turnaround_is_judged_by_the_whole_service_time_and_by_the_slos_own_percentile() -> None:
    # A large job takes 36 s after the fault begins: above 30 s before it has waited at all, but only 5 % are large.
    found = by_letter(drill_4("0.6/s").model_copy(update={"slo": drill_4().slo.model_copy(update={"percentile": 99})}))
    assert found["A"].peak_measure_s == pytest.approx(36)
    assert by_letter(drill_4("0.6/s"))["A"].peak_measure_s == pytest.approx(4)


@pytest.mark.parametrize(("phases", "meets"), [(["baseline"], True), (["recovery"], True), (["fault"], False)])
def test_only_the_slos_phases_are_judged(phases: list[str], *, meets: bool) -> None:
    # Who comes in recovery waits 3.3 s for what the fault left, and sees the first token 0.1 s later.
    declared = scenario(SLOW, slo={"within": "3.5s", "phases": phases})
    assert by_letter(declared)["A"].can_meet_slo is meets


def test_a_policy_that_only_logs_is_judged_as_one_that_admits_everything() -> None:
    policies = {"A": {"kind": "none"}, "B": {"kind": "queue_age", "max_age": "1s", "mode": "log_only"}}
    found = by_letter(scenario(SLOW, policies=policies))
    assert found["B"].peak_wait_s == found["A"].peak_wait_s > 6


def test_no_threshold_makes_wait_longer_than_admitting_all_would() -> None:
    policies: dict[str, Any] = {"C": {"kind": "queue_depth", "max_depth": 10_000}}
    found = by_letter(scenario(SLOW, policies=policies))["C"]
    assert found.peak_wait_s == pytest.approx(20 / 3, abs=0.05)
    assert "though with nothing shed none waits longer than 6.7 s" in found.sentence


def test_without_overload_no_threshold_is_reached() -> None:
    policies: dict[str, Any] = {"C": {"kind": "queue_depth", "max_depth": 1}}
    found = by_letter(scenario(policies=policies))["C"]
    assert (found.peak_wait_s, found.can_meet_slo) == (0, True)
    assert "the load stays at 50% of the slots" in found.sentence


def test_no_policy_meets_the_slo_where_the_model_cannot_be_reached() -> None:
    policies = slow_by_800_ms().model_dump(mode="json")["policies"]
    declared = slow_by_800_ms().model_copy(update={"faults": scenario(fault("proxy_down")).faults})
    assert [each.can_meet_slo for each in forecast(declared)] == [False] * len(policies)
    assert "too few jobs are answered at all" in by_letter(declared)["B"].sentence


def test_a_replay_without_its_schedule_has_no_forecast() -> None:
    replay = scenario(arrivals={"kind": "replay", "file": "trace.csv"})
    assert forecast(replay) == ()
    assert derived_age_limit(replay) is None
