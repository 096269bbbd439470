"""Drills whose fault takes Redis away on the local testbed: the lab that watches outlives it, and the book tells."""

from itertools import product
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


def test_no_fault_on_any_process_voids_the_arm(tmp_path: Path) -> None:
    """One after another, each with time to come back from: the runner's own probes outlive them all."""
    pairs = list(product(("worker", "gate", "model", "redis"), ("kill", "pause", "restart")))
    faults = ", ".join(
        f"{{kind: process, at: {1 + 3 * number}s, for: 1s, service: {service}, action: {action}}}"
        for number, (service, action) in enumerate(pairs)
    )
    run = start(write_drill(tmp_path, duration=f"{2 + 3 * len(pairs)}s", faults=f"[{faults}]"), tmp_path / "reports")
    _, said = run.finish(120)
    (arm,) = report(run.run_dir)["arms"]
    assert arm["void_reasons"] == [], said
    assert arm["ledger"]["balanced"], said
    assert check(run, "A-1", "clean_state")["ok"], said
    told = events(run, "A-1", "fault")
    assert sorted(event["action"] for event in told) == ["inject"] * len(pairs) + ["revert"] * len(pairs)
    assert all(event["ok"] for event in told), told
    assert check_run(run.run_dir.resolve()).problems == ()
    assert stack_processes(run.run_dir) == []
