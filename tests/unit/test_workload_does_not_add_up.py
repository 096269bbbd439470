"""What DRILLS.md says of each published drill that does not add up, in words and numbers, by the capacity check."""

import pytest

from lab.contract.scenario import Scenario
from lab.workload.wording import capacity_lines, check_capacity
from tests.unit.workload_drills import (
    queue_age_drill,
    regime_change,
    review_burst,
    slack,
    slack_gate,
    slack_v1,
    with_policies,
)


def said(scenario: Scenario, *words: str) -> None:
    text = "\n".join(capacity_lines(scenario))
    for each in words:
        assert each in text, f"{each!r} is not in:\n{text}"


def ruled_out(scenario: Scenario) -> dict[tuple[str, str], bool]:
    checked = check_capacity(scenario).claims
    return {
        (claim.policy, claim.measure): check.ruled_out
        for claim, (_, check) in zip(scenario.claims, checked, strict=True)
        if claim.phase != "baseline"
    }


def test_drill_1_is_three_and_a_half_times_overloaded_before_its_burst() -> None:
    said(
        review_burst(),
        "4 slots at a mean of 17.5 s finish 0.229 jobs/s, 69 in 300 s",
        "of 336 that are due; 0.80/s are 3.5 x what they finish, 1.60/s are 7.0 x",
    )


def test_drill_1s_arrivals_waited_for_workers_and_its_utilization_was_not_of_occupied_slots() -> None:
    said(
        review_burst(),
        "178 admitted and 61 rejected are 239 requests where 336 are due: the others never arrived, as when a "
        "generator waits (coordinated omission)",
        "at 4.9 x capacity the slots are occupied 100% of the time; a worker that waits for the model is busy",
    )
    assert set(ruled_out(review_burst()).values()) == {True}


def test_drill_1s_depth_rule_binds_long_before_its_age_rule() -> None:
    said(review_burst(), "its depth binds first: 9 jobs at 0.23/s are a wait of 39.4 s", "by the other rule 175.0 s")


def test_drill_2_can_do_some_seventy_jobs_in_time_and_not_173() -> None:
    said(
        slack_gate(),
        "3 slots at a mean of 0.35 s finish 8.57 jobs/s, 51 in 6 s and at most 71 by the last deadline, of 240",
        "at most 71 jobs can be done by their deadlines, so 173 cannot all be in time",
    )


def test_drill_2s_upper_guard_refuses_those_with_the_most_time() -> None:
    said(slack_gate(max_slack=1.5), "max_slack 1.5 s refuses 65% of the requests for having too much time")
    assert "max_slack" not in "\n".join(capacity_lines(slack_gate()))


def test_drill_2s_cold_estimator_believes_its_floor_for_four_of_the_six_seconds() -> None:
    said(
        slack_gate("1200ms"),
        "a cold estimator believes 0.35 s until 10 services are done, 4.0 s at 2.50/s, and lets in about 30 jobs, "
        "which take 12.1 s: most miss",
        "with the endpoint's p95 of 1.2 s that makes 13.3 s, which cannot meet the SLO of 2.6 s",
    )
    assert "cold" not in "\n".join(capacity_lines(slack_gate()))


def test_drill_3_cannot_serve_an_eighth_of_what_it_is_offered() -> None:
    said(
        queue_age_drill(),
        "the added 0.80 s alone let 2 slots finish at most 2.5 jobs/s against 20.0/s: at least 87% must be shed or "
        "late",
        "11 jobs at 2.22/s are a wait of 4.9 s (10 are 4.5 s, whatever else happens)",
        "the queue holds 2 s x 20.00/s = 40 jobs, which at 2.22/s wait up to 18.0 s; 2.6 s cannot be",
    )


def test_drill_3s_claims_that_arithmetic_can_judge_are_ruled_out_and_no_other() -> None:
    found = ruled_out(queue_age_drill())
    assert {claim for claim, out in found.items() if out} == {
        ("A", "p95_ttft_s"),
        ("B", "p95_ttft_s"),
        ("B", "shed_rate"),
        ("C", "shed_rate"),
        ("D", "shed_rate"),
    }


def test_drill_4_needs_13_slots_and_not_the_stated_5() -> None:
    said(
        regime_change(),
        "6.00/s x 2.16 s = 13.0 slots of demand against 8, not 5.1; at 5.1 slots the rate would be 2.36/s",
        "fault, large: 5% of the requests at 36.00 s (p95 36.00 s) are 10.8 slots, 54% of the work; never done by its "
        "deadline of 30 s, wait or no wait",
        "large never fits, so it is refused once the estimate knows",
        "fault: who sees sizes and refuses the largest first need refuse 11% of the requests, who does not 60%",
    )


def test_drill_4s_claims_of_what_no_admission_control_does_are_ruled_out_and_those_of_its_policy_are_not() -> None:
    assert ruled_out(regime_change()) == {
        ("A", "deadline_miss_rate"): True,
        ("A", "p99_turnaround_s"): True,
        ("F", "shed_rate"): False,
        ("F", "deadline_miss_rate"): False,
    }


def test_at_the_load_that_drill_4_states_no_claim_is_ruled_out() -> None:
    stated = regime_change("2.4/s")
    assert not any(check.ruled_out for _, check in check_capacity(stated).claims)
    said(stated, "baseline: 2.40/s x 2.16 s = 5.2 slots of work for 8 slots (65%); all of it can be done")


@pytest.mark.parametrize(("mode", "ruled"), [("enforce", True), ("log_only", False)])
def test_a_shed_rate_is_only_judged_of_a_policy_that_sheds(mode: str, *, ruled: bool) -> None:
    declared = queue_age_drill()
    policies = declared.policies | {"B": declared.policies["B"].model_copy(update={"mode": mode})}
    changed = declared.model_copy(update={"policies": policies})
    assert ruled_out(changed)["B", "shed_rate"] is ruled


def test_a_drill_that_is_not_overloaded_says_nothing_of_overload() -> None:
    assert not check_capacity(regime_change("1/s")).overload


def test_an_estimator_is_not_cold_any_more_when_a_fault_begins_later() -> None:
    assert "cold" not in "\n".join(capacity_lines(with_policies(regime_change(), A=slack(), F=slack_v1())))


def test_a_slack_policy_is_judged_class_by_class_so_that_its_deadline_bounds_what_it_lets_in() -> None:
    # Small jobs may wait 28.95 s and take 0.8 s, medium ones 25.75 s and take 4 s: both end 0.25 s before 30 s.
    said(with_policies(regime_change(), A=slack(), F=slack_v1()), "that makes 29.8 s, which can meet the SLO of 30 s")
