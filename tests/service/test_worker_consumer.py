"""Slots, settling once, claiming, and Redis going away, with workers in process on a real queue and a real model."""

import asyncio
import time
from collections.abc import Iterator

import pytest

from lab.contract.names import BEGUN_KEY, GROUP, HEARTBEATS_KEY, STREAM, WORKERS_KEY
from tests.service.model_thread import running_model, state
from tests.service.redis_servers import RedisServer
from tests.service.worker_bench import Bench, Queue, bench, burst, until
from worker.delivery import Delivery, identity_of
from worker.outcome import Ending

# This worker takes a neighbour for dead soon, and looks often.
HASTY = {"SERVICE_ID": "hasty", "HEARTBEAT_S": "0.1", "RECLAIM_AFTER_S": "0.2"}


@pytest.fixture(scope="module")
def model_url() -> Iterator[str]:
    with running_model() as url:
        yield url


def test_never_more_entries_are_pending_than_there_are_slots(redis_url: str, model_url: str, queue: Queue) -> None:
    jobs = [queue.put(work_s=0.1) for _ in range(10)]

    async def work() -> tuple[Bench, list[tuple[int, object]]]:
        seen = []
        async with bench(redis_url, model_url, WORKER_SLOTS="2") as one:
            working = asyncio.create_task(one.consumer.run(burst=True))
            while not working.done():
                seen.append((len(queue.pending()), state(model_url)["in_flight"]))
                await asyncio.sleep(0.005)
            await working
            return one, seen

    worked, seen = asyncio.run(work())
    assert max(pending for pending, _ in seen) == 2
    assert max(int(str(in_flight)) for _, in_flight in seen) == 2
    assert [event["outcome"] for event in worked.of("outcome")] == ["ok"] * 10
    assert {event["job_id"] for event in worked.of("outcome")} == {job.job_id for job in jobs}
    assert queue.length() == 0


def test_one_slot_serves_in_the_order_of_the_queue(redis_url: str, model_url: str, queue: Queue) -> None:
    jobs = [queue.put() for _ in range(5)]
    worked = burst(redis_url, model_url, WORKER_SLOTS="1")
    assert [event["job_id"] for event in worked.of("outcome")] == [job.job_id for job in jobs]


def test_a_freed_slot_takes_the_next_entry_at_once(redis_url: str, model_url: str, queue: Queue) -> None:
    for _ in range(30):
        queue.put(work_s=0.001)

    async def work() -> float:
        async with bench(redis_url, model_url, WORKER_SLOTS="1") as one:
            running = asyncio.create_task(one.consumer.run())
            await until(lambda: one.of("outcome"), "the first job to settle")
            first_at = time.monotonic()
            await until(lambda: len(one.of("outcome")) == 30, "every job to settle")
            one.consumer.stop()
            await running
            return time.monotonic() - first_at

    # Waiting for a poll before each of them would take several times as long.
    assert asyncio.run(work()) < 29 * 0.25


def test_two_workers_that_hold_the_same_entry_settle_it_once(redis_url: str, model_url: str, queue: Queue) -> None:
    job = queue.put(work_s=1.5)

    async def work() -> tuple[Bench, Bench]:
        silent = {"SERVICE_ID": "silent", "HEARTBEAT_S": "3600"}
        async with bench(redis_url, model_url, **silent) as slow, bench(redis_url, model_url, **HASTY) as hasty:
            first = asyncio.create_task(slow.consumer.run())
            await until(queue.begun, "the entry to be begun")
            second = asyncio.create_task(hasty.consumer.run())
            await until(lambda: slow.of("outcome") and hasty.of("outcome"), "both workers to be done")
            slow.consumer.stop()
            hasty.consumer.stop()
            await asyncio.gather(first, second)
            return slow, hasty

    slow, hasty = asyncio.run(work())
    (won,), (lost,) = slow.of("outcome"), hasty.of("outcome")
    assert (won["duplicate"], won["attempt"]) == (False, 1)
    assert (lost["duplicate"], lost["attempt"]) == (True, 2)
    assert queue.settled(job)["attempts"] == "1"
    assert queue.redis.llen(f"shedlab:answer:{job.job_id}") == 1
    assert queue.length() == 0


def test_a_live_workers_long_job_is_not_taken(redis_url: str, model_url: str, queue: Queue) -> None:
    queue.put(work_s=2.0)

    async def work() -> tuple[Bench, Bench]:
        live = {"SERVICE_ID": "live", "HEARTBEAT_S": "0.3"}
        hasty = {**HASTY, "HEARTBEAT_S": "0.3"}
        async with bench(redis_url, model_url, **live) as one, bench(redis_url, model_url, **hasty) as other:
            first = asyncio.create_task(one.consumer.run())
            await until(queue.begun, "the entry to be begun")
            second = asyncio.create_task(other.consumer.run())
            await until(lambda: one.of("outcome"), "the long job to be done")
            one.consumer.stop()
            other.consumer.stop()
            await asyncio.gather(first, second)
            return one, other

    one, other = asyncio.run(work())
    assert [(event["outcome"], event["attempt"]) for event in one.of("outcome")] == [("ok", 1)]
    assert other.of("attempt") == []


def test_a_worker_started_again_takes_up_its_own_entries_at_once(redis_url: str, model_url: str, queue: Queue) -> None:
    job = queue.put()
    queue.deliver_to("worker-1")
    (outcome,) = burst(redis_url, model_url, RECLAIM_AFTER_S="3600").of("outcome")
    assert (outcome["job_id"], outcome["outcome"], outcome["attempt"]) == (job.job_id, "ok", 1)
    assert queue.pending() == []


