"""What a live run played, as a scenario."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lab.contract.fault_spec import LatencyFault, ModelFault
from lab.contract.flags import POLICY_KINDS, read_fault, read_policy
from lab.contract.loading import load_scenario
from lab.contract.policy_spec import PolicySpec
from lab.contract.scenario import Scenario
from lab.contract.speed import scaled
from lab.drill.rehearsal.faults import FaultRecord, injected, new_record
from lab.drill.rehearsal.played import Stage, letter_of, met_by, played_scenario, policy_at_start
from lab.drill.rehearsal.policies import Switch

SCENARIOS = Path(__file__).parents[2] / "scenarios"
SCENARIO = load_scenario(SCENARIOS / "slow_provider.yaml").scenario
# The letters of DESIGN's table of policies.
USUAL = {
    "none": "A",
    "queue_age": "B",
    "queue_depth": "C",
    "utilization": "D",
    "deadline_slack": "E",
    "slack_v1": "F",
    "age_or_full": "G",
}
POLICY = read_policy({"kind": "queue_age", "max_age": "900ms", "mode": "log_only"})
STAGE = Stage(workers=3, slots=2, policy=POLICY)
T = 1_800_000_000.0


def acted(begun_s: float, ended_s: float | None, **fault: Any) -> FaultRecord:
    keys = {"kind": "latency", "latency": "800ms", **fault, "at": "0s", "for": "24h"}
    said = {key: value for key, value in keys.items() if value is not None}
    record = new_record(read_fault(said), 1, "local", T + begun_s, has_end=False, workers=None)
    ended_at = None if ended_s is None else T + ended_s
    return replace(injected(record, T + begun_s), reverted_at=ended_at)


def a_policy_of_each_kind() -> list[PolicySpec]:
    """As shipped, of whichever scenario."""
    shipped = [load_scenario(path).scenario for path in sorted(SCENARIOS.glob("*.yaml"))]
    kinds = {policy.kind: policy for scenario in shipped for policy in scenario.policies.values()}
    assert set(kinds) == set(POLICY_KINDS)
    return list(kinds.values())


def played(*records: FaultRecord, scenario: Scenario = SCENARIO, ended_s: float = 90.0) -> Scenario:
    return played_scenario(scenario, STAGE, records, T, T + ended_s)


def test_the_declared_faults_give_way_to_those_that_acted() -> None:
    (fault,) = played(acted(12.344, 31.0)).faults
    assert isinstance(fault, LatencyFault)
    assert (fault.start, fault.latency) == (12.34, 0.8)
    assert fault.end == pytest.approx(31.0)


def test_nothing_is_expected_and_the_stack_is_what_was_seen() -> None:
    live = played()
    assert (live.expect, live.claims, live.faults, live.repeats) == ({}, (), (), 1)
    assert (live.stack.workers, live.stack.slots) == (3, 2)
    assert live.policies == {"B": POLICY}


@pytest.mark.parametrize("fast", [False, True])
@pytest.mark.parametrize("path", sorted(SCENARIOS.glob("*.yaml")), ids=lambda path: path.stem)
def test_every_shipped_scenario_can_be_reported_under_any_policy(path: Path, *, fast: bool) -> None:
    declared = load_scenario(path).scenario
    scenario = scaled(declared, declared.top_speed) if fast else declared
    for policy in [*scenario.policies.values(), POLICY, *a_policy_of_each_kind()]:
        live = played_scenario(scenario, replace(STAGE, policy=policy), [acted(0.5, 1)], T, T + 9)
        assert {letter: one.kind for letter, one in live.policies.items()} == {letter_of(scenario, policy): policy.kind}
        assert live.warm_up is None
        assert Scenario.model_validate(live.model_dump(mode="json", by_alias=True)) == live


@pytest.mark.parametrize(("begun_s", "ended_s"), [(-5.0, -1.0), (60.0, 70.0), (70.0, None), (-3.0, 0.0)])
def test_a_fault_that_the_load_never_met_is_no_phase(begun_s: float, ended_s: float | None) -> None:
    assert played(acted(begun_s, ended_s)).faults == ()


@pytest.mark.parametrize("speed", [1, 3, 7])
@pytest.mark.parametrize(("begun_s", "ended_s"), [(-4.0, 5.0), (3.333, None), (8.567, 200.0), (0.004, 0.0041)])
def test_whatever_acted_is_cut_to_the_play_and_can_be_read_back(
    speed: float, begun_s: float, ended_s: float | None
) -> None:
    live = played(acted(begun_s, ended_s), scenario=scaled(SCENARIO, speed))
    told = live.model_dump(mode="json", by_alias=True)
    (fault,) = Scenario.model_validate(told).faults
    assert 0 <= fault.start < fault.end <= live.workload.duration


def test_a_model_fault_keeps_the_classes_there_are() -> None:
    (fault,) = played(acted(1, 9, kind="model", latency=None, classes=("chat", "code"))).faults
    assert isinstance(fault, ModelFault)
    assert fault.classes == ("chat",)
    assert played(acted(1, 9, kind="model", latency=None, classes=("code",))).faults == ()


def test_a_fault_on_a_worker_that_was_not_there_is_left_out() -> None:
    on_worker = {"kind": "process", "latency": None, "service": "worker", "action": "kill"}
    assert len(played(acted(1, 9, **on_worker, index=3)).faults) == 1
    assert played(acted(1, 9, **on_worker, index=4)).faults == ()


def test_the_letter_is_the_scenarios_else_the_usual_one() -> None:
    assert letter_of(SCENARIO, read_policy({"kind": "utilization", "max_utilization": "70%"})) == "D"
    only_b = SCENARIO.model_copy(update={"policies": {"X": SCENARIO.policies["B"]}})
    assert letter_of(only_b, POLICY) == "X"
    assert letter_of(only_b, read_policy({"kind": "none"})) == "A"


@pytest.mark.parametrize("policy", a_policy_of_each_kind(), ids=lambda policy: policy.kind)
def test_every_kind_of_policy_has_its_usual_letter(policy: PolicySpec) -> None:
    only_z = SCENARIO.model_copy(update={"policies": {}})
    assert letter_of(only_z, policy) == USUAL[policy.kind]


def test_the_policy_at_the_start_is_what_the_first_switch_after_it_replaced() -> None:
    before = Switch(T - 9, "local", {"kind": "a"}, {"kind": "b"})
    first, second = Switch(T + 1, "local", {"kind": "b"}, {"kind": "c"}), Switch(T + 2, "local", {}, {})
    assert policy_at_start([before, first, second], {"kind": "z"}, T) == {"kind": "b"}
    assert policy_at_start([before], {"kind": "z"}, T) == {"kind": "z"}


def test_a_fault_is_met_that_acts_between_announcement_and_last_line() -> None:
    assert met_by(acted(5, 9), T, T + 60)
    assert met_by(acted(-5, None), T, T + 60)
    assert not met_by(acted(-5, -1), T, T + 60)
    assert not met_by(acted(61, None), T, T + 60)
    assert not met_by(replace(acted(5, 9), injected_at=None), T, T + 60)
