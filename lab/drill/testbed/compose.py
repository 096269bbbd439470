"""The compose testbed: the stack as containers, one Compose project per arm, all from the same compose.yaml.

loadgen --> gate --> redis <-- worker x N --> toxiproxy --> mock-model
                      ^ (through toxiproxy too, where a fault is declared on that link)

An edge and an enqueue endpoint are added where the scenario says so; see edge.py.
"""

import asyncio
from dataclasses import dataclass
from pathlib import Path

from lab.contract import environment as env
from lab.contract.endpoint import ModelEndpoint
from lab.contract.fault_spec import ProcessFault
from lab.contract.names import Route
from lab.contract.scenario import Scenario
from lab.drill.testbed import Addresses, Follow, ServiceExit, Stack, StackError
from lab.drill.testbed.container import Container
from lab.drill.testbed.edge import route_command
from lab.drill.testbed.engine import compose_command, drive_engine, engine_environment
from lab.drill.testbed.images import image_tag, image_versions
from lab.drill.testbed.leftovers import OWNER_VARIABLE, RUN_VARIABLE, end_orphans, owner_mark
from lab.drill.testbed.links import proxies_redis
from lab.drill.testbed.ports import LOOPBACK, Ports, free_ports
from lab.drill.testbed.projects import own_containers, remove_dead_projects, remove_project
from lab.drill.testbed.readable import make_mounts_readable

LOG_DIR = "logs"
WATCH_EVERY_S = 0.1
UP_TIMEOUT_S = 180.0
STOP_TIMEOUT_S = 60.0
STOP_GRACE_S = 3
# Workers get this long beyond their own bound to finish what they run.
WORKER_STOP_GRACE_S = int(env.WORKER_DRAIN_S) + 2
# What these print is for people; they say no events.
SILENT = ("redis", "toxiproxy")
COMPOSE_SERVICE = {"model": "mock-model"}
# Checked by the runner itself; a probe in each container, every few seconds, would be load of its own.
NO_HEALTH_CHECKS = "24h"
# A log that is cut short loses events.
LOG_MAX_SIZE = "2g"
# What no scenario declares must not come from a user's .env either.
UNLESS_DECLARED = {
    env.BREAKER_FAILURES: "",
    env.BREAKER_OPEN_FOR_S: "2",
    env.BREAKER_PROBES: "1",
    env.RETRY_BUDGET_RATIO: "",
    env.FALLBACK_MODELS: "",
    env.MODEL_CONNECT: "",
    env.MODEL_LAB_HEADERS: "",
    env.ADMIT_ALWAYS: "",
}
ASK_METRICS = (
    "python",
    "-c",
    "import urllib.request as r; print(r.urlopen('http://127.0.0.1:9100/metrics', timeout=4).read().decode())",
)
MODEL_LINK = "toxiproxy:8666"
SCHEDULE_IN_CONTAINER = "/schedule"


class ComposeTestbed:
    """Makes stacks of containers; the images are there."""

    name = "compose"

    def __init__(self, endpoint: ModelEndpoint | None = None) -> None:
        """Workers call `endpoint`, or the mock model."""
        self._endpoint = endpoint

    def versions(self) -> dict[str, str]:
        """Engine, Compose, and the images' names."""
        return image_versions()

    def new_stack(self, scenario: Scenario, letter: str, arm_dir: Path, run_id: str, follow: Follow) -> Stack:
        """A project of its own on free ports, its logs in the arm's folder."""
        return ComposeStack(scenario, letter, arm_dir, run_id, follow, endpoint=self._endpoint)

    async def containers(self) -> frozenset[str] | None:
        """Full ids of the containers that this runner has made; None where the engine does not answer."""
        return await own_containers()

    async def remove_leftovers(self) -> list[str]:
        """Removes the projects, and ends the processes, of runs that are dead."""
        return [*await remove_dead_projects(), *await asyncio.to_thread(end_orphans)]


@dataclass(frozen=True, slots=True)
class _Place:
    """Where an arm keeps its things."""

    project: str
    log_dir: Path
    marks: dict[str, str]


