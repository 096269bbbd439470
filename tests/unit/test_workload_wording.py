"""The capacity check in sentences."""

from lab.workload.wording import UNKNOWN, capacity_lines
from tests.unit.workload_scenarios import drill_4, fault, played, scenario, slow_by_800_ms


def test_a_line_per_phase_and_policy_and_one_for_the_age_limit_with_the_numbers_in_them() -> None:
    lines = capacity_lines(slow_by_800_ms())
    calm = "10.00/s x 0.40 s = 4.0 slots of work for 8 slots (50%); all of it can be done"
    struck = "10.00/s x 1.20 s = 12.0 slots of work for 8 slots (150%); at least 33% of the work must be shed or late"
    assert lines[:3] == [f"baseline: {calm}", f"fault: {struck}", f"recovery: {calm}"]
    assert [line.split(":")[0] for line in lines[3:]] == [
        "A none",
        "B queue_age",
        "C queue_depth",
        "D utilization",
        "an age limit by the rule",
    ]


def test_several_classes_have_a_line_each() -> None:
    lines = capacity_lines(drill_4())
    assert "baseline: 6.00/s x 2.16 s = 13.0 slots of work for 8 slots (162%)" in lines[0]
    assert lines[3] == "baseline, large: 5% of the requests at 12.00 s (p95 12.00 s) are 3.6 slots, 28% of the work"


def test_an_outage_and_a_partial_one_are_said_as_what_can_be_answered() -> None:
    down = capacity_lines(scenario(fault("proxy_down")))[1]
    assert down.endswith("for 8 slots, of which 0% can be answered; all of it must be shed or late")
    failing = capacity_lines(scenario(fault("model", failure_ratio=0.35)))[1]
    assert "of which 65% can be answered (77%); all of it can be done" in failing


def test_a_load_that_is_just_carried_is_not_said_to_shed_0_percent() -> None:
    assert "all of it can be done" in capacity_lines(scenario(arrivals={"kind": "poisson", "rate": "20.01/s"}))[0]


def test_a_replay_is_said_to_be_unknown_until_its_schedule_is_given() -> None:
    replay = scenario(arrivals={"kind": "replay", "file": "trace.csv"})
    assert capacity_lines(replay) == [UNKNOWN]
    assert "10.00/s x 0.40 s" in capacity_lines(replay, played(*((n / 10, 0.4) for n in range(600))))[0]
