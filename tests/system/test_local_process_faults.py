"""Drills whose fault takes Redis away on the local testbed: the lab that watches outlives it, and the book tells."""

from pathlib import Path

import pytest

from tests.system.drills import check, events, report, stack_processes, start, write_drill

pytestmark = [pytest.mark.system, pytest.mark.timeout(180)]


@pytest.mark.parametrize("action", ["kill", "restart", "pause"])
def test_a_fault_on_redis_does_not_void_the_arm(tmp_path: Path, action: str) -> None:
    fault = f"[{{kind: process, at: 1s, for: 1s, service: redis, action: {action}}}]"
    run = start(write_drill(tmp_path, duration="5s", faults=fault), tmp_path / "reports")
    _, said = run.finish()
    (arm,) = report(run.run_dir)["arms"]
    assert arm["void_reasons"] == [], said
    assert arm["ledger"]["balanced"], said
    assert check(run, "A-1", "clean_state")["ok"], said
    assert [(event["action"], event["ok"]) for event in events(run, "A-1", "fault")] == [
        ("inject", True),
        ("revert", True),
    ]
    assert stack_processes(run.run_dir) == []
