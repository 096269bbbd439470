"""Runs the lab as a user does, in a process of its own, and looks at what it left."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
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


LATENCY = "[{kind: latency, at: 1s, for: 2s, latency: 100ms}]"
LONG_LATENCY = "[{kind: latency, at: 1s, for: 25s, latency: 100ms}]"
EVERY_FAULT = """
  - {kind: noop, at: 500ms, for: 500ms}
  - {kind: latency, at: 1s, for: 500ms, latency: 50ms, jitter: 10ms}
  - {kind: bandwidth, at: 2s, for: 500ms, rate_kb_per_s: 50}
  - {kind: slow_close, at: 3s, for: 500ms, delay: 50ms}
  - {kind: slicer, at: 4s, for: 500ms, average_size_bytes: 64, delay: 1ms}
  - {kind: limit_data, at: 5s, for: 500ms, limit_bytes: 40}
  - {kind: reset_peer, at: 6s, for: 500ms}
  - {kind: timeout, at: 7s, for: 500ms, timeout: 100ms}
  - {kind: proxy_down, at: 8s, for: 500ms}
  - {kind: model, at: 9s, for: 500ms, slow_factor: 2, failure_ratio: 0.5, status: 503}
  - {kind: latency, at: 10s, for: 500ms, link: redis, latency: 20ms}
  - {kind: process, at: 11s, for: 500ms, service: worker, action: kill, index: 2}
  - {kind: process, at: 13s, for: 500ms, service: worker, action: pause, index: 1}
  - {kind: process, at: 15s, for: 500ms, service: model, action: kill}
  - {kind: process, at: 17s, for: 1s, service: worker, action: scale, replicas: 1}
  - {kind: process, at: 20s, for: 1s, service: worker, action: scale, replicas: 3}
  - {kind: process, at: 23s, for: 1s, service: model, action: restart}
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


def start(
    scenario: Path | str,
    reports: Path,
    *flags: str,
    path: str | None = None,
    runtime: str = "local",
    variables: Mapping[str, str] | None = None,
) -> Run:
    """Starts `shedlab run`; `path` replaces PATH, `variables` are added to the environment."""
    added = {"SHEDLAB_REPORTS": str(reports), **({"PATH": path} if path else {}), **(variables or {})}
    process = subprocess.Popen(
        [sys.executable, "-m", "lab", "run", str(scenario), "--runtime", runtime, *flags],
        cwd=ROOT,
        env={**os.environ, **added},
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


def events(run: Run, arm: str, name: str) -> list[dict[str, Any]]:
    """The events of this name in an arm's journal."""
    return [event for event in journal(run.run_dir / arm) if event["event"] == name]


def check(run: Run, arm: str, name: str) -> dict[str, Any]:
    """The first check of this name in an arm's journal."""
    return next(event for event in events(run, arm, "check") if event["name"] == name)


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
