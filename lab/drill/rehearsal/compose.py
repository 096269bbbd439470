"""The compose bench: the project `shedlab` of compose.yaml, whoever brought it up, as the engine tells of it."""

import contextlib
import json
import os
import re
from collections.abc import Mapping, Sequence

from lab.contract import environment as env
from lab.contract.fault_spec import ProcessFault
from lab.contract.scenario import Scenario
from lab.drill.rehearsal import RehearsalError
from lab.drill.rehearsal.bench import PAGE_PORT, SILENT, LoadOrder, Tail
from lab.drill.rehearsal.compose_workers import ORDER_WITHIN_S, let_go_within_s, scale_workers
from lab.drill.rehearsal.containers import (
    LOADGEN,
    PROJECT,
    STACK,
    Container,
    addresses_of,
    compose_bench,
    inspect,
    list_containers,
)
from lab.drill.rehearsal.tail import ContainerTail, last_error_line, read_container
from lab.drill.testbed import StackError
from lab.drill.testbed.compose import SCHEDULE_IN_CONTAINER
from lab.drill.testbed.engine import EngineError, ask_engine
from lab.drill.testbed.images import engine_version
from lab.drill.testbed.ports import LOOPBACK
from lab.drill.testbed.projects import remove_project
from lab.drill.testbed.readable import make_mounts_readable

_TAKEN_PORT = re.compile(r"(?P<address>[\d.]+:\d+)[^\d]*(address already in use|port is already allocated)")
# Images may have to be built first.
UP_WITHIN_S = 1800.0
STOP_GRACE_S = 8
LOAD_STOP_GRACE_S = "30"


def find_compose() -> "ComposeBench | None":
    """The bench in containers, None where there is none, or no engine."""
    try:
        containers = list_containers()
    except EngineError:
        return None
    if not any(container.service in STACK and container.state in ("running", "paused") for container in containers):
        return None
    return ComposeBench(containers)


def start_compose(variables: Mapping[str, str]) -> None:
    """`docker compose up -d --wait`, with these variables on top of the user's.

    Raises:
        RehearsalError: no engine answers, or it does not come up: the sentence is Compose's own last word.
    """
    try:
        engine_version()
        make_mounts_readable()
        ask_engine(
            *compose_bench("up", "--detach", "--wait"), environment={**os.environ, **variables}, timeout_s=UP_WITHIN_S
        )
    except StackError as error:
        raise RehearsalError(refusal_of(str(error))) from None


def refusal_of(said: str) -> str:
    """Why a bench does not come up, in one sentence with what to do; the engine is long-winded about a taken port."""
    taken = _TAKEN_PORT.search(said)
    if taken:
        return (
            f"{taken['address']} is taken by another program; free it, or set GATE_PORT or its like in .env; "
            "`shedlab down` removes what was started"
        )
    return f"{said}; mend that, or use `shedlab up --runtime local`"


def stack_variables(scenario: Scenario, letter: str) -> dict[str, str]:
    """The variables of compose.yaml that follow from a scenario; ports and the rest are the user's."""
    declared = {
        **env.worker_environment(scenario),
        **env.model_environment(scenario),
        **env.gate_environment(scenario, letter),
        "WORKERS": str(scenario.stack.workers),
    }
    # How long a bench's workers may go on when it is taken down is compose.yaml's to say.
    return {name: value for name, value in declared.items() if name not in (env.DRAIN_S, env.MODEL_NAME)}


async def end_compose() -> list[str]:
    """Removes the project's containers, networks and volumes; a sentence for what was ended.

    Raises:
        RehearsalError: something of it is still there.
    """
    try:
        there = list_containers()
    except EngineError:
        return []
    if not there:
        return []
    if left := await remove_project(PROJECT):
        raise RehearsalError("; ".join(left))
    return [f"ended the compose bench: {len(there)} containers removed"]


