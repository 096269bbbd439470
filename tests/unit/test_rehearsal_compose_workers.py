"""Workers of the compose bench: a new one is like the others, and one that is let go may finish what it runs."""

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from lab.contract.fault_spec import ProcessFault
from lab.contract.flags import read_fault
from lab.drill.rehearsal.compose import ComposeBench, find_compose
from lab.drill.rehearsal.compose_workers import SETTINGS, let_go_within_s
from lab.drill.rehearsal.containers import read_containers
from tests.unit.fake_docker import FakeDocker

COMPOSE_FILE = Path(__file__).parents[2] / "compose.yaml"
WORKER: dict[str, Any] = YAML(typ="safe").load(COMPOSE_FILE.read_text(encoding="utf-8"))["services"]["worker"]
TOLD = {name: f"told {name}" for name in WORKER["environment"]} | {"DRAIN_S": "60", "PATH": "/bin"}


def listed(*services: str, state: str = "running") -> str:
    """What `docker compose ps` says of these, each `SERVICE-NUMBER`."""
    told = [
        {"ID": f"id of {one}", "Name": f"shedlab-{one}", "Service": one.rpartition("-")[0], "State": state}
        for one in services
    ]
    return "\n".join(map(json.dumps, told))


def engine(folder: Path, monkeypatch: pytest.MonkeyPatch, ps: str, told: dict[str, str] = TOLD) -> FakeDocker:
    """Beside `docker compose ps` it tells what workers were told, and writes down what a new one would be told."""
    ps_start = f"compose --file {COMPOSE_FILE} --project-name shedlab ps"
    settings = json.dumps([f"{name}={value}" for name, value in told.items()])
    docker = FakeDocker(folder, monkeypatch, {ps_start: (0, ps, ""), "inspect": (0, settings, "")})
    program = folder / "docker"
    noted = f'case "$*" in *" up "*) env > "{folder}/environment";; esac\n'
    program.write_text(program.read_text().replace("case", f"{noted}case", 1))
    return docker


def bench() -> ComposeBench:
    found = find_compose()
    assert found is not None
    return found


def carry_out(asked: ProcessFault) -> None:
    asyncio.run(bench().inject_process(asked))


def fault(action: str, **said: Any) -> ProcessFault:
    read = read_fault({"kind": "process", "service": "worker", "action": action, "at": "0s", "for": "9s", **said})
    assert isinstance(read, ProcessFault)
    return read


def test_what_a_new_worker_is_told_is_all_that_compose_yaml_lets_one_be_told() -> None:
    variables = {name: re.match(r"\$\{([A-Z_]+)", str(value)) for name, value in WORKER["environment"].items()}
    assert {variable[1]: name for name, variable in variables.items() if variable} == SETTINGS


def test_workers_added_by_a_scale_are_told_what_the_first_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    docker = engine(tmp_path, monkeypatch, listed("gate-1", "worker-1", "worker-2"))
    monkeypatch.setenv("RETRY_BUDGET_RATIO", "of this shell")
    carry_out(fault("scale", replicas=3))
    assert docker.asked[-1].endswith("up --detach --no-deps --no-recreate --scale worker=3 worker")
    lines = (tmp_path / "environment").read_text(encoding="utf-8").splitlines()
    environment = dict(line.partition("=")[::2] for line in lines)
    assert environment["RETRY_BUDGET_RATIO"] == "told RETRY_BUDGET_RATIO"
    assert {name: environment.get(name) for name in SETTINGS} == {name: TOLD[SETTINGS[name]] for name in SETTINGS}


def test_workers_that_are_let_go_have_their_drain_and_all_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    docker = engine(tmp_path, monkeypatch, listed("gate-1", "worker-1", "worker-2", "worker-3"))
    carry_out(fault("scale", replicas=1))
    stops = [line for line in docker.asked if line.startswith("stop")]
    assert stops == ["stop --time 65 shedlab-worker-2 shedlab-worker-3"]
    assert not any(line.startswith("start") for line in docker.asked)


@pytest.mark.parametrize(("service", "grace"), [("worker", "95"), ("gate", "8")])
def test_a_restart_waits_for_a_workers_drain_and_for_nobody_elses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, service: str, grace: str
) -> None:
    docker = engine(tmp_path, monkeypatch, listed("gate-1", "worker-1"), TOLD | {"DRAIN_S": "90"})
    carry_out(fault("restart").model_copy(update={"service": service}))
    assert docker.asked[-1] == f"restart --time {grace} shedlab-{service}-1"


@pytest.mark.parametrize(("drain", "grace_s"), [("60", 65), ("5.0", 10), ("0.2", 6), (None, 10)])
def test_the_grace_is_above_the_drain_that_a_worker_was_started_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, drain: str | None, grace_s: int
) -> None:
    engine(tmp_path, monkeypatch, "", {} if drain is None else {"DRAIN_S": drain})
    (worker,) = read_containers(listed("worker-1"))
    assert let_go_within_s([worker]) == grace_s


def test_a_bench_is_known_by_its_proxys_container(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    engine(tmp_path, monkeypatch, listed("gate-1", "toxiproxy-1"))
    up = bench()
    assert up.identity() == "id of toxiproxy-1"
    engine(tmp_path, monkeypatch, listed("gate-1"))
    assert up.identity() is None


def test_an_engine_that_does_not_answer_tells_nothing_of_the_bench(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine(tmp_path, monkeypatch, listed("gate-1", "toxiproxy-1"))
    up = bench()
    FakeDocker(tmp_path, monkeypatch, {"compose": (1, "", "the engine is away")})
    assert up.identity() is None
