"""Toxiproxy servers for service tests, the lab's own and the original, and sockets led through them."""

import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.service.gate_process import await_that
from tests.service.redis_servers import LOOPBACK, free_port

EMBEDDED = "embedded"
ORIGINAL = "toxiproxy-server"
CONTAINER = "toxiproxy-container"
IMAGE = "ghcr.io/shopify/toxiproxy:2.12.0"
# The lab's own, and the original as a program and as the image that compose.yaml names.
PROGRAMS = (EMBEDDED, ORIGINAL)
FLAVOURS = (*PROGRAMS, CONTAINER)
REQUIRE = "LAB_REQUIRE_TOXIPROXY"
REQUIRE_ENGINE = "LAB_REQUIRE_ENGINE"
PROJECT_ROOT = Path(__file__).parents[2]
SOCKET_TIMEOUT_S = 10


def program_on_path(name: str) -> str:
    """The program; skips the test where there is none, and fails it where the environment promises one."""
    found = shutil.which(name)
    if found is None and os.environ.get(REQUIRE):
        pytest.fail(f"there is no {name} on PATH, and {REQUIRE} is set")
    if found is None:
        pytest.skip(f"there is no {name} on PATH")
    return found


def require_container() -> None:
    """Skips where no engine has the image, and fails where the environment promises an engine."""
    asked = ["docker", "image", "inspect", IMAGE]
    if shutil.which("docker") and subprocess.run(asked, capture_output=True, check=False).returncode == 0:
        return
    if os.environ.get(REQUIRE_ENGINE):
        pytest.fail(f"no engine has {IMAGE}, and {REQUIRE_ENGINE} is set")
    pytest.skip(f"no engine has {IMAGE}")


def command_of(program: str) -> list[str]:
    """How a program is started."""
    return [sys.executable, "-m", "lab.toxiproxy"] if program == EMBEDDED else [program_on_path(ORIGINAL)]


def container_of(name: str, flags: tuple[str, ...]) -> list[str]:
    """How a container of this name is started; a file that a flag names is there inside as well."""
    require_container()
    files = [option for flag in flags if Path(flag).is_file() for option in ("-v", f"{flag}:{flag}:ro")]
    # On the host's network, so that it reaches the upstreams of the tests on loopback.
    return [
        "docker",
        "run",
        "--rm",
        "--name",
        name,
        "--label",
        "shedlab.owner=bench",
        "--network",
        "host",
        *files,
        IMAGE,
    ]


class ToxiproxyServer:
    """A running server and its API."""

    def __init__(self, flavour: str, *flags: str) -> None:
        self.flavour = flavour
        self.port = free_port()
        self._name = f"shedlab-test-toxiproxy-{self.port}"
        command = container_of(self._name, flags) if flavour == CONTAINER else command_of(flavour)
        argv = [*command, "--host", LOOPBACK, "--port", str(self.port), *flags]
        self.process = subprocess.Popen(
            argv, cwd=PROJECT_ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )
        self.api = httpx.Client(base_url=f"http://{LOOPBACK}:{self.port}", timeout=SOCKET_TIMEOUT_S)

    def await_ready(self) -> None:
        """Returns once the API answers."""
        await_that("a Toxiproxy API that answers", self._answers)

    def stop(self) -> None:
        """Ends it at once."""
        self.api.close()
        if self.flavour == CONTAINER:
            subprocess.run(["docker", "rm", "--force", self._name], capture_output=True, check=False)
        self.process.kill()
        self.process.wait()
        if self.process.stderr is not None:
            self.process.stderr.close()

    def clear(self) -> None:
        """Deletes every proxy."""
        for name in self.api.get("/proxies").json():
            self.api.delete(f"/proxies/{name}")

    def _answers(self) -> bool:
        try:
            return self.api.get("/version").is_success
        except httpx.TransportError:
            if self.process.poll() is not None:
                raise AssertionError(f"the server ended with {self.process.returncode}") from None
            return False


@contextmanager
def toxiproxy_running(flavour: str, *flags: str) -> Iterator[ToxiproxyServer]:
    """A server that answers."""
    server = ToxiproxyServer(flavour, *flags)
    try:
        server.await_ready()
        yield server
    finally:
        server.stop()


class Proxied:
    """A proxy in front of a listening socket of the test's own, which plays the upstream."""

    def __init__(self, server: ToxiproxyServer, name: str = "link") -> None:
        self.server = server
        self.path = f"/proxies/{name}"
        self._sockets: list[socket.socket] = []
        self._listener = self._kept(socket.create_server((LOOPBACK, 0)))
        made = self.request("POST", "/proxies", name=name, listen=f"{LOOPBACK}:0", upstream=self.upstream)
        self.address = (LOOPBACK, int(made["listen"].rpartition(":")[2]))

    @property
    def upstream(self) -> str:
        """Where the proxy leads."""
        return f"{LOOPBACK}:{self._listener.getsockname()[1]}"

    def request(self, method: str, path: str, **fields: Any) -> dict[str, Any]:
        """Asks the API, and has to succeed."""
        answer = self.server.api.request(method, path, json=fields)
        assert answer.is_success, answer.text
        return dict(answer.json()) if answer.content else {}

    def add(self, kind: str, **options: Any) -> None:
        """Adds a toxic; `stream`, `toxicity` and `name` are its own, everything else its attributes."""
        own = {key: options.pop(key) for key in ("stream", "toxicity", "name") if key in options}
        self.request("POST", f"{self.path}/toxics", type=kind, attributes=options, **own)

    def update(self, toxic: str, **fields: Any) -> None:
        """Updates a toxic."""
        self.request("PATCH", f"{self.path}/toxics/{toxic}", **fields)

    def remove(self, toxic: str) -> None:
        """Removes a toxic."""
        self.request("DELETE", f"{self.path}/toxics/{toxic}")

    def connect(self) -> tuple[socket.socket, socket.socket]:
        """A connection through the proxy: the client's socket, and the upstream's."""
        client = self.dial()
        return client, self.accept()

    def dial(self) -> socket.socket:
        """The client's socket alone."""
        return self._kept(socket.create_connection(self.address, timeout=SOCKET_TIMEOUT_S))

    def accept(self) -> socket.socket:
        """The upstream's socket of the next connection."""
        return self._kept(self._listener.accept()[0])

    def close_listener(self) -> None:
        """The upstream is refused from now on."""
        self._listener.close()

    def close(self) -> None:
        """Closes every socket of the test."""
        for each in self._sockets:
            each.close()

    def _kept(self, each: socket.socket) -> socket.socket:
        each.settimeout(SOCKET_TIMEOUT_S)
        self._sockets.append(each)
        return each


def received(sock: socket.socket, size_bytes: int) -> bytes:
    """So many bytes, or what came before the end of the stream."""
    data = b""
    while len(data) < size_bytes and (piece := sock.recv(size_bytes - len(data))):
        data += piece
    return data
