"""Thresholds derived, against arithmetic done by hand."""

import math
from dataclasses import replace

import pytest

from lab.workload.derive import Basis, age_limit, declared_basis, depth_limit, slack_floor
from tests.unit.workload_scenarios import drill_4, fault, scenario, slow_by_800_ms

# 10/s x 1.2 s are 12 of 8 slots.
BASIS = Basis(
    within_s=3.5,
    deadline_s=7.0,
    slots=8,
    arrival_rate_per_s=10.0,
    mean_service_s=1.2,
    p95_service_s=1.6,
    endpoint_s=0.9,
    source="by hand",
)


def test_the_declared_basis_is_that_of_the_heaviest_load() -> None:
    found = declared_basis(slow_by_800_ms())
    assert found is not None
    assert (found.slots, found.arrival_rate_per_s, found.deadline_s) == (8, 10.0, 7.0)
    assert (found.mean_service_s, found.p95_service_s, found.endpoint_s) == pytest.approx((1.2, 1.2, 0.9))
    assert found.load_ratio == pytest.approx(1.5)


def test_several_classes_are_held_to_the_shortest_deadline_a_range_to_its_low_end() -> None:
    classes = {
        "chat": {"service": {"kind": "constant", "time": "400ms"}, "deadline": {"low": "2s", "high": "9s"}},
        "batch": {"service": {"kind": "constant", "time": "400ms"}, "deadline": "5s"},
        "never": {"weight": 0, "service": {"kind": "constant", "time": "400ms"}, "deadline": "1s"},
    }
    found = declared_basis(scenario(classes=classes))
    assert found is not None
    assert found.deadline_s == 2.0


def test_slots_that_work_on_what_is_never_answered_serve_nobody() -> None:
    failing = declared_basis(scenario(fault("model", failure_ratio=0.5)))
    assert failing is not None
    assert failing.mean_service_s == pytest.approx(0.8)
    dead = declared_basis(scenario(fault("proxy_down")))
    assert dead is not None
    assert math.isinf(dead.load_ratio)
    assert (age_limit(dead).highest_s, depth_limit(dead).count, slack_floor(dead).of_mean_s) == (0, 0, 0)


def test_the_age_limit_is_divided_by_a_load_above_capacity_since_waits_swing_to_limit_times_load() -> None:
    assert age_limit(replace(BASIS, arrival_rate_per_s=5.0)).lowest_s == pytest.approx(0.6 * 2.6)
    found = age_limit(BASIS)
    assert [found.lowest_s, found.highest_s] == pytest.approx([0.6 * 2.6 / 1.5, 0.7 * 2.6 / 1.5])
    heavy = age_limit(replace(BASIS, arrival_rate_per_s=20.0))
    assert [heavy.lowest_s, heavy.highest_s] == pytest.approx([0.6 * 2.6 / 3, 0.7 * 2.6 / 3])
    assert heavy.sentence.endswith(
        "at 3.0 x capacity waits swing up to 3.0 x the limit, so divided by that: 0.52 to 0.61 s"
    )


def test_the_depth_limit_is_littles_law_for_deadline_and_slo() -> None:
    found = depth_limit(BASIS)
    # 8 x (7 - 1.6) / 1.2 = 36, and 8 x (3.5 - 0.9) / 1.2 = 17.3.
    assert found.count == 17
    assert "8 slots x (7.00 s - 1.60 s) / 1.20 s = 36 jobs" in found.sentence
    assert depth_limit(replace(BASIS, within_s=60.0)).count == 36
    assert depth_limit(replace(BASIS, deadline_s=1.6)).count == 0


def test_the_depth_limit_of_the_survey() -> None:
    # Research, finding 2: k = 8, mean 2 s, deadline 10 s; with a p95 of 5.5 s the safe depth is 18.
    survey = replace(BASIS, deadline_s=10.0, within_s=99.0, mean_service_s=2.0, p95_service_s=5.5, endpoint_s=5.5)
    assert depth_limit(survey).count == 18


def test_the_slack_floor_is_what_an_estimate_does_not_know() -> None:
    found = slack_floor(BASIS)
    assert found.of_mean_s == pytest.approx(1.6 - 1.2 + 1.2 / 8)
    assert found.of_p95_s == pytest.approx(1.2 / 8)
    assert "1.60 s - mean 1.20 s + a turn at the slots 1.20 s / 8 = 0.55 s" in found.sentence


def test_drill_4_is_judged_at_its_worst_where_large_jobs_are_tripled() -> None:
    found = declared_basis(drill_4())
    assert found is not None
    # 0.7 x 0.8 + 0.25 x 4 + 0.05 x 36.
    assert found.mean_service_s == pytest.approx(3.36, rel=0.01)


def test_a_replay_without_its_schedule_gives_no_basis() -> None:
    assert declared_basis(scenario(arrivals={"kind": "replay", "file": "trace.csv"})) is None


def test_as_max_depth_the_limit_is_one_less_since_the_gate_lets_one_in_at_it() -> None:
    found = depth_limit(BASIS)
    assert found.max_depth == found.count - 1
    assert depth_limit(replace(BASIS, deadline_s=1.6)).max_depth == 0
