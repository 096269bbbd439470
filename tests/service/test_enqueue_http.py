"""The enqueue endpoint as a process over a real Redis: it makes the gate's own jobs, and needs nothing that decides."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, get_type_hints

import httpx
import pytest
import redis

from lab.contract import names
from lab.contract.journal import DecisionEvent
from lab.contract.messages import MAX_BODY_BYTES, Job, JobAccepted, JobStatus, Refusal
from tests.service.gate_process import PROJECT_ROOT, GateProcess, await_that, gate_running
from tests.service.redis_servers import BOTH_SERVERS, LOOPBACK, RedisServer, free_port

both_servers = pytest.mark.parametrize("redis_url", BOTH_SERVERS, indirect=True)
ENQUEUE = "gate.enqueue"
DECLARED: dict[str, Any] = {"job_class": "chat", "deadline_s": 2.5, "work_s": 0.25, "tenant": "acme", "user": "u-1"}


@contextmanager
def endpoint(tmp_path: Path, redis_url: str, **environ: str) -> Iterator[GateProcess]:
    with gate_running(tmp_path, redis_url, module=ENQUEUE, **environ) as service:
        yield service


def left_by(client: Any, answer: httpx.Response) -> tuple[dict[str, Any], dict[str, str], Any]:
    """What an accepted request left: the newest entry's fields, the job's hash, what is unsettled of its class."""
    job_id = JobAccepted.model_validate_json(answer.content).id
    ((_, fields),) = client.xrevrange(names.STREAM, count=1)
    job = json.loads(fields[names.FIELD_JOB])
    assert job["job_id"] == job_id
    hashed = client.hgetall(names.JOB_KEY_PREFIX + job_id)
    return {**fields, names.FIELD_JOB: job}, hashed, client.hget(names.UNSETTLED_KEY, "chat")


@both_servers
def test_a_job_is_the_gates_own_in_stream_hash_and_counts(redis_url: str, tmp_path: Path) -> None:
    with (
        endpoint(tmp_path, redis_url) as past,
        gate_running(tmp_path, redis_url) as gate,
        redis.Redis.from_url(redis_url, decode_responses=True) as client,
    ):
        gate.await_redis()
        by_gate = left_by(client, gate.post(request_id="r-1", **DECLARED))
        by_past = left_by(client, past.post(request_id="r-2", **DECLARED))
        assert list(by_past[0]) == list(by_gate[0])
        assert list(by_past[0][names.FIELD_JOB]) == list(by_gate[0][names.FIELD_JOB])
        assert set(by_past[1]) == set(by_gate[1])
        assert (by_gate[2], by_past[2]) == ("1", "2")
        Job.model_validate(by_past[0][names.FIELD_JOB])


def test_it_answers_as_the_gate_does_and_its_line_says_that_nothing_was_decided(redis_url: str, tmp_path: Path) -> None:
    with endpoint(tmp_path, redis_url) as past:
        answer = past.post(**DECLARED)
        assert answer.status_code == 202
        accepted = JobAccepted.model_validate_json(answer.content)
        assert accepted.deadline_at == pytest.approx(accepted.created_at + 2.5)
        job = JobStatus.model_validate_json(httpx.get(past.url + answer.headers["location"]).content)
        assert (job.id, job.status, job.job_class) == (accepted.id, "queued", "chat")
        assert httpx.get(f"{past.url}/v1/jobs/none").status_code == 404
        assert httpx.get(f"{past.url}/metrics").status_code == 404
        (line,) = past.events("decision")
        assert (line["decision"], line["reason"], line["mode"]) == ("admit", "bypass", "off")
        assert (line["job_id"], line["at"]) == (accepted.id, accepted.created_at)
        assert set(line) | {"source"} == set(get_type_hints(DecisionEvent))


@pytest.mark.parametrize(
    ("body", "status", "reason"),
    [
        (b'{"request_id": "r-1"}', 400, "bad_request"),
        (b"{", 400, "bad_request"),
        (b'{"request_id": "r-1", "deadline_s": 5, "surprise": 1}', 400, "bad_request"),
        (b" " * (MAX_BODY_BYTES + 1), 413, "too_large"),
    ],
    ids=["no_deadline", "no_json", "unknown_key", "too_large"],
)
def test_what_is_no_job_is_refused_with_the_gates_words_and_written_down(
    redis_url: str, tmp_path: Path, body: bytes, status: int, reason: str
) -> None:
    with endpoint(tmp_path, redis_url) as past:
        answer = httpx.post(f"{past.url}/v1/jobs", content=body, headers={"content-type": "application/json"})
        assert (answer.status_code, Refusal.model_validate_json(answer.content).reason) == (status, reason)
        assert [(line["status"], line["reason"]) for line in past.events("refusal")] == [(status, reason)]


def test_counts_that_a_lost_stream_left_behind_begin_anew(redis_url: str, tmp_path: Path) -> None:
    with endpoint(tmp_path, redis_url) as past, redis.Redis.from_url(redis_url) as client:
        client.hset(names.UNSETTLED_KEY, "chat", 7)
        past.post(**DECLARED)
        assert client.hget(names.UNSETTLED_KEY, "chat") == b"1"


def test_a_redis_that_dies_is_answered_with_503_and_its_successor_is_used(
    own_redis: RedisServer, tmp_path: Path
) -> None:
    with endpoint(tmp_path, own_redis.url) as past:
        assert past.post(request_id="before").status_code == 202
        own_redis.kill()
        assert past.post(request_id="while").status_code == 503
        assert past.health() == {"status": "ok", "redis": False}
        own_redis.start()
        assert past.post(request_id="after").status_code == 202
        await_that("a line for each request", lambda: len(past.events("decision", "refusal")) == 3)
        said = {line["request_id"]: line["event"] for line in past.events("decision", "refusal")}
        assert said == {"before": "decision", "while": "refusal", "after": "decision"}


def test_a_redis_that_hangs_gives_503_and_enqueues_nothing_when_it_wakes_up(
    own_redis: RedisServer, tmp_path: Path
) -> None:
    with endpoint(tmp_path, own_redis.url) as past, redis.Redis.from_url(own_redis.url) as client:
        assert past.post(request_id="before").status_code == 202
        own_redis.pause()
        assert past.post(request_id="hung").status_code == 503
        own_redis.resume()
        await_that("the line of the request in doubt", lambda: len(past.events("refusal")) == 1)
        assert (client.xlen(names.STREAM), len(past.events("decision"))) == (1, 1)
        assert client.hget(names.UNSETTLED_KEY, "default") == b"1"


def test_sigterm_ends_it_with_exit_code_0_and_no_word(redis_url: str, tmp_path: Path) -> None:
    with endpoint(tmp_path, redis_url) as past:
        past.post()
        past.process.send_signal(signal.SIGTERM)
        assert past.process.wait(timeout=15) == 0
        assert past.log.read_text() == ""


def test_a_policy_that_no_gate_would_start_with_keeps_nothing_from_being_enqueued(
    redis_url: str, tmp_path: Path
) -> None:
    with endpoint(tmp_path, redis_url, POLICY="{broken") as past:
        assert past.post().status_code == 202


def test_a_gate_that_lost_its_own_way_to_redis_bypasses_to_it_and_both_write_their_lines(
    own_redis: RedisServer, tmp_path: Path
) -> None:
    nowhere = f"redis://{LOOPBACK}:{free_port()}/0"
    with endpoint(tmp_path, own_redis.url) as past:
        told = {"ON_QUEUE_FAILURE": "bypass", "BYPASS_URL": f"{past.url}/v1/jobs"}
        with gate_running(tmp_path, nowhere, **told) as gate:
            answer = gate.post(request_id="r-9")
            accepted = JobAccepted.model_validate_json(answer.content)
            assert (answer.status_code, accepted.request_id) == (202, "r-9")
            assert [line["request_id"] for line in gate.events("bypass")] == ["r-9"]
            assert gate.events("decision", "refusal") == []
            assert [line["job_id"] for line in past.events("decision")] == [accepted.id]


def test_it_imports_nothing_that_decides() -> None:
    code = (
        "import gate.enqueue.__main__, sys\n"
        "decides = ('lab.policies', 'gate.admission', 'gate.waiting', 'gate.wire', 'gate.stream', 'gate.conclusions')\n"
        "print(*[name for name in sys.modules if name.startswith(decides)])"
    )
    told = subprocess.run([sys.executable, "-c", code], cwd=PROJECT_ROOT, capture_output=True, text=True, check=True)
    assert told.stdout.split() == []


def test_a_port_in_use_and_a_bad_setting_are_one_sentence_each(tmp_path: Path, redis_url: str) -> None:
    with endpoint(tmp_path, redis_url) as past:
        taken = run_endpoint(PORT=str(past.port))
    assert (taken.returncode, taken.stdout, len(taken.stderr.splitlines())) == (3, "", 1)
    wrong = run_endpoint(PORT="none")
    assert (wrong.returncode, wrong.stdout, len(wrong.stderr.splitlines())) == (2, "", 1)
    assert wrong.stderr.startswith("enqueue: PORT ")


def run_endpoint(**environ: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", ENQUEUE]
    return subprocess.run(
        command, cwd=PROJECT_ROOT, env=environ, capture_output=True, text=True, timeout=30, check=False
    )


def test_one_whose_lines_nobody_reads_any_more_stops_with_one_sentence(redis_url: str) -> None:
    port = free_port()
    environ = {"PORT": str(port), "REDIS_URL": redis_url}
    command = [sys.executable, "-m", ENQUEUE]
    with subprocess.Popen(
        command, cwd=PROJECT_ROOT, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as past:
        assert past.stdout is not None
        assert past.stderr is not None
        past.stdout.close()
        await_that("an endpoint that answers", lambda: answers(port))
        httpx.post(f"http://{LOOPBACK}:{port}/v1/jobs", json={"request_id": "r-1", "deadline_s": 5})
        said = past.stderr.read().splitlines()
        assert past.wait(timeout=15) == 3
    assert len(said) == 1
    assert "standard output" in said[0]


def answers(port: int) -> bool:
    try:
        return httpx.get(f"http://{LOOPBACK}:{port}/health").status_code == 200
    except httpx.TransportError:
        return False
