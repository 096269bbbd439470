"""Slack, degradation, back-off, metrics and the ways to fail, on a gate as a process with a real Redis."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest
import redis
from prometheus_client.parser import text_string_to_metric_families

from lab.contract import names
from lab.contract.messages import Job
from tests.service.gate_process import GateProcess, await_that, gate_running
from tests.service.redis_servers import LOOPBACK, RedisServer

SLACK_V1 = json.dumps({"kind": "slack_v1"})


@contextmanager
def ready_gate(folder: Path, redis_url: str, **environ: str) -> Iterator[GateProcess]:
    with gate_running(folder, redis_url, **environ) as gate:
        gate.await_redis()
        yield gate


def warm(client: Any, job_class: str, service_s: float, count: int = 60) -> None:
    """Leaves services as the workers do."""
    seconds, _ = client.time()
    client.sadd(names.CLASSES_KEY, job_class)
    texts = [f"{(seconds - number) * 1000}:{round(service_s * 1e6)}" for number in range(count)]
    client.rpush(names.SERVICE_KEY_PREFIX + job_class, *texts)


def knows(gate: GateProcess, job_class: str, count: int) -> bool:
    return counted(gate, "gate_estimator_samples", **{"class": job_class}) == count


def counted(gate: GateProcess, name: str, **labels: str) -> float:
    families = text_string_to_metric_families(httpx.get(f"{gate.url}/metrics").text)
    samples = [one for family in families for one in family.samples if one.name == name]
    return sum(one.value for one in samples if labels.items() <= one.labels.items())


def test_two_replicas_and_one_restarted_expect_the_same_of_a_class(redis_url: str, tmp_path: Path) -> None:
    with redis.Redis.from_url(redis_url) as client:
        warm(client, "large", 12.0)
    lines = []
    for _ in range(2):
        with (
            ready_gate(tmp_path, redis_url, POLICY=SLACK_V1) as first,
            ready_gate(tmp_path, redis_url, POLICY=SLACK_V1) as second,
        ):
            for gate in (first, second):
                await_that("the estimate of large", partial(knows, gate, "large", 60))
                assert gate.post(job_class="large", deadline_s=16).status_code == 429
                lines += gate.events("decision")
    assert [(line["est_service_ms"], line["estimator_n"], line["reason"]) for line in lines] == [
        (12_000.0, 60, "deadline_unmeetable")
    ] * 4


def test_slack_v1_sheds_by_the_work_ahead_once_warm_and_only_logs_while_cold(redis_url: str, tmp_path: Path) -> None:
    with ready_gate(tmp_path, redis_url, POLICY=SLACK_V1) as gate, redis.Redis.from_url(redis_url) as client:
        assert gate.post(deadline_s=1).status_code == 202
        (line,) = gate.events("decision")
        assert (line["decision"], line["would"], line["mode"]) == ("admit", "shed", "log_only")
        warm(client, "default", 4.0)
        await_that("a warm estimate", lambda: knows(gate, "default", 60))
        # No worker lives: one slot. One job is ahead; with n ahead slack is 20 - 4 - 4 n, which must be above 5.
        assert [gate.post(deadline_s=20).status_code for _ in range(4)] == [202, 202, 429, 429]
        shed = gate.events("decision")[-1]
        assert (shed["slack_ms"], shed["queue_ahead_ms"], shed["slack_floor_ms"]) == (4_000.0, 12_000.0, 5_000.0)
        # One second less ahead and the slack is above the floor again; spread by up to half.
        assert 1_000 <= shed["retry_after_ms"] <= 1_500


def test_a_deadline_never_met_is_not_to_be_retried(redis_url: str, tmp_path: Path) -> None:
    with ready_gate(tmp_path, redis_url, POLICY=json.dumps({"kind": "deadline_slack"})) as gate:
        answer = gate.post(deadline_s=0.5)
        assert (answer.status_code, answer.headers["x-should-retry"]) == (429, "false")
        assert answer.json()["error"]["code"] == "deadline_unmeetable"
        assert gate.post(deadline_s=5).status_code == 202


def test_a_degraded_job_reaches_the_stream_with_less_to_do(redis_url: str, tmp_path: Path) -> None:
    degrade = {"at": 1, "max_output_tokens": 8, "model": "small", "work_ratio": 0.5}
    policy = json.dumps({"kind": "queue_depth", "max_depth": 2, "degrade": degrade})
    with ready_gate(tmp_path, redis_url, POLICY=policy) as gate, redis.Redis.from_url(redis_url) as client:
        answers = [gate.post(request_id=f"r-{number}", work_s=0.8, max_output_tokens=16) for number in range(4)]
        assert [answer.status_code for answer in answers] == [202, 202, 202, 429]
        assert [answer.json().get("degraded") for answer in answers] == [False, False, True, None]
        assert [line["decision"] for line in gate.events("decision")] == ["admit", "admit", "degrade", "shed"]
        jobs = [Job.model_validate_json(fields[b"job"]) for _, fields in client.xrange(names.STREAM)]
    assert [(job.degraded, job.max_output_tokens, job.model) for job in jobs][1:] == [
        (False, 16, None),
        (True, 8, "small"),
    ]
    assert jobs[2].work_s == pytest.approx(0.2)


def test_three_early_returns_bring_the_hard_answer_on_whatever_replica(redis_url: str, tmp_path: Path) -> None:
    policy = json.dumps({"kind": "queue_depth", "max_depth": 0})
    with (
        ready_gate(tmp_path, redis_url, POLICY=policy) as first,
        ready_gate(tmp_path, redis_url, POLICY=policy) as second,
    ):
        assert first.post().status_code == 202
        answers = [gate.post(user="u-1") for gate in (first, second, first)]
        assert [answer.json()["error"]["code"] for answer in answers] == ["queue_depth", "queue_depth", "hard_backoff"]
        assert int(answers[2].headers["retry-after"]) >= 4
        assert second.post(user="u-2").json()["error"]["code"] == "queue_depth"
        assert counted(first, "gate_hard_backoffs_total") == 1


def test_admit_always_admits_and_a_policy_put_later_decides(redis_url: str, tmp_path: Path) -> None:
    policy = {"kind": "queue_depth", "max_depth": 0}
    with ready_gate(tmp_path, redis_url, POLICY=json.dumps(policy), ADMIT_ALWAYS="1") as gate:
        assert [gate.post().status_code for _ in range(3)] == [202] * 3
        assert gate.health()["mode"] == "off"
        assert {line["would"] for line in gate.events("decision")} == {"admit"}
        httpx.put(f"{gate.url}/admin/policy", json=policy)
        assert gate.post().status_code == 429


@pytest.mark.parametrize(
    "policy",
    [
        {"kind": "deadline_slack"},
        {"kind": "slack_v1"},
        {"kind": "age_or_full", "max_age": "25s", "max_in_flight": 1, "depth_factor": 0.5},
    ],
    ids=["E", "F", "G"],
)
def test_the_modes_hold_for_every_policy_switched_live(redis_url: str, tmp_path: Path, policy: dict[str, Any]) -> None:
    with ready_gate(tmp_path, redis_url) as gate, redis.Redis.from_url(redis_url) as client:
        warm(client, "default", 4.0)
        await_that("a warm estimate", lambda: knows(gate, "default", 60))
        for number in range(2):
            gate.post(request_id=f"first-{number}")
        client.xreadgroup(names.GROUP, "w", {names.STREAM: ">"}, count=1)
        seen = {}
        for mode in ("enforce", "log_only", "off"):
            httpx.put(f"{gate.url}/admin/policy", json=policy | {"mode": mode}).raise_for_status()
            status = gate.post(deadline_s=3).status_code
            line = gate.events("decision")[-1]
            seen[mode] = (status, line["decision"], line["would"], line["mode"])
    assert seen == {
        "enforce": (429, "shed", "shed", "enforce"),
        "log_only": (202, "admit", "shed", "log_only"),
        "off": (202, "admit", "admit", "off"),
    }


def test_metrics_agree_with_the_lines_said(redis_url: str, tmp_path: Path) -> None:
    policy = json.dumps({"kind": "queue_depth", "max_depth": 1})
    with ready_gate(tmp_path, redis_url, POLICY=policy, POLICY_LETTER="C") as gate:
        for number in range(5):
            gate.post(request_id=f"r-{number}", job_class="chat")
        httpx.post(f"{gate.url}/v1/jobs", json={})
        lines = [line["decision"] for line in gate.events("decision")]
        for result in ("admit", "shed"):
            assert counted(gate, "agent_admission_decision", result=result) == lines.count(result) > 0
            assert counted(gate, "gate_requests_total", decision=result, policy="C") == lines.count(result)
        assert counted(gate, "gate_requests_total", decision="error", reason="bad_request") == 1
        await_that("the depth", lambda: counted(gate, "gate_queue_depth") == 2)


def test_a_gate_told_to_reject_sheds_while_it_has_no_queue(own_redis: RedisServer, tmp_path: Path) -> None:
    own_redis.kill()
    with gate_running(tmp_path, own_redis.url, ON_QUEUE_FAILURE="reject") as gate:
        answer = gate.post()
        assert (answer.status_code, answer.json()["error"]["code"]) == (429, "queue_unreachable")
        assert int(answer.headers["retry-after"]) >= 1
        (line,) = gate.events("decision")
        assert (line["decision"], line["reason"], gate.events("refusal")) == ("shed", "queue_unreachable", [])


class Elsewhere(BaseHTTPRequestHandler):
    """An enqueue endpoint that accepts what it is told to accept."""

    accepts: bool
    bodies: list[bytes]

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        type(self).bodies.append(body)
        said = b'{"id":"elsewhere-1"}'
        self.send_response(202 if self.accepts else 500)
        self.send_header("Location", "/v1/jobs/elsewhere-1")
        self.send_header("Content-Length", str(len(said)))
        self.end_headers()
        self.wfile.write(said)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the library's name
        """Says nothing."""


@contextmanager
def elsewhere(*, accepts: bool) -> Iterator[tuple[str, list[bytes]]]:
    bodies: list[bytes] = []
    handler = type("Elsewhere", (Elsewhere,), {"accepts": accepts, "bodies": bodies})
    with HTTPServer((LOOPBACK, 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://{LOOPBACK}:{server.server_port}/v1/jobs", bodies
        finally:
            server.shutdown()
            thread.join()


def test_a_gate_told_to_bypass_forwards_what_is_not_in_the_queue_and_serves_again_with_it(
    own_redis: RedisServer, tmp_path: Path
) -> None:
    own_redis.kill()
    with (
        elsewhere(accepts=True) as (url, bodies),
        gate_running(tmp_path, own_redis.url, ON_QUEUE_FAILURE="bypass", BYPASS_URL=url) as gate,
    ):
        answer = gate.post(request_id="past")
        assert (answer.status_code, answer.json()) == (202, {"id": "elsewhere-1"})
        assert answer.headers["location"] == "/v1/jobs/elsewhere-1"
        assert [json.loads(body)["request_id"] for body in bodies] == ["past"]
        (line,) = gate.events("bypass")
        assert (line["request_id"], line["status"]) == ("past", 202)
        assert gate.events("decision", "refusal") == []
        own_redis.start()
        gate.await_redis()
        assert gate.post(request_id="again").status_code == 202
        assert len(bodies) == 1


def test_what_the_bypass_does_not_accept_is_shed(own_redis: RedisServer, tmp_path: Path) -> None:
    own_redis.kill()
    with (
        elsewhere(accepts=False) as (url, _),
        gate_running(tmp_path, own_redis.url, ON_QUEUE_FAILURE="bypass", BYPASS_URL=url) as gate,
    ):
        assert gate.post().status_code == 429
        assert (gate.events("bypass"), len(gate.events("decision"))) == ([], 1)
    with gate_running(tmp_path, own_redis.url, ON_QUEUE_FAILURE="bypass", BYPASS_URL=url) as gate:
        assert gate.post().status_code == 429
