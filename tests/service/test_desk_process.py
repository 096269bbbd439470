"""The front desk as a process: a command loads its own room and nothing heavier."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
HEAVY = {"matplotlib", "pandas", "locust", "fastapi", "gevent", "uvicorn", "redis"}
PROBE = "import sys; from lab.__main__ import main; main({words!r}); print(*sys.modules, sep='\\n', file=sys.stderr)"


@pytest.mark.parametrize("words", [["list"], ["schema"], ["validate", "slow_provider"]])
def test_a_light_command_loads_nothing_heavy(words: list[str]) -> None:
    command = [sys.executable, "-c", PROBE.format(words=words)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=True)
    loaded = set(done.stderr.split())
    assert "lab.desk.arguments" in loaded
    assert loaded & HEAVY == set()


def test_a_bad_command_ends_with_2_and_one_line() -> None:
    command = [sys.executable, "-m", "lab", "lsit"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1
