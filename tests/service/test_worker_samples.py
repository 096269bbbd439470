"""What a settlement leaves for the estimators: service samples per class, and one unsettled job less."""

import asyncio

import pytest

from lab.contract.messages import Job
from lab.contract.names import (
    CLASSES_KEY,
    FIELD_JOB,
    FIELD_VERSION,
    PROBE_PREFIX,
    SERVICE_KEY_PREFIX,
    SERVICE_SAMPLES,
    UNSETTLED_KEY,
)
from tests.service.model_thread import disturb
from tests.service.redis_servers import BOTH_SERVERS
from tests.service.worker_bench import Queue, bench, burst
from worker.delivery import Delivery, identity_of
from worker.outcome import Ending
from worker.settlement import MOST_CLASSES


def admit(queue: Queue, **fields: object) -> Job:
    """Enqueues a job and counts it, as the gate's one step does."""
    job = queue.put(**fields)  # type: ignore[arg-type] # the test's own fields
    queue.redis.hincrby(UNSETTLED_KEY, job.job_class, 1)
    return job


def samples(queue: Queue, job_class: str = "chat") -> list[tuple[int, int]]:
    """The samples of a class, newest first: when it finished, in unix ms, and its service in us."""
    texts = [str(text).split(":") for text in queue.redis.lrange(f"{SERVICE_KEY_PREFIX}{job_class}", 0, -1)]
    return [(int(finished_ms), int(service_us)) for finished_ms, service_us in texts]


def settle_all(redis_url: str, model_url: str, *endings: Ending) -> list[bool]:
    async def settle() -> list[bool]:
        async with bench(redis_url, model_url) as one:
            return [await one.stream.settle(ending) for ending in endings]

    return asyncio.run(settle())


@pytest.mark.parametrize("redis_url", BOTH_SERVERS, indirect=True)
def test_a_completed_job_leaves_its_service_time_newest_first(redis_url: str, model_url: str, queue: Queue) -> None:
    for work_s, job_class in ((0.02, "chat"), (0.2, "chat"), (0.02, "code")):
        admit(queue, work_s=work_s, job_class=job_class)
    assert queue.redis.hgetall(UNSETTLED_KEY) == {"chat": "2", "code": "1"}
    outcomes = burst(redis_url, model_url, WORKER_SLOTS="1").of("outcome")
    (newer_at, newer_us), (older_at, older_us) = samples(queue)
    assert [older_at, newer_at] == [round(event["finished_at"] * 1000) for event in outcomes[:2]]
    for service_us, event in ((older_us, outcomes[0]), (newer_us, outcomes[1])):
        assert service_us == pytest.approx((event["finished_at"] - event["dequeued_at"]) * 1e6, abs=2)
    assert len(samples(queue, "code")) == 1
    assert queue.redis.smembers(CLASSES_KEY) == {"chat", "code"}
    assert queue.redis.hgetall(UNSETTLED_KEY) == {"chat": "0", "code": "0"}


def test_a_late_job_is_a_sample_and_a_failed_or_expired_one_is_none(
    redis_url: str, model_url: str, queue: Queue
) -> None:
    admit(queue, work_s=1.0, deadline_s=0.6)
    burst(redis_url, model_url)
    assert len(samples(queue)) == 1
    disturb(model_url, failure_ratio=1)
    admit(queue)
    admit(queue, deadline_s=0.0)
    assert {event["outcome"] for event in burst(redis_url, model_url).of("outcome")} == {"error", "expired"}
    assert len(samples(queue)) == 1
    assert queue.redis.hget(UNSETTLED_KEY, "chat") == "0"


def test_a_dead_letter_that_names_its_job_is_settled_and_is_no_sample(
    redis_url: str, model_url: str, queue: Queue
) -> None:
    queue.redis.hset(UNSETTLED_KEY, "chat", 3)
    queue.put_fields({FIELD_VERSION: "0", FIELD_JOB: '{"job_id":"job-x","job_class":"chat"}'})
    queue.put_fields({FIELD_VERSION: "0", FIELD_JOB: "no job at all"})
    burst(redis_url, model_url)
    assert queue.redis.hgetall(UNSETTLED_KEY) == {"chat": "2"}
    assert samples(queue) == []


def test_a_probe_is_settled_and_is_no_sample(redis_url: str, model_url: str, queue: Queue) -> None:
    admit(queue, request_id=f"{PROBE_PREFIX}1")
    (outcome,) = burst(redis_url, model_url).of("outcome")
    assert outcome["outcome"] == "ok"
    assert queue.redis.hgetall(UNSETTLED_KEY) == {"chat": "0"}
    assert samples(queue) == []
    assert queue.redis.smembers(CLASSES_KEY) == set()


def ending_of(job: Job, outcome: str = "ok", delivery_count: int = 1) -> Ending:
    return Ending(Delivery("1-1", {}, 1000.0, delivery_count), identity_of(job), outcome, "", 1000.25)


def test_only_the_first_settlement_counts(redis_url: str, model_url: str, queue: Queue) -> None:
    job = queue.put()
    queue.redis.hset(UNSETTLED_KEY, "chat", 5)
    endings = (ending_of(job), ending_of(job), ending_of(job, delivery_count=2), ending_of(job, "error", 3))
    assert settle_all(redis_url, model_url, *endings) == [True, True, False, False]
    assert queue.redis.hget(UNSETTLED_KEY, "chat") == "4"
    assert samples(queue) == [(1_000_250, 250_000)]


def test_unsettled_jobs_never_go_below_none(redis_url: str, model_url: str, queue: Queue) -> None:
    settle_all(redis_url, model_url, ending_of(queue.put()))
    assert queue.redis.hgetall(UNSETTLED_KEY) == {}
    queue.redis.hset(UNSETTLED_KEY, "chat", 0)
    settle_all(redis_url, model_url, ending_of(queue.put()))
    assert queue.redis.hgetall(UNSETTLED_KEY) == {"chat": "0"}


def test_the_oldest_samples_make_room_and_made_up_classes_leave_none(
    redis_url: str, model_url: str, queue: Queue
) -> None:
    queue.redis.rpush(f"{SERVICE_KEY_PREFIX}chat", *(f"{number}:1" for number in range(SERVICE_SAMPLES)))
    settle_all(redis_url, model_url, ending_of(queue.put()))
    kept = samples(queue)
    assert len(kept) == SERVICE_SAMPLES
    assert (kept[0], kept[-1]) == ((1_000_250, 250_000), (SERVICE_SAMPLES - 2, 1))
    queue.redis.sadd(CLASSES_KEY, *(f"made-up-{number}" for number in range(MOST_CLASSES - 1)))
    settle_all(redis_url, model_url, ending_of(queue.put(job_class="one-more")), ending_of(queue.put()))
    assert samples(queue, "one-more") == []
    assert samples(queue)[1] == (1_000_250, 250_000)
