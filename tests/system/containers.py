"""The container engine as a test sees it: what of the lab is on it, and whether it must be there."""

import json
import os
import shutil
import subprocess
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from lab.drill.testbed.leftovers import owner_mark
from lab.drill.testbed.ports import free_ports

ROOT = Path(__file__).parents[2]
REQUIRE = "LAB_REQUIRE_ENGINE"
WAIT_S = 60.0
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


@dataclass(frozen=True, slots=True)
class Bench:
    """The bench under a project name and on ports of its own, so that it is in nobody's way."""

    project: str
    variables: dict[str, str]

    def compose(self, *arguments: str, **variables: str) -> str:
        return docker("compose", "--project-name", self.project, *arguments, variables={**self.variables, **variables})

    def state(self, service: str) -> dict[str, Any]:
        told = docker("inspect", "--format", "{{json .State}}", f"{self.project}-{service}-1")
        state: dict[str, Any] = json.loads(told)
        return state

    def get(self, path: str) -> dict[str, Any]:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.variables['GATE_PORT']}{path}", timeout=5) as answer:
            told: dict[str, Any] = json.load(answer)
        return told

    def await_that(self, look: Callable[[], bool], awaited: str) -> None:
        deadline = time.monotonic() + WAIT_S
        while not look():
            assert time.monotonic() < deadline, f"waited in vain for {awaited}"
            time.sleep(0.2)


@contextmanager
def own_bench(name: str, profile: str) -> Iterator[Bench]:
    """A bench whose images are built and which is removed afterwards, whatever was brought up of it."""
    require_engine()
    ports = free_ports()
    project = f"shedlab-{name}-test-{os.getpid()}"
    variables = {
        "GATE_PORT": str(ports.gate),
        "REDIS_PORT": str(ports.redis),
        "MODEL_PORT": str(ports.model),
        "TOXIPROXY_PORT": str(ports.proxy),
        "LOCUST_PORT": str(ports.model_link),
        "ENQUEUE_PORT": str(ports.enqueue),
        "EDGE_PORT": str(ports.edge),
        "HEALTH_INTERVAL": "1s",
        # Should this test be killed, the next drill removes what it left.
        "SHEDLAB_OWNER": owner_mark(),
        "SHEDLAB_RUN": project,
    }
    made = Bench(project, variables)
    docker("compose", "--profile", profile, "build", "--quiet")
    try:
        yield made
    finally:
        made.compose("--profile", profile, "down", "--volumes", "--timeout", "1")
        assert on_engine(project) == []
