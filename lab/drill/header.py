"""The first line of an arm's journal: what is played, and on what."""

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Protocol

import psutil

from lab import __version__
from lab.drill.plan import Arm, Plan

PACKAGES = (
    "fastapi",
    "uvicorn",
    "redis",
    "httpx",
    "locust",
    "pydantic",
    "toxiproxy-python",
    "pandas",
    "matplotlib",
    "numpy",
)


class Versioned(Protocol):
    """A testbed, or a bench that is up."""

    def versions(self) -> dict[str, str]:
        """What the stack is made of."""


def run_header(plan: Plan, arm: Arm, testbed: Versioned) -> dict[str, Any]:
    """Fields of the journal's `run` event."""
    schedule = plan.schedules[arm.repeat]
    policy = plan.played.policies[arm.letter]
    parts = testbed.versions()
    if not plan.played.stack.edge:
        parts.pop("edge", None)
    return {
        "run_id": plan.run_id,
        "scenario_name": plan.played.name,
        "scenario_text": plan.declared.text,
        "scenario_sha256": plan.declared.sha256,
        "played": plan.played.model_dump(mode="json", by_alias=True),
        "speed": plan.speed,
        "runtime": plan.runtime,
        "runtime_why": plan.runtime_why,
        "endpoint": plan.endpoint_label,
        "policy": arm.letter,
        "kind": policy.kind,
        "mode": policy.mode,
        "repeat": arm.repeat,
        "seed": plan.played.workload.seed,
        "schedule_sha256": schedule.sha256,
        "schedule_count": schedule.count,
        "arms_side_by_side": plan.side_by_side,
        "versions": {"shedlab": __version__, "python": platform.python_version(), **parts, **_packages()},
        "host": {
            "platform": platform.platform(),
            "cores": os.cpu_count() or 1,
            "memory_bytes": psutil.virtual_memory().total,
        },
    }


def _packages() -> dict[str, str]:
    found = {}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
