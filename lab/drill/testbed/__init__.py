"""Testbeds: what can bring up the stack of one arm. Each gives the runner the same handles."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from lab.contract.fault_spec import ProcessFault
from lab.contract.names import Route
from lab.contract.scenario import Scenario


@dataclass(frozen=True, slots=True)
class Addresses:
    """Where a stack's doors are, on the runner's machine. `proxied` maps a link to (listen, upstream) of its proxy.

    `enqueue_url` and `edge_url` are None where the stack has no such part.
    """

    redis_url: str
    gate_url: str
    model_url: str
    proxy_host: str
    proxy_port: int
    proxied: dict[str, tuple[str, str]]
    enqueue_url: str | None = None
    edge_url: str | None = None


@dataclass(frozen=True, slots=True)
class ServiceExit:
    """A process of the stack ended; `said` is the last line of its standard error."""

    service: str
    code: int
    said: str


# Told about every service whose output is to be followed: its source name and the file it prints to.
Follow = Callable[[str, Path], None]
# Full ids of the containers that this runner has made; None where the engine does not tell.
Containers = Callable[[], Awaitable[frozenset[str] | None]]


class Stack(Protocol):
    """One arm's stack."""

    addresses: Addresses

    async def start(self) -> None:
        """Starts every process but the load generator. Raises StackError."""

    async def start_load(self, schedule: Path) -> None:
        """Starts the load generator. Raises StackError."""

    async def unexpected_exit(self) -> ServiceExit:
        """Returns when a process ends that nobody asked to."""

    async def load_exit(self) -> int:
        """Returns the load generator's exit code when it has ended."""

    async def inject_process(self, fault: ProcessFault) -> None:
        """Kills or pauses the process that the fault names."""

    async def revert_process(self, fault: ProcessFault) -> None:
        """Starts or resumes it again."""

    async def worker_metrics(self) -> list[str]:
        """What each running worker's /metrics tells, as Prometheus text. Raises StackError."""

    async def set_route(self, route: Route) -> None:
        """Sends what comes to the edge that way from now on; without an edge nothing. Raises StackError."""

    async def stop_workers(self) -> None:
        """Asks the workers to finish, and ends those that do not."""

    async def stop(self) -> list[str]:
        """Ends every process; returns a sentence for each that is still there."""


class Testbed(Protocol):
    """Makes stacks."""

    name: str

    @property
    def containers(self) -> Containers | None:
        """Asks for the containers of its stacks; None where these are processes below the runner."""

    def versions(self) -> dict[str, str]:
        """What the stack is made of, such as {"redis": "valkey 9.1.2", "toxiproxy": "embedded"}."""

    def new_stack(self, scenario: Scenario, letter: str, arm_dir: Path, run_id: str, follow: Follow) -> Stack:
        """A stack not yet started, with addresses of its own."""

    async def remove_leftovers(self) -> list[str]:
        """Removes what runs that are dead left behind; returns a sentence for each thing removed."""


class StackError(Exception):
    """A stack that could not be brought up or driven; one sentence."""


Undo = Callable[[], Awaitable[None]]
