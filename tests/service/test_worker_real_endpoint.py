"""A real endpoint behind the proxy: names stay right, wrong ones are refused, and the key is seen by nobody else.

The endpoint is a second mock that speaks TLS under a name which resolves to nothing.
"""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lab.contract.names import ANSWER_KEY_PREFIX, EXIT_OK, JOB_KEY_PREFIX
from tests.service.model_thread import running_model
from tests.service.raw_server import CONTENT, DONE, FINISH, STREAM_HEAD, raw_server
from tests.service.redis_servers import LOOPBACK
from tests.service.tls import Authority
from tests.service.toxiproxy_servers import EMBEDDED, ToxiproxyServer, toxiproxy_running
from tests.service.worker_bench import Queue, burst
from worker.settings import read_settings

PROJECT_ROOT = Path(__file__).parents[2]
NAME = "model.test"
KEY = "sk-planted/very+secret=="


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="module")
def upstream(authority: Authority) -> Iterator[str]:
    """Host and port of the TLS endpoint."""
    cert_file, key_file = authority.certificate(NAME)
    with running_model(TLS_CERT_FILE=cert_file, TLS_KEY_FILE=key_file) as url:
        yield url.removeprefix("https://")


@pytest.fixture(scope="module")
def toxiproxy() -> Iterator[ToxiproxyServer]:
    with toxiproxy_running(EMBEDDED) as server:
        yield server


@pytest.fixture
def link(toxiproxy: ToxiproxyServer, upstream: str) -> Iterator[str]:
    """Host and port of a proxy in front of the endpoint."""
    made = toxiproxy.api.post("/proxies", json={"name": "model", "listen": f"{LOOPBACK}:0", "upstream": upstream})
    yield str(made.raise_for_status().json()["listen"])
    toxiproxy.clear()


@pytest.fixture
def settings(authority: Authority, link: str) -> dict[str, str]:
    return {"MODEL_URL": f"https://{NAME}/v1", "MODEL_CONNECT": link, "MODEL_CA_FILE": str(authority.file)}


def outcomes(redis_url: str, settings: dict[str, str]) -> list[dict[str, Any]]:
    return burst(redis_url, "", **settings).of("outcome")


def test_a_tls_endpoint_is_reached_through_the_proxy_under_its_own_name(
    redis_url: str, queue: Queue, settings: dict[str, str], toxiproxy: ToxiproxyServer
) -> None:
    queue.put(work_s=None)
    (through,) = outcomes(redis_url, settings)
    assert (through["outcome"], through["detail"]) == ("ok", "")
    # With the link cut nothing gets past it.
    toxiproxy.api.post("/proxies/model", json={"enabled": False}).raise_for_status()
    queue.put(work_s=None)
    (cut,) = outcomes(redis_url, settings)
    assert cut["outcome"] == "error"
    assert cut["detail"].startswith("ConnectError")


def test_an_endpoint_with_another_name_on_its_certificate_is_refused(
    redis_url: str, queue: Queue, settings: dict[str, str]
) -> None:
    queue.put(work_s=None)
    (refused,) = outcomes(redis_url, settings | {"MODEL_URL": "https://other.test/v1"})
    assert refused["outcome"] == "error"
    assert "certificate is not valid for 'other.test'" in refused["detail"]


def test_an_endpoint_of_an_authority_that_nobody_named_is_refused(
    redis_url: str, queue: Queue, settings: dict[str, str]
) -> None:
    queue.put(work_s=None)
    without = {name: value for name, value in settings.items() if name != "MODEL_CA_FILE"}
    (refused,) = outcomes(redis_url, without)
    assert refused["outcome"] == "error"
    assert "certificate verify failed" in refused["detail"]


def heads_of_one_call(redis_url: str, **environ: str) -> str:
    """The head of the request that one job makes at a plain server behind MODEL_CONNECT, in lower case."""
    heads: list[bytes] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append(await reader.readuntil(b"\r\n\r\n"))
        await reader.readuntil(b"}}")
        writer.write((STREAM_HEAD + CONTENT + FINISH + DONE).encode())

    async def play() -> None:
        async with raw_server(answer) as url:
            connect = url.removeprefix("http://")
            await asyncio.to_thread(burst, redis_url, "", **{"MODEL_CONNECT": connect, **environ})

    asyncio.run(play())
    return heads[0].decode().lower()


