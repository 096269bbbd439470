"""Two accounts of one drill: the services' counters and the journal."""

import pytest

from lab.contract.fault_spec import ProcessFault
from lab.drill.counters import check_counters
from lab.drill.progress import ArmProgress

GATE = """
# TYPE agent_admission_decision unknown
agent_admission_decision{result="admit"} 5.0
agent_admission_decision{result="shed"} 2.0
agent_admission_decision{result="degrade"} 1.0
"""
WORKER = """
# TYPE agent_job_result_total counter
agent_job_result_total{ok="true",late="false"} 2.0
agent_job_result_total{ok="false",late="false"} 1.0
"""


def counted(*, admitted: int, shed: int, settled: int) -> ArmProgress:
    return ArmProgress("A-1", "none", 1.0, admitted=admitted, shed=shed, settled=settled)


def test_degraded_jobs_are_admitted_ones_and_workers_add_up() -> None:
    check = check_counters(GATE, [WORKER, WORKER], counted(admitted=6, shed=2, settled=6), ())
    assert check.ok
    assert "shed 2 of 2, admitted 6 of 6, settled 6 of 6" in check.detail


@pytest.mark.parametrize("short", ["admitted", "shed", "settled"])
def test_a_count_that_differs_is_said(short: str) -> None:
    numbers = {"admitted": 6, "shed": 2, "settled": 6}
    check = check_counters(GATE, [WORKER, WORKER], counted(**{**numbers, short: numbers[short] + 1}), ())
    assert not check.ok
    assert f"{short} {numbers[short]} of {numbers[short] + 1}" in check.detail


def test_a_service_that_was_started_anew_cannot_be_compared() -> None:
    kill = {"kind": "process", "at": "1s", "for": "1s", "service": "worker", "action": "kill"}
    check = check_counters(GATE, [], counted(admitted=1, shed=1, settled=1), [ProcessFault.model_validate(kill)])
    assert check.ok
    assert "started anew" in check.detail
