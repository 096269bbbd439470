"""What the gate admits and sheds per second, beside a bare FastAPI echo and a textbook gate, on one core.

Run from the project's root: `.venv/bin/python -m bench.bench_gate`; on Linux with at least two cores. The server has
one core; Redis and the load have another. All are measured by turns; the medians of the rounds are compared.

Goals, exit 1 where one is missed: sheds >= 0.90 and admits >= 0.85 of the echo, admits >= 2 x the textbook gate; and
under a flood of FLOOD_PER_S, ten times what a stack of 16 slots and 0.1 s a job can serve, the 99th percentile of a
shed's wait <= 5 x that of one client who asks now and then. Closed loop, but for these two, which are open loop.
"""

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median

import httpx
import redis

from bench.gate_peers import MAX_AGE_S
from bench.http_load import Connections, Played
from lab.contract import environment as env
from lab.contract import names
from tests.service.gate_process import await_that
from tests.service.redis_servers import LOOPBACK, SHIPPED, RedisServer, free_port

ROUNDS = 5
TURN_S = 1.2
WARM_S = 0.3
CONNECTIONS = 32
CAPACITY_PER_S = 16 / 0.1
FLOOD_PER_S = 10 * CAPACITY_PER_S
IDLE_PER_S = 50.0
WAIT_S = 2.0

ADMITTED, SHED = 202, 429
# Name, server, the answer expected.
TURNS = (
    ("bare FastAPI echo", "echo", ADMITTED),
    ("textbook gate admits", "textbook", ADMITTED),
    ("textbook gate sheds", "textbook", SHED),
    ("gate admits", "gate", ADMITTED),
    ("gate sheds", "gate", SHED),
)


class Server:
    """One server process on its core, stopped where it stands between its turns."""

    def __init__(self, port: int, process: "subprocess.Popen[bytes]") -> None:
        """Takes a process that was just started."""
        self.port = port
        self._process = process

    @contextmanager
    def awake(self) -> Iterator[None]:
        """Runs for the length of a `with` block."""
        self._process.send_signal(signal.SIGCONT)
        try:
            yield
        finally:
            self._process.send_signal(signal.SIGSTOP)


class Rig:
    """All servers and their Redis."""

    def __init__(self, folder: Path, redis_url: str, core: int, stack: ExitStack) -> None:
        """Starts all of them, the servers on `core`."""
        self._client = stack.enter_context(redis.Redis.from_url(redis_url))
        self._stack, self._folder, self._core = stack, folder, core
        self.servers = {which: self._started(which, redis_url) for which in ("echo", "textbook", "gate")}

    def turn(self, server: Server, status: int, play: Callable[[Connections], Played]) -> Played:
        """One turn, with a queue in which nothing waits, or a job that is older than any limit."""
        self._client.flushdb()
        if status == SHED:
            self._client.xadd(names.STREAM, {names.FIELD_JOB: "{}"}, id="1-0")
        with server.awake(), Connections(server.port, CONNECTIONS) as connections:
            connections.closed_loop(WARM_S)
            played = play(connections)
        if set(played.statuses) != {status}:
            raise SystemExit(f"only {status} was to be answered, not {dict(played.statuses)}")
        return played

    def _started(self, which: str, redis_url: str) -> Server:
        port = free_port()
        command = [sys.executable, "-m", "bench.gate_peers", which, str(port), redis_url]
        policy = f'{{"kind": "queue_age", "max_age": "{MAX_AGE_S:g}s"}}'
        told = {env.HOST: LOOPBACK, env.PORT: str(port), env.REDIS_URL: redis_url, env.POLICY: policy}
        if which == "gate":
            command = [sys.executable, "-m", "gate"]
        lines = self._stack.enter_context((self._folder / f"{which}.jsonl").open("w"))
        log = self._stack.enter_context((self._folder / f"{which}.log").open("w"))
        process = subprocess.Popen(command, env=os.environ | told, stdout=lines, stderr=log)
        self._stack.callback(process.wait)
        self._stack.callback(process.kill)
        os.sched_setaffinity(process.pid, {self._core})
        await_that(f"{which} that answers", lambda: _answers(port))
        process.send_signal(signal.SIGSTOP)
        return Server(port, process)


def main() -> int:
    """Measures, prints; 1 where a goal is missed."""
    server_core, load_core = sorted(os.sched_getaffinity(0))[:2]
    os.sched_setaffinity(0, {load_core})
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        server = stack.enter_context(RedisServer(SHIPPED, folder).running())
        rig = Rig(folder, server.url, server_core, stack)
        rates = _rates(rig)
        idle_s, flood_s = _waits(rig)
    return 0 if _met(rates, idle_s, flood_s) else 1


def _rates(rig: Rig) -> dict[str, float]:
    rounds: dict[str, list[float]] = {name: [] for name, _, _ in TURNS}
    for _ in range(ROUNDS):
        for name, which, status in TURNS:
            played = rig.turn(rig.servers[which], status, lambda connections: connections.closed_loop(TURN_S))
            rounds[name].append(played.rate_per_s)
    for name, rates in rounds.items():
        print(f"{name:<22}{median(rates):>8,.0f}/s   from {min(rates):,.0f} to {max(rates):,.0f} in {ROUNDS} rounds")
    return {name: median(rates) for name, rates in rounds.items()}


def _waits(rig: Rig) -> tuple[float, float]:
    p99s_s: dict[float, list[float]] = {IDLE_PER_S: [], FLOOD_PER_S: []}
    for seed in range(ROUNDS):
        for rate_per_s, found in p99s_s.items():
            play = lambda connections, rate=rate_per_s, seed=seed: connections.open_loop(rate, WAIT_S, seed)  # noqa: E731
            found.append(rig.turn(rig.servers["gate"], SHED, play).p99_s())
    idle_s, flood_s = (median(found) for found in p99s_s.values())
    print(
        f"a shed's wait, p99: {idle_s * 1000:.2f} ms at {IDLE_PER_S:g}/s, {flood_s * 1000:.2f} ms at {FLOOD_PER_S:g}/s"
    )
    return idle_s, flood_s


def _met(rates: dict[str, float], idle_s: float, flood_s: float) -> bool:
    echo, textbook = rates["bare FastAPI echo"], rates["textbook gate admits"]
    goals = (
        ("sheds over echo", rates["gate sheds"] / echo, 0.90),
        ("admits over echo", rates["gate admits"] / echo, 0.85),
        ("admits over textbook", rates["gate admits"] / textbook, 2.0),
    )
    for what, found, goal in goals:
        print(f"{what:<22}{found:>8.2f}     goal: at least {goal:.2f}{'' if found >= goal else '   MISSED'}")
    slower, most = flood_s / idle_s, 5.0
    missed = "" if slower <= most else "   MISSED"
    print(f"{'flood over idle, p99':<22}{slower:>8.2f}     goal: at most {most:.2f}{missed}")
    return slower <= most and all(found >= goal for _, found, goal in goals)


def _answers(port: int) -> bool:
    try:
        answer = httpx.get(f"http://{LOOPBACK}:{port}/health", timeout=5)
    except httpx.TransportError:
        return False
    return bool(answer.json().get("redis", True)) if answer.is_success else True


if __name__ == "__main__":
    sys.exit(main())
