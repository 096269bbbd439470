"""A gate, or the way past it, as its own process, with its events read from standard output, for service tests."""

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import httpx

from gate.plain_answers import JOBS_PATH
from tests.service.redis_servers import LOOPBACK, free_port

PROJECT_ROOT = Path(__file__).parents[2]
AWAIT_S = 15


def await_that(what: str, holds: Callable[[], bool]) -> None:
    """Returns once `holds` does; fails with what was awaited."""
    limit_at = time.monotonic() + AWAIT_S
    while not holds():
        if time.monotonic() > limit_at:
            raise AssertionError(f"waited {AWAIT_S} s in vain for: {what}")
        time.sleep(0.02)


class GateProcess:
    """A running gate, or with `module` gate.enqueue the endpoint past it."""

    def __init__(self, folder: Path, port: int, environ: Mapping[str, str], module: str) -> None:
        self.port = port
        self.url = f"http://{LOOPBACK}:{port}"
        self._output = folder / f"gate-{port}.jsonl"
        self.log = folder / f"gate-{port}.log"
        with self._output.open("w") as stdout, self.log.open("w") as stderr:
            self.process = subprocess.Popen(
                [sys.executable, "-m", module], cwd=PROJECT_ROOT, env=dict(environ), stdout=stdout, stderr=stderr
            )

    def events(self, *kinds: str) -> list[dict[str, Any]]:
        """The events of these kinds so far."""
        events = [json.loads(line) for line in self._output.read_text().splitlines()]
        return [event for event in events if event["event"] in kinds]

    def health(self) -> dict[str, Any]:
        """What /health says; empty while nobody listens."""
        try:
            answer = httpx.get(f"{self.url}/health", timeout=5)
        except httpx.TransportError:
            return {}
        return dict(answer.json())

    def await_redis(self, reachable: bool = True) -> None:
        """Returns once the gate reaches its queue, or no longer does."""
        await_that(f"redis: {reachable} in /health", lambda: self.health().get("redis") is reachable)

    def post(self, **fields: Any) -> httpx.Response:
        """Sends one request for a job."""
        body = {"request_id": "r-1", "deadline_s": 5, **fields}
        return httpx.post(f"{self.url}/v1/jobs", json=body, timeout=10)


@contextmanager
def gate_running(folder: Path, redis_url: str, *, module: str = "gate", **environ: str) -> Iterator[GateProcess]:
    """A gate that listens; whether it reaches its queue is for the test to await."""
    port = free_port()
    settings = {"HOST": LOOPBACK, "PORT": str(port), "REDIS_URL": redis_url, **environ}
    gate = GateProcess(folder, port, settings, module)
    try:
        await_that("a gate that answers /health", lambda: bool(gate.health()))
        yield gate
    finally:
        gate.process.kill()
        gate.process.wait()


class Connection:
    """One connection kept open, for bursts in which only requests are under way."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    @classmethod
    async def to(cls, gate: GateProcess) -> Self:
        """A new connection to this gate."""
        return cls(*await asyncio.open_connection(LOOPBACK, gate.port))

    async def post(self, request_id: str) -> int:
        """Sends one request for a job; the status of its answer."""
        body = json.dumps({"request_id": request_id, "deadline_s": 5})
        head = f"POST {JOBS_PATH} HTTP/1.1\r\nHost: gate\r\nContent-Type: application/json\r\n"
        self._writer.write(f"{head}Content-Length: {len(body)}\r\n\r\n{body}".encode())
        answer = (await self._reader.readuntil(b"\r\n\r\n")).decode().lower()
        length = next(line for line in answer.splitlines() if line.startswith("content-length:"))
        await self._reader.readexactly(int(length.partition(":")[2]))
        return int(answer.split(" ")[1])

    async def close(self) -> None:
        self._writer.close()
        await self._writer.wait_closed()
