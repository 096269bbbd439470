"""What arithmetic says of process faults: capacity follows the live slots, and what is away is said in words."""

import re
from typing import Any

import pytest
from pydantic import ValidationError

from lab.contract.scenario import Scenario
from lab.workload.capacity import phase_loads
from lab.workload.conditions import conditions_of
from lab.workload.derive import declared_basis, depth_limit, slack_floor
from lab.workload.fluid import admit_all
from lab.workload.threshold_check import forecast
from lab.workload.wording import capacity_lines
from tests.unit.workload_scenarios import FAULT_KEYS, fault, scenario

NO_NUMBER = re.compile(r"\b(inf|nan|None)\b|-0\.0|\dinf")
POLICIES: dict[str, Any] = {
    "A": {"kind": "none"},
    "B": {"kind": "queue_age", "max_age": "1s"},
    "C": {"kind": "queue_depth", "max_depth": 10},
    "D": {"kind": "utilization", "max_utilization": "80%"},
}
CLAIMS = [
    {"policy": letter, "measure": measure, "phase": phase, "value": 0.1}
    for letter in POLICIES
    for measure in ("p95_ttft_s", "shed_rate", "deadline_miss_rate", "mean_utilization_ratio", "admitted")
    for phase in ("fault", "all")
]


def process(at: str, lasts: str, **fields: Any) -> dict[str, Any]:
    return fault("process", at, lasts, **fields)


def drill(*faults: dict[str, Any]) -> Scenario:
    """10/s x 400 ms are 4 slots of work for 2 workers x 2 slots: full."""
    return scenario(
        *faults,
        duration="14s",
        stack={"workers": 2, "slots": 2, "edge": True},
        policies=POLICIES,
        claims=CLAIMS,
    )


def scaled(at: str, lasts: str, replicas: int) -> dict[str, Any]:
    return process(at, lasts, service="worker", action="scale", replicas=replicas)


def test_a_scale_to_4_and_later_to_0_has_8_slots_and_then_none() -> None:
    declared = drill(scaled("3s", "3s", 4), scaled("8s", "3s", 0))
    assert [(each.begin_s, each.slots) for each in conditions_of(declared)] == [(0, 4), (3, 8), (6, 4), (8, 0), (11, 4)]
    unshed = admit_all(declared)
    assert unshed is not None
    # Who is due as the workers go waits the 3 s until they are back.
    assert unshed.peaks["fault"].wait_s == pytest.approx(3, abs=0.05)
    found = {each.letter: each for each in forecast(declared)}
    assert found["A"].peak_wait_s == pytest.approx(3, abs=0.05)
    assert "the load stays at" not in found["B"].sentence
    assert "nothing is served from second 8 to 11, where no slot serves" in found["B"].sentence
    (fault_line,) = [line for line in capacity_lines(declared) if line.startswith("fault: ")]
    assert "slots in the mean, 0 at the least" in fault_line
    assert not fault_line.endswith("; all of it can be done")


def test_the_newest_scale_wins_and_the_one_below_holds_on_its_end() -> None:
    declared = drill(scaled("2s", "8s", 4), scaled("4s", "2s", 1))
    assert [each.slots for each in conditions_of(declared)] == [4, 8, 2, 8, 4]


def test_while_the_gate_is_away_nobody_is_answered() -> None:
    declared = drill(process("5s", "2s", service="gate", action="kill"))
    sentence = "nobody is answered from second 5 to 7, for the gate is away"
    assert sentence in capacity_lines(declared)
    for each in forecast(declared):
        assert sentence in each.sentence
        assert each.sentence.endswith("; said only of those who are answered")
    assert [load.away_ratio for load in phase_loads(declared)] == [0, 1, 0]


def test_while_redis_is_away_nobody_is_answered_and_no_sum_is_infinite() -> None:
    declared = drill(process("5s", "2s", service="redis", action="kill"), fault("noop", "6s", "1s"))
    sentences = capacity_lines(declared)
    assert sentences.count("nobody is answered from second 5 to 7, for Redis is away") == 1
    assert not any("x capacity" in each for each in sentences if "age limit by the rule" in each)
    assert not any(NO_NUMBER.search(each) for each in sentences)


def test_past_the_gate_its_kill_keeps_nobody_out() -> None:
    killed = process("5s", "2s", service="gate", action="kill")
    past = drill(killed, fault("route", "4s", "4s"))
    assert [each.away for each in conditions_of(past)] == [None] * 5
    assert [each.away for each in conditions_of(drill(killed))] == [None, "the gate", None]


@pytest.mark.parametrize(("action", "slots"), [("kill", 2), ("pause", 2), ("restart", 4)])
def test_a_worker_takes_its_slots_along_unless_it_is_back_at_once(action: str, slots: int) -> None:
    assert conditions_of(drill(process("5s", "2s", service="worker", action=action)))[1].slots == slots


def test_a_link_to_redis_that_is_down_feeds_no_slot() -> None:
    down = drill(fault("proxy_down", "5s", "2s", link="redis"))
    assert conditions_of(down)[1].slots == 0
    unshed = admit_all(down)
    assert unshed is not None
    assert unshed.peaks["fault"].wait_s == pytest.approx(2, abs=0.05)


def test_model_faults_that_overlap_fail_as_independent_ones_do() -> None:
    # Of 50 % and 50 % a quarter is left, and the slow factors multiply: 0.4 s x 3 x 3.
    struck = conditions_of(
        drill(fault("model", "3s", "4s", **FAULT_KEYS["model"]), fault("model", "5s", "4s", **FAULT_KEYS["model"]))
    )[2]
    assert struck.all_classes.served_ratio == pytest.approx(0.25)
    assert struck.all_classes.mean_service_s == pytest.approx(3.6)


PROCESS_FAULTS = [
    {"kind": "process", "service": service, "action": action}
    for service in ("worker", "gate", "model", "redis")
    for action in ("kill", "pause", "restart")
]
EVERY_FAULT = [
    *({"kind": kind, **keys} for kind, keys in FAULT_KEYS.items()),
    *PROCESS_FAULTS,
    {"kind": "process", "service": "worker", "action": "scale", "replicas": 0},
    {"kind": "proxy_down", "link": "redis"},
    {"kind": "model", "stall_ratio": 1},
]


@pytest.mark.parametrize("lasts", ["3s", "9s"])
@pytest.mark.parametrize("index", range(len(EVERY_FAULT)))
def test_no_sentence_holds_what_is_no_number(index: int, lasts: str) -> None:
    played = 0
    for other in EVERY_FAULT[index:]:
        try:
            declared = drill({**EVERY_FAULT[index], "at": "5s", "for": lasts}, {**other, "at": "7s", "for": "4s"})
        except ValidationError:
            # This pair is refused.
            continue
        played += 1
        basis = declared_basis(declared)
        assert basis is not None
        sentences = [*capacity_lines(declared), depth_limit(basis).sentence, slack_floor(basis).sentence]
        assert [each for each in sentences if NO_NUMBER.search(each)] == []
    # The last few kinds have few to be paired with, and refuse themselves.
    assert played or index > len(EVERY_FAULT) // 2
