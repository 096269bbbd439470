"""Whole drills on the local testbed: they play, balance, clean up, and leave nothing."""

import os
import shutil
import signal
import time
from pathlib import Path

import pytest

from tests.system.drills import (
    EVERY_FAULT,
    LATENCY,
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

pytestmark = [pytest.mark.system, pytest.mark.timeout(180)]


def test_a_short_drill_plays_both_arms_from_one_schedule_and_leaves_nothing(tmp_path: Path) -> None:
    run = start("quick_check", tmp_path)
    code, said = run.finish()
    assert code == 0, said
    arms = report(run.run_dir)["arms"]
    assert {arm["policy"] for arm in arms} == {"A", "B"}
    assert len({arm["schedule_sha256"] for arm in arms}) == 1
    assert all(arm["ledger"]["balanced"] for arm in arms)
    assert stack_processes(run.run_dir) == []
    assert {"report.html", "report.json", "junit.xml", "comparison.csv"} <= {
        path.name for path in run.run_dir.iterdir()
    }
    assert "report.html" in said


@pytest.mark.parametrize("proxy", ["embedded", "toxiproxy-server"])
def test_a_fault_acts_between_its_times_on_either_proxy_and_its_revert_is_proven(tmp_path: Path, proxy: str) -> None:
    found = shutil.which("toxiproxy-server")
    if proxy == "toxiproxy-server" and not found:
        assert not os.environ.get("LAB_REQUIRE_TOXIPROXY"), "CI promises toxiproxy-server and it is not on PATH"
        pytest.skip("no toxiproxy-server on PATH")
    path = os.environ["PATH"] if proxy != "embedded" else without_program(os.environ["PATH"], "toxiproxy-server")
    run = start(write_drill(tmp_path, faults=LATENCY), tmp_path / "reports", path=path)
    code, said = run.finish()
    assert code == 0, said
    actions = [(event["action"], event["ok"]) for event in events(run, "A-1", "fault")]
    assert actions == [("inject", True), ("revert", True)]
    assert check(run, "A-1", "clean_state")["ok"]
    header = events(run, "A-1", "run")[0]
    assert ("embedded" in header["versions"]["toxiproxy"]) == (proxy == "embedded")
    began, ended = (event["applied_at"] for event in events(run, "A-1", "fault"))
    slowed = [e["ttft_s"] for e in events(run, "A-1", "attempt") if began + 0.2 < e["started_at"] < ended - 0.3]
    others = [e["ttft_s"] for e in events(run, "A-1", "attempt") if e["started_at"] < began - 0.3]
    assert slowed
    assert others
    assert min(slowed) >= 0.1
    assert sorted(others)[len(others) // 2] < 0.1


def without_program(path: str, name: str) -> str:
    return (
        os.pathsep.join(folder for folder in path.split(os.pathsep) if not (Path(folder) / name).exists()) or "/usr/bin"
    )


def test_every_fault_is_injected_and_reverted_and_the_book_still_balances(tmp_path: Path) -> None:
    run = start(write_drill(tmp_path, duration="26s", faults=EVERY_FAULT), tmp_path / "reports")
    _, said = run.finish()
    faults = events(run, "A-1", "fault")
    assert len(faults) == 2 * EVERY_FAULT.count("- {"), said
    assert all(event["ok"] for event in faults), faults
    assert check(run, "A-1", "clean_state")["ok"], said
    (arm,) = report(run.run_dir)["arms"]
    assert arm["ledger"]["balanced"], said
    assert stack_processes(run.run_dir) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["ctrl_c", "sigterm"])
def test_an_interrupt_in_mid_fault_reverts_proves_and_ends_everything(tmp_path: Path, number: signal.Signals) -> None:
    run = start(write_drill(tmp_path, duration="30s", faults=LONG_LATENCY), tmp_path / "reports")
    run.await_event("A-1", is_inject, "the fault")
    interrupt(run, number)
    code, said = run.finish()
    assert code == 130, said
    assert "Traceback" not in said
    assert [event["action"] for event in events(run, "A-1", "fault")] == ["inject", "revert"]
    proof = check(run, "A-1", "clean_state")["evidence"]["proxies"]
    assert "latency" not in str(proof)
    assert stack_processes(run.run_dir) == []


def test_a_runner_killed_in_mid_fault_is_cleaned_up_after_by_the_next_run(tmp_path: Path) -> None:
    dead = start(write_drill(tmp_path, duration="30s", faults=LONG_LATENCY), tmp_path / "reports")
    dead.await_event("A-1", is_inject, "the fault")
    dead_dir = dead.run_dir.resolve()
    interrupt(dead, signal.SIGKILL)
    dead.finish()
    left = stack_processes(dead_dir)
    # Redis, proxy, model, gate, two workers and the load generator.
    assert len(left) == 7
    following = start(write_drill(tmp_path, duration="1s"), tmp_path / "reports")
    code, said = following.finish()
    assert code == 0, said
    assert stack_processes(dead_dir) == []
    removed = check(following, "A-1", "leftovers")["evidence"]["removed"]
    assert len(removed) >= len(left)
    assert all(dead_dir.name in sentence for sentence in removed if sentence)


@pytest.mark.parametrize("victim", ["gate", "worker", "mock_model", "loadgen", "redis", "toxiproxy"])
def test_a_crash_of_any_process_voids_the_arm_and_leaves_nothing(tmp_path: Path, victim: str) -> None:
    run = start(write_drill(tmp_path, duration="30s", faults=LONG_LATENCY), tmp_path / "reports")
    run.await_event("A-1", is_inject, "the fault")
    crash(run, victim)
    code, said = run.finish()
    assert code == 3, said
    assert "Traceback" not in said
    assert stack_processes(run.run_dir) == []
    assert check(run, "A-1", "processes_ended")["ok"]


def crash(run: Run, victim: str) -> None:
    names = {"redis": ("valkey-server", "redis-server"), "toxiproxy": ("toxiproxy",)}.get(victim, (victim,))
    for process in stack_processes(run.run_dir):
        if any(name in part for part in process.cmdline()[:3] for name in names):
            process.send_signal(signal.SIGKILL)
            return
    raise AssertionError(f"no process of {victim} among {[p.cmdline()[:3] for p in stack_processes(run.run_dir)]}")


def test_a_runner_that_was_stopped_for_four_seconds_says_so(tmp_path: Path) -> None:
    faults = "[{kind: latency, at: 3s, for: 6s, latency: 20ms}]"
    run = start(write_drill(tmp_path, duration="12s", faults=faults), tmp_path / "reports")
    run.await_event("A-1", lambda event: event["event"] == "phase" and event["phase"] == "baseline", "the load")
    os.kill(run.process.pid, signal.SIGSTOP)
    try:
        time.sleep(4.0)
    finally:
        os.kill(run.process.pid, signal.SIGCONT)
    _, said = run.finish()
    stood = events(run, "A-1", "standstill")
    assert max(gap["ended_at"] - gap["began_at"] for gap in stood) >= 3.5, said
    doubts = [doubt for doubt in report(run.run_dir)["doubts"] if doubt["code"] == "runner_stood_still"]
    assert doubts
    assert all(doubt["arms"] == ["A-1"] for doubt in doubts)
    assert any("the inject of latency-1 came" in d["sentence"] or "1-latency came" in d["sentence"] for d in doubts)
