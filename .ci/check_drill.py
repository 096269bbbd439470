"""Checks a drill's report.json: testbed, balance, and that it was not played faster than this machine can.

    check_drill.py local|compose RUN

That every arm did what the scenario expects is the run's own exit code.
"""

import json
import sys
from pathlib import Path

# Of the doubts that a drill may raise these say that its numbers are the machine's. An overload from the first second
# has no steady state, and a gate that sheds nine of ten leaves few samples: that is what such drills are about.
TOO_FAST = {"generator_late", "host_saturated", "unbalanced_book", "leftovers", "warm_up_not_reached"}


def problems(runtime: str, run_dir: Path) -> list[str]:
    """A sentence for everything that is not as it must be."""
    report = json.loads((run_dir / "report.json").read_text(encoding="utf-8"))
    found = [] if report["runtime"] == runtime else [f"it ran on {report['runtime']}, not on {runtime}"]
    found += [
        f"arm {arm['policy']}: the book does not balance" for arm in report["arms"] if not arm["ledger"]["balanced"]
    ]
    found += [doubt["sentence"] for doubt in report["doubts"] if doubt["code"] in TOO_FAST]
    return found


if __name__ == "__main__":
    sentences = problems(sys.argv[1], Path(sys.argv[2]))
    print("\n".join(sentences) or "drill: testbed and balance are as they must be, and it was not played too fast")
    sys.exit(1 if sentences else 0)
