"""Each outcome of a job, through a real queue and a real model."""

import json

import pytest

from lab.contract import environment as env
from lab.contract.journal import AttemptEvent, Event, HeartbeatEvent, OutcomeEvent
from lab.contract.messages import Job
from lab.contract.names import (
    ANSWER_KEY_PREFIX,
    HEARTBEATS_KEY,
    STREAM,
    WORKERS_KEY,
)
from tests.service.model_thread import disturb, running_model, state
from tests.service.redis_servers import BOTH_SERVERS, free_port
from tests.service.worker_bench import Queue, burst


def fields_of(event: type[Event]) -> set[str]:
    return set(event.__annotations__) - {"source"} | {"event", "at"}


@pytest.mark.parametrize("redis_url", BOTH_SERVERS, indirect=True)
def test_a_job_done_in_time_is_ok_and_leaves_the_stream(redis_url: str, model_url: str, queue: Queue) -> None:
    job = queue.put()
    worked = burst(redis_url, model_url)
    (outcome,) = worked.of("outcome")
    assert (outcome["outcome"], outcome["duplicate"], outcome["attempt"]) == ("ok", False, 1)
    assert outcome["tokens_out"] == 20
    settled = queue.settled(job)
    assert (settled["status"], settled["outcome"], settled["attempts"]) == ("completed", "ok", "1")
    assert float(settled["finished_at"]) == outcome["finished_at"]
    assert settled["tokens_out"] == "20"
    assert Job.model_validate_json(settled["job"]) == job
    assert queue.length() == 0
    assert queue.pending() == []


def test_the_events_have_the_journals_fields_and_the_times_are_in_order(
    redis_url: str, model_url: str, queue: Queue
) -> None:
    before = queue.now()
    job = queue.put()
    worked = burst(redis_url, model_url)
    (outcome,), (attempt,), beats = worked.of("outcome"), worked.of("attempt"), worked.of("heartbeat")
    assert set(outcome) == fields_of(OutcomeEvent)
    assert set(attempt) == fields_of(AttemptEvent)
    assert set(beats[0]) == fields_of(HeartbeatEvent)
    # An entry's id is cut to the whole ms.
    assert before - 0.001 <= outcome["enqueued_at"] <= outcome["dequeued_at"] <= attempt["started_at"]
    assert attempt["started_at"] < outcome["first_token_at"] < outcome["finished_at"] <= outcome["at"]
    assert outcome["at"] <= queue.now()
    assert outcome["queue_age_s"] == pytest.approx(outcome["dequeued_at"] - outcome["enqueued_at"])
    assert outcome["ttft_s"] == attempt["ttft_s"]
    assert 0.02 <= outcome["endpoint_latency_s"] <= outcome["slot_s"]
    assert (outcome["request_id"], outcome["deadline_at"], outcome["tenant"]) == (
        job.request_id,
        job.deadline_at,
        "acme",
    )


def test_the_answer_channel_ends_with_a_done_chunk_and_expires(redis_url: str, model_url: str, queue: Queue) -> None:
    job = queue.put()
    burst(redis_url, model_url)
    (chunk,) = queue.redis.lrange(f"{ANSWER_KEY_PREFIX}{job.job_id}", 0, -1)
    assert json.loads(chunk) == {"done": True, "outcome": "ok", "tokens_out": 20, "detail": ""}
    assert queue.redis.ttl(f"{ANSWER_KEY_PREFIX}{job.job_id}") > 0


def test_a_job_done_past_its_deadline_is_late(redis_url: str, model_url: str, queue: Queue) -> None:
    job = queue.put(work_s=1.5, deadline_s=1.0)
    (outcome,) = burst(redis_url, model_url).of("outcome")
    assert outcome["outcome"] == "late"
    assert queue.settled(job)["status"] == "completed"


def test_a_job_past_its_deadline_when_a_slot_is_free_expires_unserved(
    redis_url: str, model_url: str, queue: Queue
) -> None:
    job = queue.put(deadline_s=0.0)
    served_before = state(model_url)["served"]
    worked = burst(redis_url, model_url)
    (outcome,) = worked.of("outcome")
    assert (outcome["outcome"], outcome["attempt"], outcome["first_token_at"]) == ("expired", 0, None)
    assert worked.of("attempt") == []
    assert state(model_url)["served"] == served_before
    assert queue.settled(job)["status"] == "expired"


