"""Whole drills in containers: the same arms from the same schedule as on the local testbed, and nothing left behind."""

import os
import signal
from pathlib import Path

import pytest

from lab.checker.check import check_run
from tests.system.containers import docker, on_engine, require_engine
from tests.system.drills import (
    EVERY_FAULT,
    LONG_LATENCY,
    Run,
    check,
    events,
    interrupt,
    is_inject,
    report,
    stack_processes,
    start,
    write_drill,
)

pytestmark = [pytest.mark.system, pytest.mark.timeout(300)]


@pytest.fixture(autouse=True)
def _engine() -> None:
    require_engine()


def assert_nothing_left(run: Run) -> None:
    assert on_engine(run.run_dir.resolve().name) == []
    assert stack_processes(run.run_dir) == []


def test_a_drill_plays_the_local_testbeds_schedule_and_writes_the_same_report(tmp_path: Path) -> None:
    runs = {name: start("quick_check", tmp_path / name, runtime=name) for name in ("compose",)}
    code, said = runs["compose"].finish(180)
    assert code == 0, said
    runs["local"] = start("quick_check", tmp_path / "local", runtime="local")
    assert runs["local"].finish()[0] == 0
    reports = {name: report(run.run_dir) for name, run in runs.items()}
    assert reports["compose"]["runtime"] == "compose"
    hashes = {name: {arm["schedule_sha256"] for arm in told["arms"]} for name, told in reports.items()}
    assert len(hashes["local"]) == 1
    assert hashes["compose"] == hashes["local"]
    assert keys(reports["compose"]) == keys(reports["local"])
    assert all(arm["ledger"]["balanced"] for arm in reports["compose"]["arms"])
    assert {path.stat().st_uid for path in runs["compose"].run_dir.rglob("*")} == {os.getuid()}
    assert_nothing_left(runs["compose"])


def keys(told: object) -> object:
    """The shape of a report: its keys, all the way down; lists by their first element."""
    if isinstance(told, dict):
        return {key: keys(value) for key, value in told.items() if key not in ("doubts", "outcomes")}
    return [keys(told[0])] if isinstance(told, list) and told else None


def test_every_fault_is_injected_and_reverted_and_the_book_still_balances(tmp_path: Path) -> None:
    scenario = write_drill(tmp_path, duration="26s", faults=EVERY_FAULT)
    run = start(scenario, tmp_path / "reports", runtime="compose")
    _, said = run.finish(240)
    faults = events(run, "A-1", "fault")
    assert len(faults) == 2 * EVERY_FAULT.count("- {"), said
    assert all(event["ok"] for event in faults), faults
    assert check(run, "A-1", "clean_state")["ok"], said
    (arm,) = report(run.run_dir)["arms"]
    assert arm["ledger"]["balanced"], said
    # The third worker of the scale worked as well, and what each said is in the journal.
    assert {event["source"] for event in events(run, "A-1", "heartbeat")} == {"worker-1", "worker-2", "worker-3"}
    assert_nothing_left(run)


def test_faults_on_redis_void_nothing_and_name_what_was_lost(tmp_path: Path) -> None:
    """It keeps the queue in memory, and more wait when it is killed than the slots hold."""
    faults = ", ".join(
        f"{{kind: process, at: {at}s, for: 2s, service: redis, action: {action}}}"
        for at, action in ((2, "kill"), (7, "pause"), (12, "restart"))
    )
    scenario = write_drill(tmp_path, duration="18s", faults=f"[{faults}]")
    slow = scenario.read_text(encoding="utf-8").replace("time: 100ms", "time: 900ms")
    scenario.write_text(slow.replace("drain: 10s", "drain: 40s"), encoding="utf-8")
    run = start(scenario, tmp_path / "reports", runtime="compose")
    _, said = run.finish(240)
    (arm,) = report(run.run_dir)["arms"]
    assert arm["void_reasons"] == [], said
    assert arm["ledger"]["balanced"], said
    assert arm["ledger"]["outcomes"]["lost"] == len(events(run, "A-1", "lost")) >= 4
    assert [event["ok"] for event in events(run, "A-1", "fault")] == [True] * 6
    assert check(run, "A-1", "clean_state")["ok"], said
    assert check_run(run.run_dir.resolve()).problems == ()
    assert_nothing_left(run)


def test_an_interrupt_in_mid_fault_reverts_proves_and_removes_everything(tmp_path: Path) -> None:
    run = start(write_drill(tmp_path, duration="30s", faults=LONG_LATENCY), tmp_path / "reports", runtime="compose")
    run.await_event("A-1", is_inject, "the fault")
    interrupt(run, signal.SIGTERM)
    code, said = run.finish()
    assert code == 130, said
    assert "Traceback" not in said
    assert [event["action"] for event in events(run, "A-1", "fault")] == ["inject", "revert"]
    # Jobs were cut short, so the stream may hold some; of the fault nothing is left.
    assert "latency" not in str(check(run, "A-1", "clean_state")["evidence"]["proxies"])
    assert_nothing_left(run)


def test_an_interrupt_while_containers_come_up_removes_them(tmp_path: Path) -> None:
    run = start(write_drill(tmp_path, duration="30s"), tmp_path / "reports", runtime="compose")
    run.await_event("A-1", lambda event: event.get("phase") == "bring_up", "the bring-up")
    interrupt(run, signal.SIGINT)
    code, said = run.finish()
    assert code == 130, said
    assert "Traceback" not in said
    assert_nothing_left(run)


def test_a_runner_killed_in_mid_fault_is_cleaned_up_after_by_the_next_run(tmp_path: Path) -> None:
    scenario = write_drill(tmp_path, duration="30s", faults=LONG_LATENCY)
    dead = start(scenario, tmp_path / "reports", runtime="compose")
    dead.await_event("A-1", is_inject, "the fault")
    dead_id = dead.run_dir.resolve().name
    interrupt(dead, signal.SIGKILL)
    dead.finish()
    # Redis, proxy, model, gate, two workers, the load generator, their network and the volume of schedules.
    assert len(on_engine(dead_id)) == 9
    following = start(write_drill(tmp_path, duration="1s"), tmp_path / "reports", runtime="compose")
    code, said = following.finish()
    assert code == 0, said
    assert on_engine(dead_id) == []
    removed = check(following, "A-1", "leftovers")["evidence"]["removed"]
    assert any(f"shedlab-{dead_id}-a-1" in sentence for sentence in removed), removed


@pytest.mark.parametrize("victim", ["gate", "redis"])
def test_a_crash_of_any_container_voids_the_arm_and_leaves_nothing(tmp_path: Path, victim: str) -> None:
    run = start(write_drill(tmp_path, duration="30s", faults=LONG_LATENCY), tmp_path / "reports", runtime="compose")
    run.await_event("A-1", is_inject, "the fault")
    crash(run, victim)
    code, said = run.finish()
    assert code == 3, said
    assert "Traceback" not in said
    assert_nothing_left(run)


def crash(run: Run, service: str) -> None:
    docker("kill", f"shedlab-{run.run_dir.resolve().name}-a-1-{service}-1")
