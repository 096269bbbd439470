"""The load of each phase, against arithmetic done by hand."""

from pathlib import Path

import pytest

from lab.contract.loading import load_scenario
from lab.workload.capacity import phase_loads
from tests.unit.workload_scenarios import drill_4, fault, played, scenario, slow_by_800_ms

FLAGSHIP = Path(__file__).parents[2] / "scenarios" / "slow_provider.yaml"


def test_latency_makes_half_a_load_one_and_a_half() -> None:
    baseline, struck, recovery = phase_loads(slow_by_800_ms())
    assert [load.offered_slots for load in (baseline, struck, recovery)] == pytest.approx([4, 12, 4])
    assert [load.load_ratio for load in (baseline, struck, recovery)] == pytest.approx([0.5, 1.5, 0.5])
    assert [load.unavoidable_shed_ratio for load in (baseline, struck, recovery)] == pytest.approx([0, 1 / 3, 0])
    assert struck.service_rate_per_s == pytest.approx(8 / 1.2)
    assert struck.p95_first_token_s == pytest.approx(0.9)


def test_the_flagship_with_its_heavy_tail_has_the_same_loads() -> None:
    loads = phase_loads(load_scenario(FLAGSHIP).scenario)
    assert [load.load_ratio for load in loads] == pytest.approx([0.5, 1.5, 0.5], rel=0.02)
    assert loads[0].p95_service_s > 1.8 * loads[0].mean_service_s


def test_drill_4_asks_for_thirteen_slots_of_eight_as_published_does_not_say() -> None:
    before, after = phase_loads(drill_4())
    assert before.offered_slots == pytest.approx(6 * 2.16)
    assert before.unavoidable_shed_ratio == pytest.approx(1 - 8 / 12.96)
    assert after.offered_slots == pytest.approx(6 * (0.7 * 0.8 + 0.25 * 4 + 0.05 * 36))


def test_drill_4s_large_jobs_are_few_and_take_half_of_the_slots() -> None:
    after = phase_loads(drill_4())[1]
    large = next(each for each in after.classes if each.job_class == "large")
    assert large.share_ratio == pytest.approx(0.05)
    assert [large.mean_service_s, large.p95_service_s] == pytest.approx([36, 36])
    assert large.offered_slots / after.offered_slots == pytest.approx(1.8 / 3.36)


def test_at_five_slots_drill_4s_rate_would_be_2_4() -> None:
    assert phase_loads(drill_4("2.4/s"))[0].offered_slots == pytest.approx(2.4 * 2.16)


def test_a_link_that_is_down_leaves_no_capacity() -> None:
    down = phase_loads(scenario(fault("proxy_down")))[1]
    assert (down.served_ratio, down.service_rate_per_s) == (0, 0)
    assert down.load_ratio == down.p95_first_token_s == float("inf")
    assert down.unavoidable_shed_ratio == 1


def test_a_worker_that_is_down_takes_its_slots_along() -> None:
    struck = phase_loads(scenario(fault("process", service="worker", action="kill")))[1]
    assert [struck.slots, struck.load_ratio] == pytest.approx([4, 1])


def test_a_queue_that_is_down_feeds_no_slot() -> None:
    assert phase_loads(scenario(fault("process", service="redis", action="pause")))[1].slots == 0


def test_a_phase_is_the_mean_of_its_parts_and_calm_between_two_faults_counts() -> None:
    twice = scenario(fault("latency", "10s", "10s", latency="800ms"), fault("latency", "40s", "10s", latency="800ms"))
    struck = phase_loads(twice)[1]
    assert (struck.begin_s, struck.end_s) == (10, 50)
    assert struck.mean_service_s == pytest.approx((20 * 1.2 + 20 * 0.4) / 40)


def test_without_arrivals_there_is_no_load_even_where_nothing_could_be_served() -> None:
    silent = phase_loads(scenario(fault("proxy_down"), arrivals={"kind": "poisson", "rate": "0/s"}))
    assert [load.load_ratio for load in silent] == [0, 0, 0]
    assert [load.unavoidable_shed_ratio for load in silent] == [0, 0, 0]


def test_a_replays_load_is_that_of_its_schedule_and_unknown_without() -> None:
    replay = scenario(fault("latency", latency="800ms"), arrivals={"kind": "replay", "file": "trace.csv"})
    assert phase_loads(replay) == ()
    baseline, struck, recovery = phase_loads(replay, played(*((n / 10, 0.4) for n in range(600))))
    assert [load.offered_slots for load in (baseline, struck, recovery)] == pytest.approx([4, 12, 4])
