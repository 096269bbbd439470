"""Drills whose fault takes Redis away on the local testbed: the lab that watches outlives it, and the book tells."""

from pathlib import Path

import pytest

from lab.checker.check import check_run
from tests.system.drills import check, events, report, stack_processes, start, write_drill

pytestmark = [pytest.mark.system, pytest.mark.timeout(180)]


def test_jobs_that_redis_lost_are_told_and_void_nothing(tmp_path: Path) -> None:
    """More are admitted than are done, so that many wait in Redis' memory when it is killed."""
    drill = write_drill(
        tmp_path, duration="5s", faults="[{kind: process, at: 2s, for: 1s, service: redis, action: kill}]"
    )
    drill.write_text(drill.read_text(encoding="utf-8").replace("time: 100ms", "time: 900ms"), encoding="utf-8")
    run = start(drill, tmp_path / "reports")
    _, said = run.finish()
    (arm,) = report(run.run_dir)["arms"]
    lost = events(run, "A-1", "lost")
    assert len(lost) >= 4, said
    assert arm["void_reasons"] == [], said
    assert arm["ledger"]["balanced"], said
    assert arm["ledger"]["outcomes"]["lost"] == len(lost)
    assert f"{len(lost)} admitted jobs of A were lost with Redis" in said
    assert check_run(run.run_dir.resolve()).problems == ()


@pytest.mark.parametrize(
    ("service", "action"), [("redis", "kill"), ("redis", "restart"), ("redis", "pause"), ("gate", "kill")]
)
def test_a_fault_on_what_everything_needs_does_not_void_the_arm(tmp_path: Path, service: str, action: str) -> None:
    fault = f"[{{kind: process, at: 1s, for: 1s, service: {service}, action: {action}}}]"
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
    assert check_run(run.run_dir.resolve()).problems == ()
    assert stack_processes(run.run_dir) == []
