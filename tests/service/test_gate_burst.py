"""The decision and the enqueue are one step: a burst on two gates never overshoots the bound."""

import asyncio
import json
from functools import partial
from pathlib import Path

import httpx
import pytest
import redis

from lab.contract import names
from tests.service.gate_process import Connection, GateProcess, await_that, gate_running
from tests.service.redis_servers import BOTH_SERVERS

BURST = 200
RUNS = 20
BURST_TIMEOUT_S = 60
MAX_DEPTH = 10
# The rule sheds while the depth is above the limit, so one more than the limit is admitted.
ADMITTED = MAX_DEPTH + 1
POLICY = json.dumps({"kind": "queue_depth", "max_depth": MAX_DEPTH})


async def _play(gates: list[GateProcess], redis_client: "redis.Redis") -> None:
    clients = [await Connection.to(gates[number % 2]) for number in range(BURST)]
    for run in range(RUNS):
        await asyncio.to_thread(_empty_queue, redis_client, gates)
        requests = (client.post(f"{run}-{number}") for number, client in enumerate(clients))
        statuses = await asyncio.wait_for(asyncio.gather(*requests), BURST_TIMEOUT_S)
        assert (statuses.count(202), statuses.count(429)) == (ADMITTED, BURST - ADMITTED), f"run {run}"
        assert redis_client.xlen(names.STREAM) == ADMITTED
    for client in clients:
        await client.close()


def _empty_queue(client: "redis.Redis", gates: list[GateProcess]) -> None:
    client.flushdb()
    for gate in gates:
        await_that("signals of an empty queue", partial(_sees_empty_queue, gate))


def _sees_empty_queue(gate: GateProcess) -> bool:
    return bool(httpx.get(f"{gate.url}/signals").json()["queue_depth"] == 0)


@pytest.mark.parametrize("redis_url", BOTH_SERVERS, indirect=True)
@pytest.mark.timeout(240)
def test_two_gates_admit_exactly_one_more_than_the_depth_limit_in_every_burst(redis_url: str, tmp_path: Path) -> None:
    with (
        gate_running(tmp_path, redis_url, POLICY=POLICY) as first,
        gate_running(tmp_path, redis_url, POLICY=POLICY) as second,
        redis.Redis.from_url(redis_url) as client,
    ):
        gates = [first, second]
        for gate in gates:
            gate.await_redis()
        asyncio.run(_play(gates, client))
        lines = [line for gate in gates for line in gate.events("decision")]
        assert len(lines) == RUNS * BURST
        assert sum(line["decision"] == "admit" for line in lines) == RUNS * ADMITTED
