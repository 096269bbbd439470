"""The mock model over real HTTP: shapes, slots, failures, live control, clients that leave, and the process itself."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from lab.contract.names import EXIT_COULD_NOT_RUN, EXIT_OK, EXIT_USAGE
from mock_model.__main__ import bound_socket
from tests.service.model_thread import disturb, running_model, state, wait_for
from tests.service.redis_servers import LOOPBACK, free_port

PROJECT_ROOT = Path(__file__).parents[2]
BODY = {"model": "lab-model", "messages": [{"role": "user", "content": "how are you"}], "max_tokens": 20}
QUICK = {"x-lab-work-us": "20000", "x-lab-first-token-us": "5000"}
CHAT = "/v1/chat/completions"


@pytest.fixture(scope="module")
def shared() -> Iterator[httpx.Client]:
    with running_model() as url, httpx.Client(base_url=url, trust_env=False, timeout=20) as client:
        yield client


@pytest.fixture
def model(shared: httpx.Client) -> httpx.Client:
    shared.post("/admin/reset").raise_for_status()
    return shared


def ask(client: httpx.Client, headers: dict[str, str] | None = None, **body: object) -> httpx.Response:
    return client.post(CHAT, json={**BODY, **body}, headers={**QUICK, **(headers or {})})


def events(answer: httpx.Response) -> list[Any]:
    """Every chunk of a stream; its last event must be [DONE]."""
    assert answer.headers["content-type"] == "text/event-stream"
    *said, done, rest = answer.text.split("\n\n")
    assert (done, rest) == ("data: [DONE]", "")
    return [json.loads(event.removeprefix("data: ")) for event in said]


def test_a_stream_has_openais_chunks_in_order(model: httpx.Client) -> None:
    chunks = events(ask(model, stream=True, headers={"x-request-id": "request-1"}))
    assert {chunk["object"] for chunk in chunks} == {"chat.completion.chunk"}
    assert {(chunk["id"], chunk["model"]) for chunk in chunks} == {("chatcmpl-request-1", "lab-model")}
    assert len({chunk["created"] for chunk in chunks}) == 1
    choices = [chunk["choices"][0] for chunk in chunks]
    assert choices[0]["delta"] == {"role": "assistant", "content": "", "refusal": None}
    assert all(set(choice["delta"]) == {"content"} for choice in choices[1:-1])
    assert "".join(choice["delta"]["content"] for choice in choices[1:-1]) == "lab " * 20
    assert choices[-1]["delta"] == {}
    assert [choice["finish_reason"] for choice in choices] == [None] * 7 + ["stop"]
    assert all("usage" not in chunk for chunk in chunks)


def test_usage_comes_in_a_last_chunk_of_its_own_when_asked_for(model: httpx.Client) -> None:
    *chunks, last = events(ask(model, stream=True, stream_options={"include_usage": True}, max_tokens=1_000_000))
    assert last["choices"] == []
    assert last["usage"] == {"prompt_tokens": 3, "completion_tokens": 1_000_000, "total_tokens": 1_000_003}
    assert all(chunk["usage"] is None for chunk in chunks)
    assert len(chunks) == 8


def test_an_answer_that_is_not_streamed_comes_whole(model: httpx.Client) -> None:
    answer = ask(model, max_tokens=None, max_completion_tokens=2, headers={"x-request-id": "request-1"}).json()
    assert answer.pop("created") > 0
    assert answer == {
        "id": "chatcmpl-request-1",
        "object": "chat.completion",
        "model": "lab-model",
        "system_fingerprint": None,
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": "lab lab ", "refusal": None},
                "logprobs": None,
                "finish_reason": "stop",
            }
        ],
        "usage": {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5},
    }


def test_a_fallback_model_answers_under_its_own_name() -> None:
    with running_model(FALLBACK_MODELS="small,tiny") as url, httpx.Client(base_url=url, trust_env=False) as client:
        assert [one["id"] for one in client.get("/v1/models").json()["data"]] == ["lab-model", "small", "tiny"]
        assert ask(client, model="tiny").json()["model"] == "tiny"
        refused = ask(client, model="other")
        assert refused.status_code == 404
        assert "this server has 'lab-model', 'small', 'tiny'" in refused.json()["error"]["message"]


def test_models_and_health_are_answered(model: httpx.Client) -> None:
    assert [one["id"] for one in model.get("/v1/models").json()["data"]] == ["lab-model"]
    assert model.get("/health").json() == {"status": "ok"}


REFUSED: dict[str, tuple[dict[str, Any], int, str | None]] = {
    "another_model": ({"model": "gpt-9"}, 404, "model_not_found"),
    "no_messages": ({"messages": []}, 400, "invalid_value"),
    "no_tokens": ({"max_tokens": 0}, 400, "invalid_value"),
    "two_choices": ({"n": 2}, 400, "invalid_value"),
    "a_work_that_is_no_number": ({"headers": {"x-lab-work-us": "1.5"}}, 400, "invalid_value"),
    "a_first_token_after_the_end": ({"headers": {"x-lab-first-token-us": "30000"}}, 400, "invalid_value"),
    "a_request_id_with_spaces": ({"headers": {"x-request-id": "a b"}}, 400, "invalid_value"),
    "an_attempt_that_is_none": ({"headers": {"x-job-attempt": "first"}}, 400, "invalid_value"),
}


@pytest.mark.parametrize(("body", "status", "code"), REFUSED.values(), ids=REFUSED)
def test_a_request_that_cannot_be_served_gets_an_error_object(
    model: httpx.Client, body: dict[str, Any], status: int, code: str
) -> None:
    answer = ask(model, **body)
    assert answer.status_code == status
    error = answer.json()["error"]
    assert set(error) == {"message", "type", "param", "code"}
    assert (error["type"], error["code"]) == ("invalid_request_error", code)


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b"\xff", b"[" * 100_000], ids=["none", "cut", "list", "raw", "deep"]
)
def test_a_body_that_is_no_request_gets_an_error_object(model: httpx.Client, content: bytes) -> None:
    answer = model.post(CHAT, content=content)
    assert (answer.status_code, answer.json()["error"]["type"]) == (400, "invalid_request_error")


def test_a_body_without_bound_is_refused(model: httpx.Client) -> None:
    answer = model.post(CHAT, content=b" " * 4_200_000)
    assert (answer.status_code, answer.json()["error"]["code"]) == (413, "too_large")


def test_an_unknown_route_and_method_get_an_error_object(model: httpx.Client) -> None:
    assert model.get("/v1/nothing").json()["error"]["message"] == "GET /v1/nothing: Not Found"
    assert model.delete("/health").json()["error"]["message"] == "DELETE /health: Method Not Allowed"


def test_the_same_requests_fail_in_every_instance(model: httpx.Client) -> None:
    def statuses(client: httpx.Client) -> list[int]:
        disturb(str(client.base_url), failure_ratio=0.5, status=429)
        return [ask(client, headers={"x-request-id": f"request-{number}"}).status_code for number in range(20)]

    first = statuses(model)
    with running_model() as url, httpx.Client(base_url=url, trust_env=False) as other:
        # Asked for other things before, and in another order of arrival.
        ask(other)
        assert statuses(other) == first
    assert set(first) == {200, 429}


def test_a_failure_of_one_class_leaves_the_others_alone(model: httpx.Client) -> None:
    disturb(str(model.base_url), failure_ratio=1, status=503, classes=["batch"])
    assert ask(model, headers={"x-job-class": "chat"}).status_code == 200
    failed = ask(model, headers={"x-job-class": "batch"})
    assert failed.status_code == 503
    assert failed.json()["error"]["code"] == "server_is_overloaded"


def test_control_is_validated_atomic_and_reset_to_rest(model: httpx.Client) -> None:
    url = str(model.base_url)
    assert state(url)["at_rest"] is True
    disturb(url, slow_factor=2, stall_ratio=0.25)
    refused = model.post("/admin/config", json={"slow_factor": 3, "failure_ratio": 2})
    assert refused.status_code == 400
    assert refused.json()["error"]["param"] == "failure_ratio"
    now = state(url)
    assert (now["slow_factor"], now["stall_ratio"], now["at_rest"]) == (2, 0.25, False)
    disturb(url, failure_ratio=0.5)
    assert (state(url)["slow_factor"], state(url)["failure_ratio"]) == (1, 0.5)
    assert model.post("/admin/reset").json()["at_rest"] is True


def test_the_declared_time_passes_and_a_slow_factor_stretches_it(model: httpx.Client) -> None:
    disturb(str(model.base_url), slow_factor=10)
    began_at = time.monotonic()
    ask(model, stream=True)
    assert time.monotonic() - began_at >= 10 * 0.02


def test_slots_bound_the_work_and_are_taken_first_come_first_served() -> None:
    with running_model(slots=1) as url, httpx.Client(base_url=url, trust_env=False, timeout=20) as client:
        ended: list[int] = []

        def one(number: int, work_us: str) -> None:
            ask(client, headers={"x-lab-work-us": work_us})
            ended.append(number)

        with ThreadPoolExecutor(5) as pool:
            # The first is long enough for the others to line up behind it, one by one.
            asked = [pool.submit(one, 0, "1500000")]
            wait_for(url, in_flight=1)
            for number in range(1, 5):
                asked.append(pool.submit(one, number, "20000"))
                wait_for(url, in_flight=1, waiting=number)
            for future in asked:
                future.result()
        assert ended == [0, 1, 2, 3, 4]
        assert (state(url)["served"], state(url)["in_flight"]) == (5, 0)


@pytest.mark.parametrize("stream", [True, False])
def test_work_stops_when_the_client_leaves_also_in_line(stream: bool) -> None:
    with running_model(slots=1) as url:
        leaving = threading.Event()

        def one() -> None:
            with httpx.Client(base_url=url, trust_env=False) as client, pytest.raises(httpx.ReadTimeout):
                client.post(CHAT, json={**BODY, "stream": stream}, headers={"x-lab-work-us": "60000000"}, timeout=1.0)
            leaving.set()

        threads = [threading.Thread(target=one) for _ in range(2)]
        for thread in threads:
            thread.start()
        wait_for(url, in_flight=1, waiting=1)
        for thread in threads:
            thread.join()
        wait_for(url, in_flight=0, waiting=0, cancelled=2, served=0)
        with httpx.Client(base_url=url, trust_env=False) as client:
            assert ask(client).status_code == 200


def test_a_stalled_answer_sends_its_head_and_then_nothing(model: httpx.Client) -> None:
    url = str(model.base_url)
    disturb(url, stall_ratio=1)
    before = int(str(state(url)["cancelled"]))
    with model.stream("POST", CHAT, json={**BODY, "stream": True}, timeout=0.3) as answer:
        assert answer.status_code == 200
        with pytest.raises(httpx.ReadTimeout):
            answer.read()
    wait_for(url, cancelled=before + 1, in_flight=0)


def test_small_answers_are_not_held_back() -> None:
    with bound_socket(LOOPBACK, 0) as held:
        assert held.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) == 1


def start(**environ: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-m", "mock_model"],
        cwd=PROJECT_ROOT,
        env={"PATH": os.environ["PATH"], **environ},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_quickly_and_cleanly_with_streams_open(number: signal.Signals) -> None:
    port = free_port()
    process = start(PORT=str(port))
    try:
        with httpx.Client(
            base_url=f"http://{LOOPBACK}:{port}", trust_env=False, transport=httpx.HTTPTransport(retries=6)
        ) as client:
            slow = {"x-lab-work-us": "300000000", "x-lab-first-token-us": "1000"}
            with client.stream("POST", CHAT, json={**BODY, "stream": True}, headers=slow, timeout=30) as answer:
                said = answer.iter_lines()
                assert next(said).startswith("data: ")
                process.send_signal(number)
                assert "the model is shutting down" in "".join(said)
        output, errors = process.communicate(timeout=20)
    finally:
        process.kill()
        process.communicate()
    assert (process.returncode, output, errors) == (EXIT_OK, "", "")


def test_a_busy_port_is_one_sentence_and_exit_3() -> None:
    with socket.create_server((LOOPBACK, 0)) as held:
        port = held.getsockname()[1]
        process = start(PORT=str(port))
        _, errors = process.communicate(timeout=20)
    assert process.returncode == EXIT_COULD_NOT_RUN
    assert errors.startswith(f"mock_model: cannot listen on {LOOPBACK}:{port}: Address already in use")
    assert errors.count("\n") == 1


def test_settings_that_cannot_be_used_are_one_sentence_and_exit_2() -> None:
    process = start(MODEL_SLOTS="many")
    _, errors = process.communicate(timeout=20)
    assert process.returncode == EXIT_USAGE
    assert errors == "mock_model: MODEL_SLOTS is 'many'; it must be a whole number from 1 to 4096\n"
