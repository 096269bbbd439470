"""The container engine as a test sees it: what of the lab is on it, and whether it must be there."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
REQUIRE = "LAB_REQUIRE_ENGINE"
KINDS = ("container", "network", "volume")


def require_engine() -> None:
    """Skips where no engine answers, and fails there where one is promised."""
    if shutil.which("docker") and subprocess.run(["docker", "info"], capture_output=True, check=False).returncode == 0:
        return
    if os.environ.get(REQUIRE):
        pytest.fail(f"no container engine answers, and {REQUIRE} is set")
    pytest.skip("no container engine answers")


def docker(*arguments: str, variables: Mapping[str, str] | None = None) -> str:
    """What `docker ARGUMENTS` prints; `variables` are added to the environment."""
    environment = {**os.environ, **(variables or {})}
    done = subprocess.run(
        ["docker", *arguments], cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=180
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def on_engine(run_id: str) -> list[str]:
    """Containers, networks and volumes of one run, stopped ones too."""
    return [name for kind in KINDS for name in listed(kind, f"shedlab.run={run_id}")]


def listed(kind: str, label: str) -> Iterator[str]:
    """Names of what carries a label."""
    every = ["--all"] if kind == "container" else []
    for line in docker(kind, "ls", *every, "--filter", f"label={label}", "--format", "{{json .}}").splitlines():
        told = json.loads(line)
        yield told.get("Names") or told["Name"]
