"""The containers of the compose bench, as the engine tells of them: their names in a journal, state and ports."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from lab.drill.rehearsal.bench import SILENT
from lab.drill.testbed import Addresses
from lab.drill.testbed.compose import COMPOSE_SERVICE
from lab.drill.testbed.engine import COMPOSE_FILE, EngineError, ask_engine
from lab.drill.testbed.ports import LOOPBACK

PROJECT = "shedlab"
LOADGEN = "loadgen"
STACK = ("redis", "toxiproxy", "mock-model", "gate", "worker")
JOURNAL_NAMES = {service: role for role, service in COMPOSE_SERVICE.items()}
# Each link's proxy as deploy/toxiproxy.json makes it.
LINKS = {"model": ("[::]:8666", "mock-model:8090"), "redis": ("[::]:6666", "redis:6379")}
LOOK_WITHIN_S = 10.0


@dataclass(frozen=True, slots=True)
class Container:
    """One container as the engine tells of it; `ports` maps its ports to the host's."""

    container_id: str
    name: str
    service: str
    number: int
    state: str
    exit_code: int
    ports: dict[int, int]

    @property
    def was_let_go(self) -> bool:
        """Whether it is a worker that was told to stop and did in order, as where there are to be fewer."""
        return self.service == "worker" and self.state == "exited" and self.exit_code == 0

    @property
    def source(self) -> str:
        """Its name in a journal, such as worker-2; what there is one of without a number."""
        role = JOURNAL_NAMES.get(self.service, self.service)
        return role if role in (*SILENT, LOADGEN, "schedule") else f"{role}-{self.number}"


def read_containers(told: str) -> tuple[Container, ...]:
    """The containers in what `docker compose ps --format json` prints: a list, or an object a line."""
    text = told.strip()
    objects = json.loads(text) if text.startswith("[") else [json.loads(line) for line in text.splitlines()]
    found = (_container(one) for one in objects)
    return tuple(sorted(found, key=lambda container: (container.service, container.number)))


def _container(told: dict[str, Any]) -> Container:
    number = str(told["Name"]).rpartition("-")[2]
    ports = {one["TargetPort"]: one["PublishedPort"] for one in told.get("Publishers") or () if one["PublishedPort"]}
    return Container(
        container_id=str(told.get("ID", "")),
        name=told["Name"],
        service=told["Service"],
        number=int(number) if number.isdigit() else 0,
        state=told["State"],
        exit_code=int(told.get("ExitCode", 0)),
        ports=ports,
    )


def list_containers() -> tuple[Container, ...]:
    """Every container of the project, running or not.

    Raises:
        EngineError: no engine answers.
    """
    told = ask_engine(*compose_bench("ps", "--all", "--format", "json"), timeout_s=LOOK_WITHIN_S)
    try:
        return tuple(container for container in read_containers(told) if container.number)
    except (ValueError, KeyError, TypeError):
        raise EngineError("docker compose ps says something that this version cannot read") from None


def inspect(name: str, form: str) -> str:
    """One thing that the engine knows of a container, as a Go template says it. Raises EngineError."""
    return ask_engine("inspect", "--format", form, name, timeout_s=LOOK_WITHIN_S).strip()


def environment_of(container: Container) -> dict[str, str]:
    """What a container was told. Raises EngineError."""
    told: list[str] = json.loads(inspect(container.name, "{{json .Config.Env}}"))
    return dict(line.partition("=")[::2] for line in told)


def addresses_of(containers: Sequence[Container]) -> Addresses:
    """Where the bench's doors are on this host; a stopped container's is where compose.yaml would put it."""
    published = {(one.service, inside): outside for one in containers for inside, outside in one.ports.items()}

    def port(service: str, inside: int, default: int) -> int:
        return published.get((service, inside), default)

    return Addresses(
        redis_url=f"redis://{LOOPBACK}:{port('redis', 6379, 16379)}/0",
        gate_url=f"http://{LOOPBACK}:{port('gate', 8080, 8080)}",
        model_url=f"http://{LOOPBACK}:{port('mock-model', 8090, 8090)}",
        proxy_host=LOOPBACK,
        proxy_port=port("toxiproxy", 8474, 8474),
        proxied=LINKS,
    )


def compose_bench(*arguments: str) -> tuple[str, ...]:
    """Without the load's profile unless it is among the arguments: a bench comes up idle."""
    return ("compose", "--file", str(COMPOSE_FILE), "--project-name", PROJECT, *arguments)
