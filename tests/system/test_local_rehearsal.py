"""The walk of docs/REHEARSE.md on the local bench, as a user types it; nothing may be left running."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from lab.contract.names import EXIT_COULD_NOT_RUN, EXIT_OK
from lab.drill.rehearsal.processes import owned_by, process_of
from tests.system.drills import ROOT, journal, report, write_drill

pytestmark = [pytest.mark.system, pytest.mark.timeout(180)]

WAIT_S = 30.0
POLICIES = "  B: {kind: queue_age, max_age: 2s}\n"


@dataclass
class Desk:
    """A user at a terminal, with a reports folder of their own."""

    reports: Path

    def say(self, *words: str) -> subprocess.CompletedProcess[str]:
        """`shedlab WORDS --runtime local`, carried out to its end."""
        return subprocess.run(
            [sys.executable, "-m", "lab", *words, "--runtime", "local"],
            cwd=ROOT,
            env={**os.environ, "SHEDLAB_REPORTS": str(self.reports)},
            capture_output=True,
            text=True,
            timeout=WAIT_S * 3,
            check=False,
        )

    def does(self, *words: str) -> str:
        """The same, which must go well; returns what it printed."""
        done = self.say(*words)
        assert done.returncode == EXIT_OK, f"{words}: {done.stdout}{done.stderr}"
        return done.stdout

    def refuses(self, *words: str) -> str:
        """The same, which must end with exit code 3 and one sentence; returns that."""
        done = self.say(*words)
        assert done.returncode == EXIT_COULD_NOT_RUN, f"{words}: {done.stdout}{done.stderr}"
        return done.stderr

    @property
    def note(self) -> dict[str, Any]:
        """The keeper's note of the bench that is up."""
        told: dict[str, Any] = json.loads((self.reports / "rehearsal" / "bench.json").read_text(encoding="utf-8"))
        return told

    def fault(self, name: str) -> dict[str, Any]:
        """A fault as recorded."""
        told: dict[str, Any] = json.loads(
            (self.reports / "rehearsal" / "faults" / f"{name}.json").read_text(encoding="utf-8")
        )
        return told


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    """A desk whose bench is ended whatever the test did."""
    user = Desk(tmp_path / "reports")
    yield user
    user.say("down")


def until(holds: Callable[[], bool], awaited: str) -> None:
    deadline = time.monotonic() + WAIT_S
    while not holds():
        assert time.monotonic() < deadline, f"waited in vain for {awaited}"
        time.sleep(0.1)


def end_hard(mark: str) -> None:
    process = process_of(mark)
    assert process is not None
    process.send_signal(signal.SIGKILL)


def has_ended(mark: str) -> bool:
    return process_of(mark) is None


def test_the_walk_of_the_page_ends_with_a_balanced_report_and_nothing_left_running(desk: Desk, tmp_path: Path) -> None:
    drill = write_drill(tmp_path, duration="30s", extra=POLICIES)
    assert "policy B (queue_age), idle" in desk.does("up", str(drill))
    assert "use it, or end it with `shedlab down" in desk.refuses("up", str(drill))
    assert "no load was played on this bench" in desk.refuses("rehearsal", "report")
    desk.does("load", "--speed", "2")
    until(lambda: "playing, 0 of" not in desk.does("watch", "--once"), "a baseline before the first fault")
    assert "a load is playing" in desk.refuses("load")

    # Whoever added it is gone when it ends; the second has no end.
    assert desk.does("fault", "add", "latency", "--latency", "100ms", "--for", "1s").startswith("1-latency: ")
    assert desk.does("fault", "add", "latency", "--latency", "50ms", "--link", "redis").startswith("2-latency: ")
    assert "requests; wait, or end it" in desk.refuses("rehearsal", "report")
    desk.does("policy", "set", "queue_depth", "--max-depth", "90", "--mode", "log_only")
    until(lambda: desk.fault("1-latency")["reverted_at"] is not None, "the fault's minder to end it")
    assert desk.fault("2-latency")["reverted_at"] is None

    seen = desk.does("watch", "--once")
    assert "queue_depth max_depth 90, log_only" in seen
    assert "fault 2-latency" in seen
    assert "fault 1-latency" not in seen
    assert "nothing is left" in desk.does("fault", "clear")
    until(lambda: "over, 240 of 240" in desk.does("watch", "--once"), "the schedule to be over")

    desk.does("rehearsal", "report")
    run_dir = desk.reports / "latest"
    made = report(run_dir)
    (arm,) = made["arms"]
    assert (made["runtime"], made["speed"], arm["policy"], arm["kind"]) == ("local", 2, "B", "queue_age")
    assert arm["ledger"]["balanced"]
    assert arm["ledger"]["offered"] == 240
    assert {"baseline", "fault", "recovery"} <= set(arm["phases"])
    steps = [event["action"] for event in journal(run_dir / "B-1") if event["event"] == "fault"]
    assert steps.count("inject") == steps.count("revert") == 2
    assert steps.count("switch") == 1

    keeper = desk.note["keeper"]
    assert desk.does("down") == "ended the local bench\n"
    assert desk.does("down") == "no rehearsal bench is up\n"
    assert has_ended(keeper)
    assert owned_by(keeper) == []
    assert "no rehearsal bench is up; start one with `shedlab up" in desk.refuses("fault", "list")


def test_what_nobody_is_left_to_end_is_ended_by_the_next_verb(desk: Desk, tmp_path: Path) -> None:
    desk.does("up", str(write_drill(tmp_path, extra=POLICIES)))
    desk.does("fault", "add", "process", "--service", "worker", "--action", "pause", "--index", "2", "--for", "8s")
    end_hard(desk.fault("1-process")["minder"])
    assert "worker-2 stands still" in desk.does("watch", "--once")
    until(lambda: time.time() > desk.fault("1-process")["ends_at"], "the fault's end")
    done = desk.say("fault", "list")
    assert done.stdout == "no fault acts\n"
    assert "1-process was past its end, and is reverted now" in done.stderr
    assert "stands still" not in desk.does("watch", "--once")

    desk.does("fault", "add", "process", "--service", "gate", "--action", "kill")
    seen = desk.does("watch", "--once")
    assert "the gate does not answer" in seen
    assert "gate-1 does not run" in seen
    again = ("fault", "add", "process", "--service", "gate", "--action", "pause")
    assert "2-process acts there already" in desk.refuses(*again)
    assert "nothing is left" in desk.does("fault", "clear")


def test_a_bench_whose_keeper_was_killed_is_ended_for_certain(desk: Desk, tmp_path: Path) -> None:
    desk.does("up", str(write_drill(tmp_path, extra=POLICIES)))
    desk.does("fault", "add", "latency", "--latency", "10ms", "--for", "60s")
    keeper, minder = desk.note["keeper"], desk.fault("1-latency")["minder"]
    end_hard(keeper)
    until(lambda: has_ended(keeper), "the keeper to be gone")
    assert owned_by(keeper)
    assert "the local bench's keeper is gone" in desk.refuses("load")
    assert "has lost its keeper" in desk.refuses("up")
    assert "keeper was gone" in desk.does("down")
    assert owned_by(keeper) == []
    assert has_ended(minder)