class ComposeBench:
    """The containers of the project."""

    runtime = "compose"

    def __init__(self, containers: tuple[Container, ...]) -> None:
        """As just listed."""
        self._containers = containers
        self.addresses = addresses_of(containers)
        self.scenario: str | None = None

    def identity(self) -> str | None:
        """The id of Toxiproxy's container: new images or another policy replace the others while its toxics act on."""
        try:
            containers = list_containers()
        except EngineError:
            return None
        ids = (one.container_id for one in containers if one.service == "toxiproxy")
        return next(ids, None) or None

    async def inject_process(self, fault: ProcessFault) -> None:
        """`docker kill|pause|restart`, or more or fewer workers."""
        if fault.action == "scale":
            scale_workers([one for one in self._fresh() if one.service == "worker"], fault.replicas or 0)
            return
        container = self._by_source(_source_of(fault))
        if fault.action == "restart":
            grace_s = let_go_within_s([container]) if container.service == "worker" else STOP_GRACE_S
            ask_engine("restart", "--time", str(grace_s), container.name, timeout_s=ORDER_WITHIN_S + grace_s)
        else:
            ask_engine(fault.action, container.name, timeout_s=ORDER_WITHIN_S)

    async def revert_process(self, fault: ProcessFault) -> None:
        """`docker unpause` or `docker start`, whichever it takes; a container that is no longer there needs neither."""
        container = self._find(_source_of(fault))
        if container is None:
            return
        if container.state == "paused":
            ask_engine("unpause", container.name, timeout_s=ORDER_WITHIN_S)
        elif container.state != "running":
            ask_engine("start", container.name, timeout_s=ORDER_WITHIN_S)

    def worker_count(self) -> int:
        """Workers that run or are paused."""
        return sum(one.service == "worker" and one.state in ("running", "paused") for one in self._fresh())

    def not_running(self) -> list[str]:
        """By the engine's word."""
        words = {"paused": "stands still"}
        stack = [one for one in self._fresh() if one.service in STACK and one.state != "running" and not one.was_let_go]
        return [f"{one.source} {words.get(one.state, 'does not run')}" for one in stack]

    def sources(self) -> Sequence[str]:
        """By the containers there are."""
        return [one.source for one in self._fresh() if one.service in (*STACK, LOADGEN) and one.source not in SILENT]

    def tail(self, source: str, since_at: float) -> Tail:
        """`docker logs --follow`."""
        return ContainerTail(self._by_source(source).name, since_at)

    def read(self, source: str, since_at: float) -> list[str]:
        """`docker logs`."""
        return read_container(self._by_source(source).name, since_at)

    def start_load(self, order: LoadOrder) -> None:
        """A new container of the load generator, and nothing else touched, whatever this shell's variables say."""
        order.schedule.chmod(0o644)
        variables = {
            **os.environ,
            "SCHEDULE_SOURCE": str(order.schedule.resolve()),
            env.SCHEDULE_FILE: SCHEDULE_IN_CONTAINER,
            env.ANSWER_TIMEOUT_S: repr(order.answer_timeout_s),
            env.LOAD_PAGE_PORT: str(PAGE_PORT) if order.page else "",
        }
        up = compose_bench("--profile", "load", "up", "--detach", "--no-deps", "--force-recreate", LOADGEN)
        ask_engine(*up, environment=variables, timeout_s=ORDER_WITHIN_S)

    def stop_load(self) -> bool:
        """`docker stop`, upon which it makes its record whole."""
        running = self._load()
        if running is None:
            return False
        ask_engine("stop", "--time", LOAD_STOP_GRACE_S, running.name, timeout_s=ORDER_WITHIN_S)
        return True

    def load_runs(self) -> bool:
        """Whether its container runs."""
        return self._load() is not None

    def load_said(self) -> str:
        """From its container; what it printed for the journal is left out."""
        return last_error_line(self._by_source(LOADGEN).name)

    def page_url(self) -> str:
        """On the port that is published."""
        load = self._load()
        return f"http://{LOOPBACK}:{load.ports.get(PAGE_PORT, PAGE_PORT) if load else PAGE_PORT}"

    def played_by_compose(self) -> Sequence[str] | None:
        """What the `schedule` container was told, where the load was started by Compose alone; else None."""
        load = next((one for one in self._fresh() if one.service == LOADGEN), None)
        if load is None or "bind" in inspect(load.name, "{{range .Mounts}}{{.Type}} {{end}}").split():
            return None
        schedule = next((one for one in self._fresh() if one.service == "schedule"), None)
        words: list[str] = json.loads(inspect(schedule.name, "{{json .Config.Cmd}}")) if schedule else []
        return words or None

    def _load(self) -> Container | None:
        return next((one for one in self._fresh() if one.service == LOADGEN and one.state == "running"), None)

    def _by_source(self, source: str) -> Container:
        container = self._find(source)
        if container is None:
            raise StackError(f"the bench has no {source}")
        return container

    def _find(self, source: str) -> Container | None:
        return next((one for one in self._fresh() if one.source == source), None)

    def _fresh(self) -> tuple[Container, ...]:
        # An engine that does not answer for a moment leaves what was known before.
        with contextlib.suppress(EngineError):
            self._containers = list_containers()
        return self._containers


def _source_of(fault: ProcessFault) -> str:
    return fault.service if fault.service == "redis" else f"{fault.service}-{fault.index}"