def test_the_host_name_is_the_endpoints_and_the_labs_headers_stay_at_home(redis_url: str, queue: Queue) -> None:
    job = queue.put()
    head = heads_of_one_call(redis_url, MODEL_URL=f"http://{NAME}:8000/v1", MODEL_API_KEY=KEY)
    assert head.startswith("post /v1/chat/completions http/1.1\r\n")
    assert f"\r\nhost: {NAME}:8000\r\n" in head
    assert head.count("\r\nhost:") == 1
    assert f"\r\nauthorization: bearer {KEY}\r\n" in head
    assert f"\r\nx-request-id: {job.request_id}\r\n" in head
    assert "x-lab-" not in head
    assert "x-job-" not in head


def echoes(key: str) -> list[str]:
    """Ways in which an endpoint says a key back."""
    head = "HTTP/1.1 401 Unauthorized\r\nconnection: close\r\n\r\n"
    said = json.dumps({"error": {"message": f"bad key {key}"}})
    return [
        head + said,
        head + said.replace("/", "\\/")[:-1],
        # The cut at 200 characters falls into the key.
        head + json.dumps({"error": {"message": "x" * 190 + key}}),
        head + "y" * 190 + key,
        STREAM_HEAD + f"data: {said}\n\n",
        STREAM_HEAD + f"data: {json.dumps({'error': 'z' * 195 + key})}\n\n",
    ]


def test_a_planted_key_is_seen_by_nobody_but_the_endpoint(
    redis_url: str, queue: Queue, capfd: pytest.CaptureFixture[str]
) -> None:
    said = echoes(KEY)
    for _ in said:
        queue.put()
    details: list[str] = []

    async def play() -> None:
        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            assert KEY.encode() in await reader.readuntil(b"\r\n\r\n")
            await reader.readuntil(b"}}")
            writer.write(said.pop(0).encode())

        async with raw_server(answer) as url:
            environ = {"MODEL_URL": f"{url}/v1", "MODEL_API_KEY": KEY, "WORKER_SLOTS": "1"}
            worked = await asyncio.to_thread(burst, redis_url, "", **environ)
            details.extend(map(str, worked.events))
            details.append(repr(worked.model.__dict__))

    asyncio.run(play())
    kept = [str(queue.redis.hgetall(name)) for name in queue.redis.scan_iter(f"{JOB_KEY_PREFIX}*")]
    kept += [str(queue.redis.lrange(name, 0, -1)) for name in queue.redis.scan_iter(f"{ANSWER_KEY_PREFIX}*")]
    everything = "\n".join([*details, *kept, *capfd.readouterr(), repr(read_settings({"MODEL_API_KEY": KEY}))])
    assert said == []
    assert len(kept) == 12
    assert everything.count("[key]") >= 6
    assert KEY[:10] not in everything


def test_a_whole_worker_process_keeps_the_key_to_itself(redis_url: str, queue: Queue, settings: dict[str, str]) -> None:
    ok, unanswered = queue.put(work_s=None), queue.put(work_s=None, model="nobody-has-it")
    worker = subprocess.Popen(
        [sys.executable, "-m", "worker"],
        cwd=PROJECT_ROOT,
        env={"PATH": os.environ["PATH"], "REDIS_URL": redis_url, "MODEL_API_KEY": KEY, **settings},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        limit_at = time.monotonic() + 20
        while queue.length() and time.monotonic() < limit_at:
            time.sleep(0.02)
        worker.send_signal(signal.SIGTERM)
        output, errors = worker.communicate(timeout=20)
    finally:
        worker.kill()
    events = [json.loads(line) for line in output.splitlines()]
    ended = {event["job_id"]: event["outcome"] for event in events if event["event"] == "outcome"}
    assert ended == {ok.job_id: "ok", unanswered.job_id: "error"}
    assert worker.returncode == EXIT_OK
    assert KEY[:10] not in output + errors