class ComposeStack:
    """The containers of one arm."""

    def __init__(
        self,
        scenario: Scenario,
        letter: str,
        arm_dir: Path,
        run_id: str,
        follow: Follow,
        *,
        endpoint: ModelEndpoint | None = None,
    ) -> None:
        """Settles addresses and variables; nothing starts yet."""
        self._scenario = scenario
        self._follow = follow
        self._place = _Place(
            project=f"shedlab-{run_id}-{arm_dir.name}".lower(),
            log_dir=arm_dir / LOG_DIR,
            marks={OWNER_VARIABLE: owner_mark(), RUN_VARIABLE: run_id},
        )
        ports = free_ports()
        self.addresses = _addresses(scenario, ports, endpoint)
        called = endpoint.worker_environment(MODEL_LINK) if endpoint else {}
        self._variables = {**arm_variables(scenario, letter, ports), **called, **self._place.marks}
        self._containers: dict[str, Container] = {}
        self._watches: dict[str, asyncio.Task[ServiceExit]] = {}
        self._followed: set[str] = set()

    async def start(self) -> None:
        """Starts every container at once: each service retries what it depends on."""
        self._place.log_dir.mkdir(exist_ok=True)
        await asyncio.to_thread(make_mounts_readable)
        self._variables["TAG"] = await asyncio.to_thread(image_tag)
        await self._compose("create", *self._services(), timeout_s=UP_TIMEOUT_S)
        names = [self._container(service) for service in self._service_names()]
        await asyncio.gather(*(container.order("start") for container in names))
        for container in names:
            await self._watch(container)

    async def start_load(self, schedule: Path) -> None:
        """Starts the load generator."""
        self._variables["SCHEDULE_SOURCE"] = await asyncio.to_thread(_readable_to_all, schedule)
        await self._compose("up", "--detach", "--no-deps", "--no-recreate", "loadgen", timeout_s=UP_TIMEOUT_S)
        load = self._container("loadgen")
        load.end_expected = True
        await self._watch(load)

    async def unexpected_exit(self) -> ServiceExit:
        """Returns when a container ends that nobody asked to."""
        while True:
            for service, watch in self._watches.items():
                if watch.done() and not self._containers[service].end_expected:
                    return watch.result()
            await asyncio.sleep(WATCH_EVERY_S)

    async def load_exit(self) -> int:
        """Returns the load generator's exit code when it has ended."""
        return (await asyncio.shield(self._watches["loadgen"])).code

    async def inject_process(self, fault: ProcessFault) -> None:
        """Kills, pauses or restarts the named container, or changes how many workers there are."""
        if fault.action == "scale":
            await self._scale_workers(fault.replicas or 0)
            return
        container = self._named(fault)
        container.end_expected = True
        if fault.action == "restart":
            # Not watched meanwhile: it would be found running again before its end was seen.
            await self._unwatch(container)
            await container.order("restart", "--time", str(_stop_grace_s(container.service)))
            await self._watch(container)
            container.end_expected = False
        else:
            await container.order(fault.action)

    async def revert_process(self, fault: ProcessFault) -> None:
        """Starts a killed container again under its address, lets a paused one go on, has as many workers again."""
        if fault.action == "scale":
            await self._scale_workers(self._scenario.stack.workers)
            return
        container = self._named(fault)
        if (await container.state())["Paused"]:
            await container.order("unpause")
        await self._revive(container)
        await container.prove_running()

    async def worker_metrics(self) -> list[str]:
        """Asked inside the containers, since a scaled service has no port on the host."""
        workers = [c for service, c in self._containers.items() if service.startswith("worker") and not c.end_expected]
        return list(await asyncio.gather(*(worker.carry_out(*ASK_METRICS) for worker in workers)))

    async def set_route(self, route: Route) -> None:
        """From the next request on, by the command that a user would give."""
        if self._scenario.stack.edge:
            await self._containers["edge-1"].carry_out(*route_command(route))

    async def stop_workers(self) -> None:
        """SIGTERM, their own drain, then SIGKILL; all they said is in their files afterwards."""
        workers = [container for service, container in self._containers.items() if service.startswith("worker")]
        await self._stop(workers, WORKER_STOP_GRACE_S)

    async def stop(self) -> list[str]:
        """Ends all, the load first, and removes the project; returns a sentence for what is still there."""
        try:
            for role in ("loadgen", "edge", "gate", "enqueue", "worker", "model"):
                await self._stop([c for s, c in self._containers.items() if s.split("-")[0] == role], STOP_GRACE_S)
        except StackError:
            # Removed with force below, whatever it is.
            pass
        # Awaited, since one of them may just be about to follow its container anew.
        await asyncio.gather(*(self._unwatch(container) for container in self._containers.values()))
        left = await remove_project(self._place.project)
        await asyncio.gather(*(container.finish_log() for container in self._containers.values()))
        return left

    async def _stop(self, containers: list[Container], grace_s: int) -> None:
        for container in containers:
            container.end_expected = True
        names = [container.name for container in containers]
        if names:
            await drive_engine("stop", "--time", str(grace_s), *names, timeout_s=STOP_TIMEOUT_S)
        await asyncio.gather(*(container.finish_log() for container in containers))

    async def _scale_workers(self, replicas: int) -> None:
        """Stopped rather than removed, so that what a worker said is kept; more are made where there were fewer."""
        there = [service for service in self._containers if service.startswith("worker")]
        await self._stop([self._containers[service] for service in there[replicas:]], WORKER_STOP_GRACE_S)
        for service in there[:replicas]:
            await self._revive(self._containers[service])
        if replicas > len(there):
            scaled = ("up", "--detach", "--no-deps", "--no-recreate", "--scale", f"worker={replicas}", "worker")
            await self._compose(*scaled, timeout_s=UP_TIMEOUT_S)
            for number in range(len(there) + 1, replicas + 1):
                await self._watch(self._container(f"worker-{number}"))
        for service in there[:replicas]:
            await self._containers[service].prove_running()

    async def _revive(self, container: Container) -> None:
        if not (await container.state())["Running"]:
            await container.order("start")
            await self._watch(container)
        container.end_expected = False

    async def _watch(self, container: Container) -> None:
        """Follows what it prints, from its first line, and notices its end."""
        await self._unwatch(container)
        await container.finish_log()
        await container.follow()
        if container.service not in (*self._followed, *SILENT):
            self._followed.add(container.service)
            self._follow(container.service, container.output_path)
        self._watches[container.service] = asyncio.create_task(container.ended())

    async def _unwatch(self, container: Container) -> None:
        watch = self._watches.pop(container.service, None)
        if watch is not None:
            watch.cancel()
            await asyncio.gather(watch, return_exceptions=True)

    def _container(self, service: str) -> Container:
        """The container of a service's name in the journal, such as worker-2."""
        role, _, number = service.partition("-")
        name = f"{self._place.project}-{COMPOSE_SERVICE.get(role, role)}-{number or 1}"
        container = Container(service, name, self._place.log_dir, self._place.marks)
        return self._containers.setdefault(service, container)

    def _named(self, fault: ProcessFault) -> Container:
        return self._containers["redis" if fault.service == "redis" else f"{fault.service}-{fault.index}"]

    def _service_names(self) -> list[str]:
        workers = [f"worker-{number}" for number in range(1, self._scenario.stack.workers + 1)]
        return ["redis", "toxiproxy", "model-1", "gate-1", *(f"{way}-1" for way in self._ways_in()), *workers]

    def _services(self) -> tuple[str, ...]:
        return ("redis", "toxiproxy", "mock-model", "gate", *self._ways_in(), "worker")

    def _ways_in(self) -> tuple[str, ...]:
        """What the scenario wants beside the gate."""
        stack = self._scenario.stack
        return (*(("enqueue",) if stack.has_enqueue else ()), *(("edge",) if stack.edge else ()))

    async def _compose(self, *arguments: str, timeout_s: float) -> None:
        command = compose_command(self._place.project, *arguments)
        await drive_engine(*command, environment=engine_environment(self._variables), timeout_s=timeout_s)


