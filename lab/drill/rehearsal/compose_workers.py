"""The compose bench's workers: more of them, told what the others were told, or fewer, their jobs done first."""

import math
import os
from collections.abc import Sequence

from lab.contract import environment as env
from lab.drill.rehearsal.containers import Container, compose_bench, environment_of
from lab.drill.testbed.engine import ask_engine

ORDER_WITHIN_S = 90.0
# Beyond a worker's drain, to end in order.
DRAINED_WITHIN_S = 5
# Each variable by which compose.yaml lets a worker be told something, and what the worker calls it.
SETTINGS = {"WORKER_REDIS_URL": env.REDIS_URL} | {
    name: name
    for name in (
        *(env.MODEL_URL, env.MODEL_API_KEY, env.MODEL_NAME, env.MODEL_CONNECT, env.MODEL_LAB_HEADERS),
        *(env.WORKER_SLOTS, env.CONNECT_TIMEOUT_S, env.FIRST_TOKEN_TIMEOUT_S, env.TOTAL_TIMEOUT_S, env.MAX_ATTEMPTS),
        *(env.BREAKER_FAILURES, env.BREAKER_OPEN_FOR_S, env.BREAKER_PROBES, env.RETRY_BUDGET_RATIO),
        *(env.HEARTBEAT_S, env.RECLAIM_AFTER_S, env.DRAIN_S),
    )
}


def scale_workers(workers: Sequence[Container], replicas: int) -> None:
    """Stopped rather than removed, so that what a worker said is kept; the highest numbers go first.

    Raises:
        EngineError: the engine does not do as told.
    """
    _let_go(workers[replicas:])
    for worker in workers[:replicas]:
        if worker.state != "running":
            ask_engine("start", worker.name, timeout_s=ORDER_WITHIN_S)
    if replicas > len(workers):
        variables = {**os.environ, **settings_of(workers)}
        scaled = ("--scale", f"worker={replicas}", "worker")
        up = compose_bench("up", "--detach", "--no-deps", "--no-recreate", *scaled)
        ask_engine(*up, environment=variables, timeout_s=ORDER_WITHIN_S)


def settings_of(workers: Sequence[Container]) -> dict[str, str]:
    """What the first worker was told, as variables of compose.yaml. Raises EngineError."""
    if not workers:
        return {}
    told = environment_of(workers[0])
    return {variable: told[name] for variable, name in SETTINGS.items() if name in told}


def let_go_within_s(workers: Sequence[Container]) -> int:
    """Whole seconds within which each has ended in order, by the drain that it was started with. Raises EngineError."""
    drains = (float(environment_of(worker).get(env.DRAIN_S, env.WORKER_DRAIN_S)) for worker in workers)
    return math.ceil(max(drains)) + DRAINED_WITHIN_S


def _let_go(workers: Sequence[Container]) -> None:
    """All at once: together they take no longer than the slowest."""
    there = [worker for worker in workers if worker.state in ("running", "paused")]
    if there:
        grace_s = let_go_within_s(there)
        names = [worker.name for worker in there]
        ask_engine("stop", "--time", str(grace_s), *names, timeout_s=ORDER_WITHIN_S + grace_s)