def test_a_model_that_stays_silent_times_out(redis_url: str, model_url: str, queue: Queue) -> None:
    disturb(model_url, stall_ratio=1)
    queue.put()
    (outcome,) = burst(redis_url, model_url, **{env.FIRST_TOKEN_TIMEOUT_S: "0.3"}).of("outcome")
    assert (outcome["outcome"], outcome["detail"]) == ("timeout", "no first token within 0.3 s")
    assert outcome["ttft_s"] is None


def test_a_model_that_is_never_done_times_out_after_its_first_token(
    redis_url: str, model_url: str, queue: Queue
) -> None:
    queue.put(work_s=60)
    (outcome,) = burst(redis_url, model_url, TOTAL_TIMEOUT_S="0.5").of("outcome")
    assert (outcome["outcome"], outcome["detail"]) == ("timeout", "not done within 0.5 s")


def test_a_failing_model_is_an_error_after_every_attempt(redis_url: str, model_url: str, queue: Queue) -> None:
    disturb(model_url, failure_ratio=1, status=503)
    job = queue.put()
    worked = burst(redis_url, model_url, MAX_ATTEMPTS="3")
    (outcome,) = worked.of("outcome")
    assert (outcome["outcome"], outcome["attempt"]) == ("error", 3)
    assert [(attempt["attempt"], attempt["status"]) for attempt in worked.of("attempt")] == [
        (1, 503),
        (2, 503),
        (3, 503),
    ]
    assert queue.settled(job)["status"] == "failed"
    assert queue.length() == 0


def test_a_model_that_nobody_runs_is_an_error(redis_url: str, queue: Queue) -> None:
    queue.put()
    (outcome,) = burst(redis_url, f"http://127.0.0.1:{free_port()}").of("outcome")
    assert outcome["outcome"] == "error"
    assert outcome["detail"].startswith("ConnectError")


def test_a_degraded_job_goes_to_its_model_and_gets_its_tokens(redis_url: str, queue: Queue) -> None:
    with running_model(FALLBACK_MODELS="small") as url:
        queue.put(degraded=True, model="small", max_output_tokens=7)
        queue.put(degraded=True, max_output_tokens=3)
        queue.put(degraded=True, model="nobody-has-it")
        outcomes = burst(redis_url, url, WORKER_SLOTS="1").of("outcome")
    assert [(event["outcome"], event["tokens_out"]) for event in outcomes] == [("ok", 7), ("ok", 3), ("error", 0)]
    assert outcomes[2]["detail"].startswith("the model answered 404: The model 'nobody-has-it' does not exist")


def test_work_that_nobody_declared_lasts_as_long_as_the_tokens_allowed(redis_url: str, queue: Queue) -> None:
    with running_model() as url:
        long, short = queue.put(work_s=None, max_output_tokens=200), queue.put(work_s=None, max_output_tokens=10)
        events = burst(redis_url, url).of("outcome")
    spent_s = {event["job_id"]: event["endpoint_latency_s"] for event in events}
    # Half of 200 tokens at 5 ms each, at least; a tenth of a second and all of 10 tokens, at most.
    assert spent_s[long.job_id] >= 0.5
    assert spent_s[short.job_id] < spent_s[long.job_id]


def test_a_flaky_provider_shows_as_jobs_neither_ok_nor_late(redis_url: str, model_url: str, queue: Queue) -> None:
    disturb(model_url, failure_ratio=0.35)
    for number in range(40):
        queue.put(request_id=f"flaky-{number}")
    lines = [(event["ok"], event["late"], event["result"]) for event in burst(redis_url, model_url).of("outcome")]
    failed = lines.count((False, False, "error"))
    assert lines.count((True, False, "ok")) == 40 - failed
    # The draws follow from the model's seed and the requests' names.
    assert 7 <= failed <= 21


def test_a_worker_takes_itself_off_the_books_when_it_ends(redis_url: str, model_url: str, queue: Queue) -> None:
    queue.put()
    worked = burst(redis_url, model_url)
    assert worked.of("heartbeat")[0]["slots"] == 4
    assert queue.redis.zcard(HEARTBEATS_KEY) == 0
    assert queue.redis.hlen(WORKERS_KEY) == 0
    assert queue.redis.xinfo_consumers(STREAM, "workers") == []
