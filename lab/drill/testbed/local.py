"""The local testbed: the stack as processes on loopback.

loadgen --> gate --> redis <-- worker x N --> toxiproxy --> model
                      ^ (through toxiproxy too, where a fault is declared on that link)

An edge and an enqueue endpoint are added where the scenario says so; see edge.py.
"""

import asyncio
import os
import signal
import sys
from dataclasses import replace
from pathlib import Path

import httpx

from lab.contract import environment as env
from lab.contract.endpoint import ModelEndpoint
from lab.contract.fault_spec import ProcessFault
from lab.contract.names import Route
from lab.contract.scenario import Scenario
from lab.drill.testbed import Addresses, Follow, ServiceExit, Stack, StackError
from lab.drill.testbed.edge import LOCAL_FLAGS, switch_local, write_local_config
from lab.drill.testbed.leftovers import OWNER_VARIABLE, RUN_VARIABLE, end_orphans, owner_mark
from lab.drill.testbed.links import proxies_redis
from lab.drill.testbed.ports import LOOPBACK, free_ports, several_free_ports
from lab.drill.testbed.process import STOP_GRACE_S, Command, ServiceProcess
from lab.drill.testbed.programs import edge_program, redis_program, toxiproxy_program

PROJECT_ROOT = Path(__file__).parents[3]
# Workers get this long beyond their own bound to finish what they run.
WORKER_STOP_GRACE_S = env.WORKER_DRAIN_S + 2.0
LOG_DIR = "logs"
METRICS_TIMEOUT_S = 5.0
EDGE_DIR = "edge"
WATCH_EVERY_S = 0.1
# What these print is for people; they say no events.
SILENT = ("redis", "toxiproxy")
REDIS_IN_MEMORY = ("--save", "", "--appendonly", "no")
# What a Python program needs of the runner's environment, and nothing of its secrets or settings.
INHERITED = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "VIRTUAL_ENV", "COVERAGE_PROCESS_START")


class LocalTestbed:
    """Makes stacks of processes."""

    name = "local"
    containers = None

    def __init__(self, endpoint: ModelEndpoint | None = None) -> None:
        """Workers call `endpoint`, or the mock model."""
        self._endpoint = endpoint

    def versions(self) -> dict[str, str]:
        """The servers' own words for their versions."""
        edge = edge_program()
        return {
            "redis": redis_program().version,
            "toxiproxy": toxiproxy_program(0).version,
            "edge": edge.version if edge else "none: there is no nginx on PATH",
        }

    def new_stack(self, scenario: Scenario, letter: str, arm_dir: Path, run_id: str, follow: Follow) -> Stack:
        """A stack on free ports, its logs in the arm's folder."""
        return LocalStack(scenario, letter, arm_dir, run_id, follow, endpoint=self._endpoint)

    async def remove_leftovers(self) -> list[str]:
        """Ends the processes of runs that are dead."""
        return await asyncio.to_thread(end_orphans)


