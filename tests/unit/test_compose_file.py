"""compose.yaml, Dockerfile and .env.example, read as text and as YAML: what a user may rely on."""

import re
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from lab.contract.loading import load_scenario
from lab.drill.testbed.compose import arm_variables
from lab.drill.testbed.ports import Ports

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "compose.yaml").read_text(encoding="utf-8")
COMPOSE: dict[str, Any] = YAML(typ="safe").load(TEXT)
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
VARIABLE = re.compile(r"\$\{([A-Z_]+)(:?-)(.*?)\}(?=[\"'\s:,\]/]|$)", re.MULTILINE)
CODE = "\n".join(line for line in TEXT.splitlines() if not line.lstrip().startswith("#"))
DEFAULTS = {match[1]: match[3] for match in VARIABLE.finditer(CODE)}
EXAMPLE = dict(
    line.partition("=")[::2]
    for line in (ROOT / ".env.example").read_text(encoding="utf-8").splitlines()
    if line and not line.startswith("#")
)
# A drill leaves these to the machine and its .env: images and limits, and services or volumes it does not use.
THE_MACHINES = {
    *("PYTHON_IMAGE", "REDIS_IMAGE", "TOXIPROXY_IMAGE", "NGINX_IMAGE", "TAG"),
    *("SERVICE_MEMORY", "REDIS_MEMORY", "LOADGEN_MEMORY", "LOADGEN_STOP_GRACE"),
    *("SCENARIO", "SPEED"),
}
SET_LATER = {"SCHEDULE_SOURCE", "SHEDLAB_OWNER", "SHEDLAB_RUN"}


def each_service() -> list[str]:
    return sorted(SERVICES)


def test_every_variable_has_a_default_and_stands_in_the_example_with_it() -> None:
    named = set(re.findall(r"\$\{([A-Z_]+)", CODE))
    assert named == set(DEFAULTS)
    assert DEFAULTS == EXAMPLE


def test_the_services_and_the_name_are_those_of_the_readme() -> None:
    assert COMPOSE["name"] == "shedlab"
    assert "version" not in COMPOSE
    always = {"redis", "toxiproxy", "mock-model", "gate", "worker"}
    assert set(SERVICES) == always | {"loadgen", "schedule", "enqueue", "edge"}
    profiles = {name: service["profiles"] for name, service in SERVICES.items() if "profiles" in service}
    assert profiles == {"schedule": ["load"], "loadgen": ["load"], "enqueue": ["edge"], "edge": ["edge"]}


def test_the_worker_can_be_scaled() -> None:
    assert not {"container_name", "ports", "hostname"} & set(SERVICES["worker"])


@pytest.mark.parametrize("name", each_service())
def test_a_service_is_hardened(name: str) -> None:
    service = SERVICES[name]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges"]
    assert service["init"] is True
    assert service["pids_limit"] > 0
    assert service["mem_limit"]
    assert "/tmp" in service["tmpfs"]  # noqa: S108 - a tmpfs in a container
    assert service["stop_grace_period"]
    assert set(service["logging"]["options"]) == {"max-size", "max-file"}
    assert "shedlab.owner" in service["labels"]
    assert not any("docker.sock" in str(volume) for volume in service.get("volumes", []))


@pytest.mark.parametrize("name", each_service())
def test_no_service_runs_as_root(name: str) -> None:
    user = SERVICES[name].get("user") or users_in_dockerfile()[name]
    assert user == "10001:10001"


def users_in_dockerfile() -> dict[str, str]:
    """The USER of each target that sets one."""
    found, target = {}, ""
    for line in (ROOT / "Dockerfile").read_text(encoding="utf-8").splitlines():
        if match := re.match(r"FROM .* AS (\S+)", line):
            target = match[1]
        elif line.startswith("USER "):
            found[target] = line.removeprefix("USER ")
    return found


@pytest.mark.parametrize("name", [name for name in each_service() if name != "schedule"])
def test_a_service_that_stays_has_a_health_check_in_exec_form(name: str) -> None:
    check = SERVICES[name]["healthcheck"]
    assert check["test"][0] == "CMD"
    assert check["interval"] == "${HEALTH_INTERVAL:-2s}"


@pytest.mark.parametrize("name", ["redis", "toxiproxy", "mock-model", "enqueue"])
def test_what_has_no_door_lock_is_published_on_loopback_whatever_is_set(name: str) -> None:
    assert all(port.startswith("127.0.0.1:") for port in SERVICES[name]["ports"])


@pytest.mark.parametrize("name", ["gate", "loadgen", "edge"])
def test_the_other_ports_are_published_where_bind_addr_says(name: str) -> None:
    assert all(port.startswith("${BIND_ADDR:-127.0.0.1}:") for port in SERVICES[name]["ports"])


def test_a_drill_decides_every_variable_that_is_not_the_machines() -> None:
    scenario = load_scenario(ROOT / "scenarios" / "slow_provider.yaml").scenario
    decided = arm_variables(scenario, "B", Ports(1, 2, 3, 4, 5, 6, 7, 8))
    assert set(DEFAULTS) - set(decided) == THE_MACHINES | SET_LATER


def test_each_image_has_a_lock_of_its_own() -> None:
    built = {service["build"]["target"] for service in SERVICES.values() if "build" in service}
    assert {f"requirements-{name}.lock" for name in built} == {path.name for path in (ROOT / "locks").iterdir()}
