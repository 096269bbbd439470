"""How long the report of a long journal takes, and how much memory, beside reading the same file by plain json.loads.

Run from the project's root: `.venv/bin/python -m bench.bench_report [--jobs 100000] [--arms 1]`.
Goal: 100,000 jobs in under 20 s and 1 GB.
"""

import argparse
import json
import multiprocessing
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path

from lab.contract.scenario import Scenario
from lab.reporter.build import build_report
from tests.journals import arm_events, flagship, write_arm

RATE_PER_S = 1000.0
WITHIN_S = 20.0
WITHIN_BYTES = 1_000_000_000


def main() -> int:
    """Makes the journals, measures both readers in processes of their own, prints; 1 where the goal is missed."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--jobs", type=int, default=100_000)
    options.add_argument("--arms", type=int, default=1)
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        run_dir = Path(folder)
        lines = _make(run_dir, chosen.jobs, chosen.arms)
        size = sum(path.stat().st_size for path in run_dir.glob("*/journal.jsonl"))
        print(f"{chosen.arms} arm(s) of {chosen.jobs:,} jobs: {lines:,} lines, {size / 1e6:.0f} MB")
        peer_s, peer_bytes = _measured(_plain, run_dir)
        report_s, report_bytes = _measured(_report, run_dir)
    print(f"plain json.loads, line by line   {peer_s:6.2f} s   {peer_bytes / 1e6:6.0f} MB")
    print(
        f"build_report, all files written  {report_s:6.2f} s   {report_bytes / 1e6:6.0f} MB   {report_s / peer_s:.1f} x"
    )
    return 0 if report_s < WITHIN_S and report_bytes < WITHIN_BYTES else 1


def _make(run_dir: Path, jobs: int, arms: int) -> int:
    scenario, text = _long_scenario(jobs)
    letters = list(scenario.policies)
    lines = 0
    for number in range(arms):
        letter, repeat = letters[number % len(letters)], 1 + number // len(letters)
        path = write_arm(run_dir, f"{letter}-{repeat}", arm_events(scenario, text, letter, repeat, RATE_PER_S))
        with path.open("rb") as journal:
            lines += sum(1 for _ in journal)
    return lines


def _long_scenario(jobs: int) -> tuple[Scenario, str]:
    """The flagship at 1,000 requests a second on a hundred times the slots, as long as the jobs take."""
    scenario, text = flagship()
    length_s = jobs / RATE_PER_S
    third = {"start": length_s / 3, "lasts": length_s / 3}
    longer = {
        "stack": scenario.stack.model_copy(update={"workers": 20, "slots": 40}),
        "workload": scenario.workload.model_copy(update={"duration": length_s}),
        "faults": tuple(fault.model_copy(update=third) for fault in scenario.faults),
    }
    return scenario.model_copy(update=longer), text


def _measured(work: Callable[[Path], None], run_dir: Path) -> tuple[float, int]:
    """Seconds and peak resident bytes of the work, in a fresh process."""
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_child, args=(work, run_dir, sender))
    process.start()
    seconds, peak = receiver.recv()
    process.join()
    return seconds, peak


def _child(work: Callable[[Path], None], run_dir: Path, answer: Connection) -> None:
    began = time.perf_counter()
    work(run_dir)
    seconds = time.perf_counter() - began
    # ru_maxrss is in kibibytes on Linux and in bytes on macOS.
    unit = 1 if sys.platform == "darwin" else 1024
    answer.send((seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit))


def _plain(run_dir: Path) -> None:
    for path in run_dir.glob("*/journal.jsonl"):
        with path.open(encoding="utf-8") as lines:
            for line in lines:
                json.loads(line)


def _report(run_dir: Path) -> None:
    build_report(run_dir)


if __name__ == "__main__":
    sys.exit(main())
