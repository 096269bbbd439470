"""Checks the flagship's report.json: testbed, verdicts, balance, shape, and that all arms played one schedule.

check_flagship.py local|compose RUN
"""

import json
import sys
from pathlib import Path

VERDICTS = {"A": "breached", "B": "held", "C": "breached", "D": "held"}
PHASES = {"baseline", "fault", "recovery", "all"}


def problems(runtime: str, run_dir: Path) -> list[str]:
    """A sentence for everything that is not as it must be."""
    report = json.loads((run_dir / "report.json").read_text(encoding="utf-8"))
    arms = report["arms"]
    found = [
        f"arm {arm['policy']} {arm['verdict']}, expected {VERDICTS[arm['policy']]}"
        for arm in arms
        if arm["verdict"] != VERDICTS[arm["policy"]]
    ]
    found += [f"arm {arm['policy']}: the book does not balance" for arm in arms if not arm["ledger"]["balanced"]]
    found += [f"arm {arm['policy']} lacks a phase" for arm in arms if not set(arm["phases"]) >= PHASES]
    if report["runtime"] != runtime:
        found.append(f"it ran on {report['runtime']}, not on {runtime}")
    if {arm["policy"] for arm in arms} != set(VERDICTS):
        found.append("not every policy has an arm")
    if len({arm["schedule_sha256"] for arm in arms}) != 1:
        found.append("the arms did not play the same schedule")
    if not report["valid"]:
        found.append(f"the run is not valid; doubts: {report['doubts']}")
    found += [
        f"{name} is missing"
        for name in ("report.html", "junit.xml", "comparison.csv")
        if not (run_dir / name).is_file()
    ]
    return found


if __name__ == "__main__":
    sentences = problems(sys.argv[1], Path(sys.argv[2]))
    print("\n".join(sentences) or "flagship: verdicts, balance, schedule and files are as they must be")
    sys.exit(1 if sentences else 0)
