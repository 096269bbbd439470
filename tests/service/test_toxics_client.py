"""The wrapper around toxiproxy-python: what the library swallows is raised, and what was done is read back."""

import json
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from lab.drill.toxics_client import (
    ToxiproxyClient,
    ToxiproxyError,
    ToxiproxyRefusedError,
    ToxiproxyUnreachableError,
    ToxiproxyUnverifiedError,
)
from tests.service.redis_servers import free_port

ROOT = Path(__file__).parents[2]
TIMEOUT_S = 5.0
LATENCY = {"latency": 100, "jitter": 0}


@contextmanager
def running(argv: list[str]) -> Iterator[ToxiproxyClient]:
    port = free_port()
    process = subprocess.Popen(
        [*argv, "--host", "127.0.0.1", "--port", str(port)],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    client = ToxiproxyClient("127.0.0.1", port, TIMEOUT_S)
    try:
        deadline = time.monotonic() + 20
        while True:
            try:
                client.version()
                break
            except ToxiproxyUnreachableError:
                assert time.monotonic() < deadline, "the proxy's API never answered"
                time.sleep(0.05)
        yield client
    finally:
        process.terminate()
        process.wait(timeout=10)


@pytest.fixture(params=["embedded", "toxiproxy-server"])
def client(request: pytest.FixtureRequest) -> Iterator[ToxiproxyClient]:
    if request.param == "embedded":
        argv = [sys.executable, "-m", "lab.toxiproxy"]
    elif found := shutil.which("toxiproxy-server"):
        argv = [found]
    else:
        assert not os.environ.get("LAB_REQUIRE_TOXIPROXY"), "CI promises toxiproxy-server and it is not on PATH"
        pytest.skip("no toxiproxy-server on PATH")
    with running(argv) as connected:
        yield connected


def test_a_toxic_is_added_read_back_and_removed(client: ToxiproxyClient) -> None:
    client.create_proxy("model", f"127.0.0.1:{free_port()}", "127.0.0.1:9")
    client.add_toxic("model", "slow", "latency", stream="downstream", toxicity=1.0, attributes=LATENCY)
    assert client.leftovers() == ["proxy model still has toxic slow"]
    client.remove_toxic("model", "slow")
    client.remove_toxic("model", "slow")
    assert client.leftovers() == []


def test_a_disabled_proxy_is_a_leftover_until_a_reset(client: ToxiproxyClient) -> None:
    client.create_proxy("model", f"127.0.0.1:{free_port()}", "127.0.0.1:9")
    client.set_enabled("model", enabled=False)
    assert client.leftovers() == ["proxy model is still disabled"]
    client.reset()
    assert client.leftovers() == []


def test_a_proxy_made_twice_keeps_its_toxics_and_another_of_its_name_is_refused(client: ToxiproxyClient) -> None:
    listen = f"127.0.0.1:{free_port()}"
    client.create_proxy("model", listen, "127.0.0.1:9")
    client.add_toxic("model", "slow", "latency", stream="upstream", toxicity=0.5, attributes=LATENCY)
    client.create_proxy("model", listen, "127.0.0.1:9")
    assert [toxic.name for toxic in client.proxies()["model"].toxics] == ["slow"]
    with pytest.raises(ToxiproxyRefusedError):
        client.create_proxy("model", listen, "127.0.0.1:10")


def test_a_proxy_is_pointed_elsewhere_under_the_same_name(client: ToxiproxyClient) -> None:
    listen = f"127.0.0.1:{free_port()}"
    client.point_proxy("model", listen, "127.0.0.1:9")
    client.add_toxic("model", "slow", "latency", stream="upstream", toxicity=0.5, attributes=LATENCY)
    client.point_proxy("model", listen, "127.0.0.1:9")
    assert [toxic.name for toxic in client.proxies()["model"].toxics] == ["slow"]
    client.point_proxy("model", listen, "127.0.0.1:10")
    assert (client.proxies()["model"].upstream, client.proxies()["model"].toxics) == ("127.0.0.1:10", ())


def test_a_busy_port_is_raised_and_not_swallowed(client: ToxiproxyClient) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(ToxiproxyRefusedError, match="500"):
            client.create_proxy("model", f"127.0.0.1:{taken.getsockname()[1]}", "127.0.0.1:9")


@pytest.mark.parametrize(
    ("kind", "attributes"), [("earthquake", {}), ("latency", {"latency": 1.5})], ids=["unknown type", "fraction"]
)
def test_a_toxic_the_server_refuses_is_raised(client: ToxiproxyClient, kind: str, attributes: dict[str, int]) -> None:
    client.create_proxy("model", f"127.0.0.1:{free_port()}", "127.0.0.1:9")
    with pytest.raises(ToxiproxyRefusedError):
        client.add_toxic("model", "odd", kind, stream="downstream", toxicity=1.0, attributes=attributes)


def test_two_servers_are_driven_side_by_side_from_several_threads(client: ToxiproxyClient) -> None:
    with running([sys.executable, "-m", "lab.toxiproxy"]) as other:

        def make(target: ToxiproxyClient, name: str) -> None:
            target.create_proxy(name, f"127.0.0.1:{free_port()}", "127.0.0.1:9")

        threads = [
            threading.Thread(target=make, args=(target, f"{side}{n}"))
            for n in range(5)
            for side, target in (("a", client), ("b", other))
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(client.proxies()) == [f"a{n}" for n in range(5)]
        assert sorted(other.proxies()) == [f"b{n}" for n in range(5)]


def test_a_name_that_would_need_escaping_is_refused_before_it_is_sent() -> None:
    client = ToxiproxyClient("127.0.0.1", free_port(), TIMEOUT_S)
    with pytest.raises(ToxiproxyRefusedError, match="cannot name a proxy"):
        client.create_proxy("a/b", "127.0.0.1:1", "127.0.0.1:9")


def test_nobody_there_is_a_sentence() -> None:
    with pytest.raises(ToxiproxyUnreachableError, match="does not answer"):
        ToxiproxyClient("127.0.0.1", free_port(), TIMEOUT_S).proxies()


class LyingHandler(BaseHTTPRequestHandler):
    """Says yes to everything and does nothing; `status` of the class decides what POST says."""

    status = 200

    def do_GET(self) -> None:
        self._answer(200, {"model": {"name": "model", "listen": "l", "upstream": "u", "enabled": True, "toxics": []}})

    def do_POST(self) -> None:
        self._answer(self.status, {"name": "slow"})

    def log_message(self, *_arguments: object) -> None:
        """Quiet."""

    def _answer(self, status: int, body: object) -> None:
        text = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (200, ToxiproxyUnverifiedError),
        (500, ToxiproxyRefusedError),
        (503, ToxiproxyRefusedError),
        (403, ToxiproxyRefusedError),
    ],
)
def test_a_server_that_says_yes_and_does_nothing_or_fails_is_found_out(
    monkeypatch: pytest.MonkeyPatch, status: int, error: type[ToxiproxyError]
) -> None:
    monkeypatch.setattr(LyingHandler, "status", status)
    server = ThreadingHTTPServer(("127.0.0.1", 0), LyingHandler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        client = ToxiproxyClient("127.0.0.1", server.server_address[1], TIMEOUT_S)
        with pytest.raises(error):
            client.add_toxic("model", "slow", "latency", stream="downstream", toxicity=1.0, attributes=LATENCY)
        with pytest.raises(error):
            client.set_enabled("model", enabled=False)
    finally:
        server.shutdown()
        server.server_close()
