"""Runs the lab as a user does, in a process of its own, and looks at what it left."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from lab.contract.journal import JOURNAL_NAME, parse_line
from lab.drill.testbed.leftovers import RUN_VARIABLE

ROOT = Path(__file__).parents[2]
WAIT_S = 90.0

SHORT = """
name: short_drill
summary: A short drill for the lab's own tests.
slo: {{measure: ttft, percentile: 95, within: 10s}}
stack: {{workers: 2, slots: 2, drain: 10s}}
workload:
  seed: 3
  duration: {duration}
  arrivals: {{kind: constant, rate: 8/s}}
  classes:
    small:
      output_tokens: {{kind: constant, value: 8}}
      service: {{kind: constant, time: 100ms, first_token: 40ms}}
      deadline: 20s
faults: {faults}
policies:
  A: {{kind: none}}
"""


def write_drill(folder: Path, *, duration: str = "4s", faults: str = "[]", extra: str = "") -> Path:
    """A scenario file of one arm, with these faults."""
    path = folder / "short_drill.yaml"
    path.write_text(SHORT.format(duration=duration, faults=faults) + extra, encoding="utf-8")
    return path


@dataclass
class Run:
    """A drill under way in a process of its own."""

    process: subprocess.Popen[str]
    reports: Path

    @property
    def run_dir(self) -> Path:
        """Where it writes; there once it has begun."""
        return self.reports / "latest"

    def finish(self, timeout_s: float = WAIT_S) -> tuple[int, str]:
        """Exit code and all it said."""
        said, _ = self.process.communicate(timeout=timeout_s)
        return self.process.returncode, said

    def await_event(self, arm: str, wanted: Callable[[dict[str, Any]], bool], awaited: str) -> dict[str, Any]:
        """The first event of an arm's journal that is wanted; fails with what was awaited."""
        deadline = time.monotonic() + WAIT_S
        while time.monotonic() < deadline:
            for event in journal(self.run_dir / arm):
                if wanted(event):
                    return event
            if self.process.poll() is not None:
                raise AssertionError(f"the drill ended before {awaited}: {self.process.communicate()[0]}")
            time.sleep(0.05)
        raise AssertionError(f"waited in vain for {awaited}")


def start(scenario: Path | str, reports: Path, *flags: str, path: str | None = None) -> Run:
    """Starts `shedlab run`; `path` replaces PATH."""
    environment = {**os.environ, "SHEDLAB_REPORTS": str(reports), **({"PATH": path} if path else {})}
    process = subprocess.Popen(
        [sys.executable, "-m", "lab", "run", str(scenario), "--runtime", "local", *flags],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    return Run(process, reports)


def journal(arm_dir: Path) -> list[dict[str, Any]]:
    """The events written so far."""
    try:
        lines = (arm_dir / JOURNAL_NAME).read_text(encoding="utf-8").splitlines()
    except OSError:
        return []
    return [event for event in map(parse_line, lines) if event]


def report(run_dir: Path) -> dict[str, Any]:
    """The run's report.json."""
    parsed: dict[str, Any] = json.loads((run_dir / "report.json").read_text(encoding="utf-8"))
    return parsed


def stack_processes(run_dir: Path) -> list[psutil.Process]:
    """Processes of this run's stacks that are still there."""
    run_id = run_dir.resolve().name
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get(RUN_VARIABLE) == run_id and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
        except (psutil.Error, OSError):
            continue
    return found


def is_inject(event: dict[str, Any]) -> bool:
    """Whether a fault was injected."""
    return bool(event["event"] == "fault" and event["action"] == "inject" and event["ok"])


def interrupt(run: Run, number: signal.Signals) -> None:
    """A signal to the runner alone."""
    os.kill(run.process.pid, number)
