"""Do the two testbeds tell the same story? Plays a scenario on each by turns; prints what they measured side by side.

Run from the project's root: `.venv/bin/python -m bench.bench_testbeds [--scenario slow_provider] [--runs 3]`.
Goal: every run gives every policy the same verdict, on either testbed. A run takes the scenario's length and some 20 s.
"""

import argparse
import sys
from statistics import mean
from typing import Any

from bench.drills import play

RUNTIMES = ("local", "compose")
Reports = dict[str, list[dict[str, Any]]]


def main() -> int:
    """Plays, prints; 1 where the verdicts differ, 3 where a drill could not be played."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--scenario", default="slow_provider")
    options.add_argument("--runs", type=int, default=3)
    chosen = options.parse_args()
    reports: Reports = {runtime: [] for runtime in RUNTIMES}
    for number in range(1, chosen.runs + 1):
        for runtime in RUNTIMES:
            report = play(chosen.scenario, runtime)
            if report is None:
                return 3
            reports[runtime].append(report)
            print(f"run {number} on {runtime}: {_verdicts(report)}", flush=True)
    _print_table(reports)
    agreed = {_verdicts(report) for told in reports.values() for report in told}
    print("the testbeds agree" if len(agreed) == 1 else f"the verdicts differ: {sorted(agreed)}")
    return 0 if len(agreed) == 1 else 1


def _verdicts(report: dict[str, Any]) -> str:
    """Such as "A breached, B held"; an arm that does not count is void."""
    return ", ".join(f"{arm['policy']} {arm['verdict']}" for arm in report["arms"])


def _print_table(reports: Reports) -> None:
    """Per policy and testbed, every run and their mean."""
    policies = [arm["policy"] for arm in reports["local"][0]["arms"]]
    print(f"\n{'':10}{'p95 time to first token in the fault, s':<48}shed rate, all, %")
    for policy in policies:
        for runtime in RUNTIMES:
            p95 = [_of(report, policy, "fault", "p95_ttft_s") for report in reports[runtime]]
            shed = [100 * _of(report, policy, "all", "shed_rate") for report in reports[runtime]]
            print(f"{policy} {runtime:<8}{_row(p95):<48}{_row(shed)}")


def _of(report: dict[str, Any], policy: str, phase: str, measure: str) -> float:
    arm = next(arm for arm in report["arms"] if arm["policy"] == policy)
    value = arm["phases"][phase][measure]
    return float("nan") if value is None else float(value)


def _row(values: list[float]) -> str:
    return f"mean {mean(values):6.2f}   " + " ".join(f"{value:6.2f}" for value in values)


if __name__ == "__main__":
    sys.exit(main())