def arm_variables(scenario: Scenario, letter: str, ports: Ports) -> dict[str, str]:
    """The value of every variable of compose.yaml that a scenario decides; base images are left to the user's .env."""
    stack = scenario.stack
    return {
        **UNLESS_DECLARED,
        **env.gate_environment(scenario, letter),
        **env.worker_environment(scenario),
        **env.model_environment(scenario),
        **env.loadgen_environment(scenario),
        "WORKERS": str(stack.workers),
        "WORKER_REDIS_URL": f"redis://{'toxiproxy:6666' if proxies_redis(scenario) else 'redis:6379'}/0",
        "WORKER_STOP_GRACE": f"{WORKER_STOP_GRACE_S}s",
        env.MODEL_URL: f"http://{MODEL_LINK}/v1",
        env.MODEL_API_KEY: "",
        env.BYPASS_URL: "http://enqueue:8081/v1/jobs",
        env.TARGET_URL: "http://edge:8088" if stack.edge else "http://gate:8080",
        env.SCHEDULE_FILE: SCHEDULE_IN_CONTAINER,
        env.LOAD_PAGE_PORT: "",
        "LOCUST_PORT": "0",
        "BIND_ADDR": LOOPBACK,
        "GATE_PORT": str(ports.gate),
        "REDIS_PORT": str(ports.redis),
        "MODEL_PORT": str(ports.model),
        "TOXIPROXY_PORT": str(ports.proxy),
        "ENQUEUE_PORT": str(ports.enqueue),
        "EDGE_PORT": str(ports.edge),
        "HEALTH_INTERVAL": NO_HEALTH_CHECKS,
        "LOG_MAX_SIZE": LOG_MAX_SIZE,
    }


def _stop_grace_s(service: str) -> int:
    """A worker may finish what it runs."""
    return WORKER_STOP_GRACE_S if service.startswith("worker") else STOP_GRACE_S


def _readable_to_all(schedule: Path) -> str:
    """The load generator is another user, who may read the schedule and nothing else of the run."""
    schedule.chmod(0o644)
    return str(schedule.resolve())


def _addresses(scenario: Scenario, ports: Ports, endpoint: ModelEndpoint | None) -> Addresses:
    """As the runner reaches them; the links are Toxiproxy's own, from deploy/toxiproxy.json."""
    links = {"model": ("[::]:8666", endpoint.address if endpoint else "mock-model:8090")}
    if proxies_redis(scenario):
        links["redis"] = ("[::]:6666", "redis:6379")
    return Addresses(
        redis_url=f"redis://{LOOPBACK}:{ports.redis}/0",
        gate_url=f"http://{LOOPBACK}:{ports.gate}",
        model_url=f"http://{LOOPBACK}:{ports.model}",
        proxy_host=LOOPBACK,
        proxy_port=ports.proxy,
        proxied=links,
        enqueue_url=f"http://{LOOPBACK}:{ports.enqueue}" if scenario.stack.has_enqueue else None,
        edge_url=f"http://{LOOPBACK}:{ports.edge}" if scenario.stack.edge else None,
    )