def test_claims_fill_only_free_slots(redis_url: str, model_url: str, queue: Queue) -> None:
    for _ in range(6):
        queue.put(work_s=0.1)
    queue.deliver_to("dead")
    time.sleep(0.01)

    async def work() -> tuple[Bench, int]:
        most = 0
        async with bench(redis_url, model_url, WORKER_SLOTS="2", RECLAIM_AFTER_S="0.001") as one:
            working = asyncio.create_task(one.consumer.run())
            while len(one.of("outcome")) < 6:
                most = max(most, sum(entry["consumer"] == "worker-1" for entry in queue.pending()))
                await asyncio.sleep(0.005)
            one.consumer.stop()
            await working
            return one, most

    worked, most = asyncio.run(work())
    assert most == 2
    assert [event["outcome"] for event in worked.of("outcome")] == ["ok"] * 6


def test_an_entry_that_outlives_its_workers_is_dead_lettered(redis_url: str, model_url: str, queue: Queue) -> None:
    queue.put()
    (entry_id,) = queue.deliver_to("worker-1")
    queue.redis.hset(BEGUN_KEY, entry_id, "5:a life that ended")
    worked = burst(redis_url, model_url)
    (outcome,) = worked.of("outcome")
    assert (outcome["outcome"], outcome["detail"]) == (
        "dead_lettered",
        "the entry was begun 6 times and never settled",
    )
    assert worked.of("attempt") == []


def test_replies_that_were_cut_off_dead_letter_nothing(redis_url: str, model_url: str, queue: Queue) -> None:
    queue.put()
    queue.redis.xclaim(STREAM, GROUP, "worker-1", 0, queue.deliver_to("worker-1"), retrycount=50)
    (outcome,) = burst(redis_url, model_url).of("outcome")
    assert (outcome["outcome"], outcome["attempt"], outcome["deliveries"]) == ("ok", 1, 51)
    assert queue.redis.hlen(BEGUN_KEY) == 0


def test_beginning_again_counts_a_life_once(redis_url: str, model_url: str, queue: Queue) -> None:
    queue.put()

    async def begin() -> list[int]:
        async with bench(redis_url, model_url) as one, bench(redis_url, model_url) as other:
            await one.stream.open()
            (delivery,) = await one.stream.read(1, None)
            return [(await who.stream.begin(delivery)).times_begun for who in (one, one, other, other)]

    assert asyncio.run(begin()) == [1, 1, 2, 2]


def test_settling_again_is_a_duplicate_for_others_and_none_for_the_settler(
    redis_url: str, model_url: str, queue: Queue
) -> None:
    job = queue.put()

    async def settle() -> list[bool]:
        async with bench(redis_url, model_url) as one, bench(redis_url, model_url, SERVICE_ID="worker-2") as other:
            await one.stream.open()
            (delivery,) = await one.stream.read(1, None)
            ending = Ending(delivery, identity_of(job), "ok", "", one.clock.now())
            late = Ending(Delivery(delivery.entry_id, {}, 0.0, 2), identity_of(job), "timeout", "", 0.0)
            return [await one.stream.settle(ending), await other.stream.settle(late), await one.stream.settle(ending)]

    assert asyncio.run(settle()) == [True, False, True]
    assert queue.settled(job)["outcome"] == "ok"


def test_a_job_done_while_redis_is_gone_is_settled_when_it_is_back(
    own_redis: RedisServer, model_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    queue = Queue(own_redis.url)
    job = queue.put(work_s=0.7)

    async def work() -> Bench:
        async with bench(own_redis.url, model_url, HEARTBEAT_S="0.1") as one:
            running = asyncio.create_task(one.consumer.run())
            await until(queue.begun, "the entry to be begun")
            own_redis.kill()
            await until(lambda: one.of("attempt"), "the model to be done")
            assert one.of("outcome") == []
            own_redis.start()
            await until(lambda: one.of("outcome"), "the job to settle")
            # The new server has no group: the next job needs one, and the worker on the books.
            queue.put(request_id="afterwards")
            await until(lambda: len(one.of("outcome")) == 2, "the next job to settle")
            await until(lambda: queue.redis.zscore(HEARTBEATS_KEY, "worker-1"), "a heartbeat")
            assert queue.redis.hget(WORKERS_KEY, "worker-1") == "4"
            one.consumer.stop()
            await running
            return one

    first, second = asyncio.run(work()).of("outcome")
    assert (first["outcome"], first["job_id"], first["duplicate"]) == ("ok", job.job_id, False)
    assert (second["outcome"], second["request_id"]) == ("ok", "afterwards")
    assert queue.settled(job)["outcome"] == "ok"
    said = [record.getMessage() for record in caplog.records]
    assert sum("Redis cannot be used" in line for line in said) == 1
    assert sum("Redis can be used again" in line for line in said) == 1
    queue.close()


def test_an_outage_that_hides_a_delivery_loses_no_job(own_redis: RedisServer, model_url: str) -> None:
    queue = Queue(own_redis.url)

    async def work() -> Bench:
        async with bench(own_redis.url, model_url, RECLAIM_AFTER_S="3600") as one:
            running = asyncio.create_task(one.consumer.run())
            await until(lambda: queue.redis.zcard(HEARTBEATS_KEY), "the worker to be up")
            # A read that is answered after its client has gone, as when the network drops the reply.
            queue.redis.client_kill_filter(_type="normal", skipme=True)
            queue.put()
            hidden = queue.redis.xreadgroup(GROUP, "worker-1", {STREAM: ">"})
            await until(lambda: one.of("outcome"), "the hidden job to settle")
            one.consumer.stop()
            await running
            assert hidden
            return one

    asyncio.run(work())
    queue.close()
