"""A worker whose link to Redis has a toxic: every job that was let in is run or expires; none is lost unrun."""

import asyncio
from typing import Any

import pytest

from lab.contract.names import WORKERS_KEY
from tests.service.model_thread import running_model
from tests.service.redis_servers import LOOPBACK
from tests.service.toxiproxy_servers import EMBEDDED, ToxiproxyServer, toxiproxy_running
from tests.service.worker_bench import Bench, Queue, bench, until

JOBS = 12
# As long as the toxic is on, the worker may get nothing done; then it must get all of it done.
TOXIC_FOR_S = 1.5
TOXICS: dict[str, dict[str, Any]] = {
    "latency": {"latency": 300, "jitter": 50},
    "bandwidth": {"rate": 1},
    "slow_close": {"delay": 300},
    "timeout": {"timeout": 200},
    "reset_peer": {"timeout": 100},
    "slicer": {"average_size": 16, "size_variation": 8, "delay": 1000},
    "limit_data": {"bytes": 500},
}


def worked_through(server: ToxiproxyServer, queue: Queue, redis_url: str, toxic: str | None, stream: str) -> Bench:
    """A worker that takes JOBS jobs over a link that has the toxic, or is cut where that is None, for TOXIC_FOR_S."""
    upstream = redis_url.removeprefix("redis://").partition("/")[0]
    made = server.api.post("/proxies", json={"name": "redis", "listen": f"{LOOPBACK}:0", "upstream": upstream})
    linked = f"redis://{made.json()['listen']}/0"

    async def work(model_url: str) -> Bench:
        async with bench(linked, model_url, WORKER_SLOTS="4") as one:
            working = asyncio.create_task(one.consumer.run())
            await until(lambda: queue.redis.hlen(WORKERS_KEY) == 1, "the worker to have registered")
            inject(server, toxic, stream)
            for _ in range(JOBS):
                queue.put(work_s=0.02)
            await asyncio.sleep(TOXIC_FOR_S)
            revert(server, toxic)
            await until(lambda: queue.length() == 0, "every entry to be settled")
            one.consumer.stop()
            await working
            return one

    with running_model() as model_url:
        return asyncio.run(work(model_url))


def inject(server: ToxiproxyServer, toxic: str | None, stream: str) -> None:
    if toxic is None:
        server.api.post("/proxies/redis", json={"enabled": False}).raise_for_status()
        return
    body = {"name": "toxic", "type": toxic, "stream": stream, "attributes": TOXICS[toxic]}
    server.api.post("/proxies/redis/toxics", json=body).raise_for_status()


def revert(server: ToxiproxyServer, toxic: str | None) -> None:
    if toxic is None:
        server.api.post("/proxies/redis", json={"enabled": True}).raise_for_status()
    else:
        server.api.delete("/proxies/redis/toxics/toxic").raise_for_status()


@pytest.mark.parametrize("stream", ["downstream", "upstream"])
@pytest.mark.parametrize("toxic", [*TOXICS, None])
def test_every_job_is_run_whatever_the_link_to_redis_suffers(
    redis_url: str, queue: Queue, toxic: str | None, stream: str
) -> None:
    with toxiproxy_running(EMBEDDED) as server:
        worked = worked_through(server, queue, redis_url, toxic, stream)
    outcomes = worked.of("outcome")
    settled = [event for event in outcomes if not event["duplicate"]]
    assert len({event["job_id"] for event in settled}) == len(settled) == JOBS
    assert {event["outcome"] for event in settled} == {"ok"}
    assert queue.dead_letters() == []
    run = {event["job_id"] for event in worked.of("attempt")}
    assert run == {event["job_id"] for event in settled}
