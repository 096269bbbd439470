"""One attempt against servers that answer in every wrong way, byte by byte."""

import asyncio

import pytest

from lab.contract import environment as env
from lab.contract.messages import Job
from tests.service.model_thread import disturb, running_model, wait_for
from tests.service.raw_server import CONTENT, DONE, FINISH, ROLE, STREAM_HEAD, USAGE, raw_server
from worker.model_client import Attempt, ModelClient
from worker.settings import read_settings

KEY = "sk-very-secret"
SHORT_PATIENCE = {env.FIRST_TOKEN_TIMEOUT_S: "0.2"}
JOB = Job(
    job_id="job-1",
    request_id="request-1",
    job_class="chat",
    tenant="acme",
    created_at=0,
    deadline_at=100,
    input_tokens=3,
    max_output_tokens=5,
    work_s=0.02,
    first_token_s=0.01,
)


def client(url: str, **environ: str) -> ModelClient:
    return ModelClient(
        read_settings({"MODEL_URL": f"{url}/v1", "MODEL_API_KEY": KEY, "MODEL_LAB_HEADERS": "1", **environ})
    )


def call_scripted(script: str, *, stays_open: bool = False, **environ: str) -> tuple[Attempt, str]:
    """The attempt at a server that says exactly `script`, and the request's head as that server read it."""

    async def play() -> tuple[Attempt, str]:
        heads: list[bytes] = []
        left = asyncio.Event()

        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            heads.append(await reader.readuntil(b"\r\n\r\n"))
            await reader.readuntil(b"}}")
            writer.write(script.encode())
            if stays_open:
                await left.wait()

        async with raw_server(answer) as url:
            one = client(url, **environ)
            attempt = await one.call(JOB, 2)
            await one.aclose()
            left.set()
        return attempt, heads[0].decode().lower()

    return asyncio.run(play())


def test_a_whole_stream_is_ok_with_the_tokens_of_its_usage() -> None:
    attempt, head = call_scripted(STREAM_HEAD + ROLE + CONTENT + CONTENT + FINISH + USAGE + DONE)
    assert (attempt.result, attempt.tokens_out, attempt.status, attempt.detail) == ("ok", 5, 200, "")
    assert attempt.first_token_at is not None
    assert attempt.started_at <= attempt.first_token_at <= attempt.ended_at
    for line in (
        "x-request-id: request-1",
        "x-job-id: job-1",
        "x-job-attempt: 2",
        "x-job-class: chat",
        "x-lab-work-us: 20000",
        "x-lab-first-token-us: 10000",
        f"authorization: bearer {KEY}",
    ):
        assert f"\r\n{line}\r\n" in head


def test_an_answer_that_is_done_is_ok_though_its_connection_stays_open() -> None:
    attempt, _ = call_scripted(STREAM_HEAD + CONTENT + FINISH + DONE, stays_open=True)
    assert (attempt.result, attempt.tokens_out) == ("ok", 1)


BROKEN = {
    "no_done": (STREAM_HEAD + CONTENT + FINISH, "the model's answer ended before [DONE]"),
    "cut_in_mid_chunk": (STREAM_HEAD + CONTENT + FINISH[:40], "the model's answer ended before [DONE]"),
    "nothing_at_all": ("", "RemoteProtocolError"),
    "no_http": ("SSH-2.0-OpenSSH\r\n\r\n", "RemoteProtocolError"),
    "less_than_announced": ("HTTP/1.1 200 OK\r\ncontent-length: 999\r\n\r\n" + CONTENT, "RemoteProtocolError"),
    "no_finish_reason": (STREAM_HEAD + CONTENT + DONE, "the model ended its answer without a finish_reason"),
    "bad_json": (STREAM_HEAD + 'data: {"choices":[\n\n' + DONE, "the model sent a chunk that is no JSON"),
    "a_page": (STREAM_HEAD + "<html>welcome</html>", "the model's answer ended before [DONE]"),
    "an_error_in_the_stream": (
        STREAM_HEAD + CONTENT + 'data: {"error":{"message":"out of memory"}}\n\n',
        "the model sent an error in its stream: out of memory",
    ),
    "a_key_repeated": (
        "HTTP/1.1 401 Unauthorized\r\nconnection: close\r\n\r\n" + f'{{"error":{{"message":"bad key {KEY}"}}}}',
        "the model answered 401: bad key [key]",
    ),
    "an_error_page": (
        "HTTP/1.1 502 Bad Gateway\r\nconnection: close\r\n\r\n<html>bad gateway</html>",
        "the model answered 502: <html>bad gateway</html>",
    ),
}


@pytest.mark.parametrize(("script", "detail"), BROKEN.values(), ids=BROKEN)
def test_a_broken_answer_is_an_error_that_says_why(script: str, detail: str) -> None:
    attempt, _ = call_scripted(script)
    assert attempt.result == "error"
    assert attempt.detail.startswith(detail)


def test_silence_is_a_timeout_with_what_came_before() -> None:
    attempt, _ = call_scripted(STREAM_HEAD + ROLE, stays_open=True, **SHORT_PATIENCE)
    assert (attempt.result, attempt.ttft_s, attempt.status) == ("timeout", None, 200)
    assert attempt.detail == "no first token within 0.2 s"


def test_an_answer_without_end_is_a_timeout_with_the_tokens_so_far() -> None:
    attempt, _ = call_scripted(STREAM_HEAD + CONTENT + CONTENT, stays_open=True, TOTAL_TIMEOUT_S="0.3")
    assert (attempt.result, attempt.tokens_out, attempt.detail) == ("timeout", 2, "not done within 0.3 s")
    assert attempt.ttft_s is not None


def test_a_call_that_timed_out_stops_the_models_work() -> None:
    with running_model() as url:
        disturb(url, stall_ratio=1)

        async def call() -> Attempt:
            one = client(url, **SHORT_PATIENCE)
            attempt = await one.call(JOB, 1)
            await one.aclose()
            return attempt

        assert asyncio.run(call()).result == "timeout"
        wait_for(url, in_flight=0, cancelled=1)


def test_one_connection_serves_one_slot_call_after_call() -> None:
    connections = 0

    async def play() -> list[Attempt]:
        body = (CONTENT + FINISH + DONE).encode()
        head = f"HTTP/1.1 200 OK\r\ncontent-length: {len(body)}\r\n\r\n".encode()

        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            nonlocal connections
            connections += 1
            while request := await reader.read(65_536):
                if request.endswith(b"}"):
                    writer.write(head + body)

        async with raw_server(answer) as url:
            one = client(url)
            attempts = [await one.call(JOB, 1) for _ in range(3)]
            await one.aclose()
            return attempts

    assert [attempt.result for attempt in asyncio.run(play())] == ["ok"] * 3
    assert connections == 1
