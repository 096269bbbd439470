"""Plays a drill for a bench, in a reports folder that goes away with it."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any


def play(scenario: str, runtime: str) -> dict[str, Any] | None:
    """The report.json of one drill; None, with the reason on standard error, of one that left no report."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, "-m", "lab", "run", scenario, "--runtime", runtime],
            env={**os.environ, "SHEDLAB_REPORTS": folder},
            capture_output=True,
            text=True,
            check=False,
        )
        try:
            report: dict[str, Any] = json.loads((Path(folder) / "latest" / "report.json").read_text(encoding="utf-8"))
        except OSError:
            print(f"{scenario} on {runtime} left no report: {done.stderr.strip()[-500:]}", file=sys.stderr)
            return None
    return report
