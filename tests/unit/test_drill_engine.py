"""The container engine as the `docker` command tells it: what it refuses, and what a run does then."""

import asyncio
import json
from pathlib import Path

import pytest

from lab.drill.request import DrillError
from lab.drill.testbed.choice import choose_testbed
from lab.drill.testbed.engine import EngineError, ask_engine, drive_engine
from lab.drill.testbed.images import compose_version, engine_version
from lab.drill.testbed.leftovers import owner_mark, this_place
from lab.drill.testbed.projects import remove_dead_projects, remove_every_project
from tests.unit.fake_docker import FakeDocker

NO_ENGINE = (1, "", "warning\nCannot connect to the Docker daemon. Is the docker daemon running?\n")
VERSION = (0, "20.10.24\n", "")
COMPOSE = (0, "2.26.1-4\n", "")
CONFIG = (0, json.dumps({"services": {"redis": {"image": "redis:x"}, "gate": {"image": "g", "build": {}}}}), "")
WELL = {"version": VERSION, "compose version": COMPOSE}


def labels(project: str, owner: str) -> str:
    return json.dumps(f"com.docker.compose.project={project},shedlab.owner={owner},x=y")


def test_the_engines_last_words_are_the_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    FakeDocker(tmp_path, monkeypatch, {"version": NO_ENGINE})
    with pytest.raises(EngineError, match=r"^docker version: Cannot connect .* running\?$"):
        ask_engine("version")
    with pytest.raises(EngineError, match=r"^docker version: Cannot connect"):
        asyncio.run(drive_engine("version", timeout_s=30))


def test_what_the_daemon_answered_is_the_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    taken = "Error response from daemon: driver failed: Bind for 127.0.0.1:46479 failed: port is already allocated"
    FakeDocker(tmp_path, monkeypatch, {"start": (1, "", f"{taken}\nError: failed to start containers: gate-1\n")})
    with pytest.raises(EngineError, match=r"^docker start: Error response .* port is already allocated$"):
        asyncio.run(drive_engine("start", "gate-1", timeout_s=30))


def test_no_docker_command_is_said_with_the_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(EngineError, match="no docker command on PATH; install Docker"):
        engine_version()


def test_a_compose_too_old_is_said_with_the_version_needed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    FakeDocker(tmp_path, monkeypatch, {"version": VERSION, "compose version": (0, "v2.12.2\n", "")})
    assert compose_version() == "2.12.2"
    with pytest.raises(EngineError, match=r"Docker Compose 2\.12\.2 is too old; install 2\.\d+ or newer"):
        engine_version()


def test_a_compose_that_is_missing_is_an_engine_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    missing = (1, "", "docker: 'compose' is not a docker command.\n")
    FakeDocker(tmp_path, monkeypatch, {"version": VERSION, "compose version": missing})
    with pytest.raises(EngineError, match="'compose' is not a docker command"):
        engine_version()


def test_auto_takes_compose_where_an_engine_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    docker = FakeDocker(tmp_path, monkeypatch, WELL | {"compose --file": CONFIG})
    testbed, why = choose_testbed("auto")
    assert (testbed.name, why) == ("compose", "auto: a container engine answers")
    assert any(" build " in f"{line} " for line in docker.asked)


def test_auto_falls_back_with_a_sentence_where_none_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    FakeDocker(tmp_path, monkeypatch, {"version": NO_ENGINE})
    testbed, why = choose_testbed("auto")
    assert testbed.name == "local"
    assert why.startswith("auto: docker version: Cannot connect to the Docker daemon")


def test_auto_falls_back_with_a_sentence_where_images_cannot_be_had(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused = (1, "", "failed to resolve source metadata for python:3.13-slim\n")
    FakeDocker(tmp_path, monkeypatch, WELL | {"compose --file": refused})
    testbed, why = choose_testbed("auto")
    assert testbed.name == "local"
    assert why.startswith("auto: the images can neither be built nor pulled: ")
    assert why.endswith("failed to resolve source metadata for python:3.13-slim")


def test_compose_asked_for_and_not_to_be_had_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    FakeDocker(tmp_path, monkeypatch, {"version": NO_ENGINE})
    with pytest.raises(DrillError, match=r"Cannot connect .*; mend that, or use --runtime local"):
        choose_testbed("compose")


def test_only_projects_of_dead_runs_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    listed = "\n".join(
        [
            labels("shedlab", "bench"),
            labels("shedlab-mine", owner_mark()),
            labels("shedlab-dead", f"999999999:1.00:{this_place()}"),
        ]
    )
    docker = FakeDocker(tmp_path, monkeypatch, {"container ls": (0, listed, "")})
    said = asyncio.run(remove_dead_projects())
    # The fake keeps listing it, as an engine would that could not remove it.
    assert said == ["Compose project shedlab-dead is still there"]
    downs = [line for line in docker.asked if " down " in line]
    assert len(downs) == 1
    assert "--project-name shedlab-dead" in downs[0]
    assert "--volumes" in downs[0]


def test_a_network_alone_is_found_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    docker = FakeDocker(tmp_path, monkeypatch, {"network ls": (0, labels("shedlab-half", "1:1.00"), "")})
    asyncio.run(remove_every_project())
    assert any("--project-name shedlab-half" in line and " down " in line for line in docker.asked)


def test_whatever_is_not_the_labs_is_never_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    docker = FakeDocker(tmp_path, monkeypatch, {})
    assert asyncio.run(remove_every_project()) == []
    assert len(docker.asked) == 3
    assert all("--filter label=shedlab.owner" in line for line in docker.asked)