class LocalStack:
    """The processes of one arm."""

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
        """Settles addresses and commands; nothing starts yet."""
        self._endpoint = endpoint
        self._scenario = scenario
        self._arm_dir = arm_dir
        self._run_id = run_id
        self._follow = follow
        self._ports = free_ports()
        # As many as a scale may ask for, so that no two workers are given one.
        self._metrics_ports = several_free_ports(_most_workers(scenario))
        self._edge = edge_program() if scenario.stack.edge else None
        self.addresses = self._addresses()
        self._processes = {process.command.service: process for process in map(self._process, self._commands(letter))}
        self._watches: dict[str, asyncio.Task[ServiceExit]] = {}

    async def start(self) -> None:
        """Starts every process at once: each service retries what it depends on."""
        (self._arm_dir / LOG_DIR).mkdir(exist_ok=True)
        if self._edge is not None:
            write_local_config(self._arm_dir / EDGE_DIR, self._ports)
        for process in self._processes.values():
            await self._launch(process)

    async def start_load(self, schedule: Path) -> None:
        """Starts the load generator."""
        process = self._process(self._loadgen_command(schedule))
        self._processes["loadgen"] = process
        process.end_expected = True
        await self._launch(process)
        process.end_expected = True

    async def unexpected_exit(self) -> ServiceExit:
        """Returns when a process ends that nobody asked to."""
        while True:
            for service, watch in self._watches.items():
                if watch.done() and not self._processes[service].end_expected:
                    return watch.result()
            # Polled, because a fault may start any of them anew at any time.
            await asyncio.sleep(WATCH_EVERY_S)

    async def load_exit(self) -> int:
        """Returns the load generator's exit code when it has ended."""
        return (await asyncio.shield(self._watches["loadgen"])).code

    async def inject_process(self, fault: ProcessFault) -> None:
        """Kills, stops or restarts the named process, or changes how many workers there are."""
        if fault.action == "scale":
            await self._scale_workers(fault.replicas or 0)
            return
        process = self._named(fault)
        process.end_expected = True
        match fault.action:
            case "kill":
                await process.kill()
            case "restart":
                await process.stop(WORKER_STOP_GRACE_S if fault.service == "worker" else STOP_GRACE_S)
                await self._launch(process)
            case _:
                process.send(signal.SIGSTOP)

    async def revert_process(self, fault: ProcessFault) -> None:
        """Starts a killed process again under its address, lets a paused one go on, has as many workers again."""
        if fault.action == "scale":
            await self._scale_workers(self._scenario.stack.workers)
            return
        process = self._named(fault)
        if fault.action == "pause":
            process.send(signal.SIGCONT)
            process.end_expected = False
        elif not process.running:
            await self._launch(process)

    async def _scale_workers(self, replicas: int) -> None:
        """The highest numbers go first and come back last."""
        for number in range(1, max(replicas, len(self._workers())) + 1):
            service = f"worker-{number}"
            if service not in self._processes:
                self._processes[service] = self._process(self._worker_command(number))
            process = self._processes[service]
            if number > replicas:
                await process.stop(WORKER_STOP_GRACE_S)
            elif not process.running:
                await self._launch(process)

    def _workers(self) -> list[ServiceProcess]:
        return [process for service, process in self._processes.items() if service.startswith("worker")]

    async def worker_metrics(self) -> list[str]:
        """Each running worker, at the port that it was given."""
        running = [worker for worker in self._workers() if worker.running]
        ports = [self._metrics_port(int(worker.command.service.removeprefix("worker-"))) for worker in running]
        async with httpx.AsyncClient(timeout=METRICS_TIMEOUT_S, trust_env=False) as client:
            try:
                answers = [await client.get(f"http://{LOOPBACK}:{port}/metrics") for port in ports]
            except httpx.HTTPError as error:
                raise StackError(f"a worker's /metrics does not answer: {type(error).__name__} {error}") from None
        return [answer.text for answer in answers]

    async def set_route(self, route: Route) -> None:
        """From the next request on."""
        if self._edge is not None:
            switch_local(self._arm_dir / EDGE_DIR, route)

    async def stop_workers(self) -> None:
        """SIGTERM, their own drain, then SIGKILL."""
        await asyncio.gather(*(worker.stop(WORKER_STOP_GRACE_S) for worker in self._workers()))

    async def stop(self) -> list[str]:
        """Ends all: the load first, then what it talks to, the queue last."""
        order = ("loadgen", "edge", "gate", "enqueue", "worker", "model", "toxiproxy", "redis")
        for role in order:
            members = [process for service, process in self._processes.items() if service.split("-")[0] == role]
            await asyncio.gather(*(process.stop() for process in members))
        for watch in self._watches.values():
            watch.cancel()
        return [f"{service} still runs" for service, process in self._processes.items() if process.running]

    async def _launch(self, process: ServiceProcess) -> None:
        service = process.command.service
        await process.start()
        if service not in self._watches and service not in SILENT:
            self._follow(service, process.output_path)
        self._watches[service] = asyncio.create_task(process.wait())

    def _named(self, fault: ProcessFault) -> ServiceProcess:
        return self._processes["redis" if fault.service == "redis" else f"{fault.service}-{fault.index}"]

    def _process(self, command: Command) -> ServiceProcess:
        return ServiceProcess(command, self._arm_dir / LOG_DIR)

    def _addresses(self) -> Addresses:
        ports = self._ports
        model = self._endpoint.address if self._endpoint else f"{LOOPBACK}:{ports.model}"
        links = {"model": (f"{LOOPBACK}:{ports.model_link}", model)}
        if proxies_redis(self._scenario):
            links["redis"] = (f"{LOOPBACK}:{ports.redis_link}", f"{LOOPBACK}:{ports.redis}")
        return Addresses(
            redis_url=f"redis://{LOOPBACK}:{ports.redis}/0",
            gate_url=f"http://{LOOPBACK}:{ports.gate}",
            model_url=f"http://{LOOPBACK}:{ports.model}",
            proxy_host=LOOPBACK,
            proxy_port=ports.proxy,
            proxied=links,
            enqueue_url=f"http://{LOOPBACK}:{ports.enqueue}" if self._scenario.stack.has_enqueue else None,
            edge_url=None if self._edge is None else f"http://{LOOPBACK}:{ports.edge}",
        )

    def _commands(self, letter: str) -> list[Command]:
        """Every process but the load generator, in the order they are started."""
        ports, scenario = self._ports, self._scenario
        # A process title is written over the environment, which is where the owner's mark stands.
        redis_flags = ("--bind", LOOPBACK, "--port", str(ports.redis), "--set-proc-title", "no", *REDIS_IN_MEMORY)
        proxy_flags = ("--host", LOOPBACK, "--port", str(ports.proxy))
        gate = {env.REDIS_URL: self.addresses.redis_url, **env.gate_environment(scenario, letter)}
        if self.addresses.enqueue_url is not None:
            gate[env.BYPASS_URL] = f"{self.addresses.enqueue_url}/v1/jobs"
        return [
            self._command("redis", (*redis_program().argv, *redis_flags), {}),
            self._command("toxiproxy", (*toxiproxy_program(scenario.workload.seed).argv, *proxy_flags), {}),
            self._python("model-1", "mock_model", {env.PORT: str(ports.model), **env.model_environment(scenario)}),
            self._python("gate-1", "gate", {env.PORT: str(ports.gate), **gate}),
            *self._ways_in(),
            *(self._worker_command(number) for number in range(1, scenario.stack.workers + 1)),
        ]

    def _ways_in(self) -> list[Command]:
        """What the scenario wants beside the gate."""
        found = []
        if self._scenario.stack.has_enqueue:
            settings = {env.PORT: str(self._ports.enqueue), env.REDIS_URL: self.addresses.redis_url}
            found.append(self._python("enqueue-1", "gate.enqueue", settings))
        if self._edge is not None:
            edge = self._command("edge-1", (*self._edge.argv, *LOCAL_FLAGS), {})
            found.append(replace(edge, cwd=self._arm_dir / EDGE_DIR))
        return found

    def _load_url(self) -> str:
        """Where the load enters: by the edge where there is one, straight past the gate where there should be."""
        told = self.addresses
        past = told.enqueue_url if self._scenario.stack.edge else None
        return told.edge_url or past or told.gate_url

    def _worker_command(self, number: int) -> Command:
        redis_port = self._ports.redis_link if "redis" in self.addresses.proxied else self._ports.redis
        link = self.addresses.proxied["model"][0]
        settings = {
            env.REDIS_URL: f"redis://{LOOPBACK}:{redis_port}/0",
            env.MODEL_URL: f"http://{link}/v1",
            **env.worker_environment(self._scenario),
            **(self._endpoint.worker_environment(link) if self._endpoint else {}),
            env.METRICS_PORT: str(self._metrics_port(number)),
        }
        return self._python(f"worker-{number}", "worker", settings)

    def _metrics_port(self, number: int) -> int:
        return self._metrics_ports[number - 1]

    def _loadgen_command(self, schedule: Path) -> Command:
        settings = {
            env.SCHEDULE_FILE: str(schedule.resolve()),
            env.TARGET_URL: self._load_url(),
            **env.loadgen_environment(self._scenario),
        }
        return self._python("loadgen", "loadgen", settings)

    def _python(self, service: str, module: str, settings: dict[str, str]) -> Command:
        return self._command(
            service, (sys.executable, "-m", module), {env.HOST: LOOPBACK, env.SERVICE_ID: service, **settings}
        )

    def _command(self, service: str, argv: tuple[str, ...], settings: dict[str, str]) -> Command:
        inherited = {name: os.environ[name] for name in INHERITED if name in os.environ}
        marks = {OWNER_VARIABLE: owner_mark(), RUN_VARIABLE: self._run_id}
        return Command(service, argv, {**inherited, "PYTHONUNBUFFERED": "1", **marks, **settings}, PROJECT_ROOT)


def _most_workers(scenario: Scenario) -> int:
    scaled = [fault.replicas or 0 for fault in scenario.faults if isinstance(fault, ProcessFault)]
    return max(scenario.stack.workers, *scaled, 0)
