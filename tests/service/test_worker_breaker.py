"""A worker whose provider fails: it stops taking jobs, loses none of them, and goes on when a probe succeeds."""

import asyncio

from tests.service.model_thread import disturb, state
from tests.service.worker_bench import Bench, Queue, bench, burst, until

BREAKER = {"BREAKER_FAILURES": "3", "BREAKER_OPEN_FOR_S": "0.4", "BREAKER_PROBES": "1", "WORKER_SLOTS": "1"}


def states(worked: Bench) -> list[str]:
    return [event["state"] for event in worked.of("breaker")]


def test_while_the_provider_fails_jobs_wait_in_the_stream_and_a_probe_brings_them_back(
    redis_url: str, model_url: str, queue: Queue
) -> None:
    disturb(model_url, failure_ratio=1, status=503)
    jobs = [queue.put() for _ in range(8)]

    async def work() -> tuple[Bench, int, int]:
        async with bench(redis_url, model_url, **BREAKER) as one:
            running = asyncio.create_task(one.consumer.run())
            await until(lambda: states(one).count("open") == 2, "the first probe to fail")
            # Three failures and the probe; the others were neither read nor claimed.
            left, pending = queue.length(), len(queue.pending())
            disturb(model_url)
            await until(lambda: len(one.of("outcome")) == len(jobs), "every job to settle")
            one.consumer.stop()
            await running
            return one, left, pending

    worked, left, pending = asyncio.run(work())
    outcomes = [event["outcome"] for event in worked.of("outcome")]
    failed = outcomes.count("error")
    # The provider may come back between a probe and the next.
    assert failed >= 4
    assert outcomes == ["error"] * failed + ["ok"] * (len(jobs) - failed)
    assert states(worked)[:3] == ["open", "half_open", "open"]
    assert states(worked)[-2:] == ["half_open", "closed"]
    assert (left, pending) in {(len(jobs) - 4, 0), (len(jobs) - 3, 1)}
    first = worked.of("breaker")[0]
    assert first["worker_id"] == "worker-1"
    assert first["reason"].startswith("3 calls in a row failed; the last: the model answered 503")
    assert queue.length() == 0


def test_an_open_breaker_does_not_keep_the_worker_from_stopping(redis_url: str, model_url: str, queue: Queue) -> None:
    disturb(model_url, failure_ratio=1)
    for _ in range(5):
        queue.put()

    async def work() -> Bench:
        async with bench(redis_url, model_url, **BREAKER | {"BREAKER_OPEN_FOR_S": "3600"}) as one:
            running = asyncio.create_task(one.consumer.run())
            await until(lambda: states(one), "the breaker to open")
            one.consumer.stop()
            await running
            return one

    worked = asyncio.run(work())
    assert states(worked) == ["open"]
    assert queue.length() == 2
    assert queue.pending() == []


def test_retries_beyond_the_budget_never_reach_the_provider(redis_url: str, model_url: str, queue: Queue) -> None:
    disturb(model_url, failure_ratio=1)
    failed_before = int(str(state(model_url)["failed"]))
    for _ in range(10):
        queue.put()
    worked = burst(redis_url, model_url, MAX_ATTEMPTS="2", RETRY_BUDGET_RATIO="0.2")
    # Three for the start, and a fifth of ten.
    assert int(str(state(model_url)["failed"])) - failed_before == len(worked.of("attempt")) == 10 + 3 + 2
    denied = [event for event in worked.of("outcome") if event["retry_denied"] == "retry_budget"]
    assert len(denied) == 5
    assert {event["attempt"] for event in denied} == {1}
    assert all(event["detail"].endswith("; not tried again: the retry budget is spent") for event in denied)
