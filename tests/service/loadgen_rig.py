"""A stub gate in threads and the load generator as its own process, for service tests and the benchmark."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from lab.contract.messages import ScheduledRequest

PROJECT_ROOT = Path(__file__).parents[2]
LOOPBACK = "127.0.0.1"
AWAIT_S = 30

Reply = tuple[int, dict[str, Any]]


def accepted(request_id: str) -> Reply:
    """The answer of a gate that admits everything."""
    return 202, {"id": f"job-{request_id}", "request_id": request_id}


class StubGate(ThreadingHTTPServer):
    """Answers each job by `reply(request_id)`, which may block; keeps what it received."""

    daemon_threads = True
    request_queue_size = 1024

    def __init__(self, reply: Callable[[str], Reply] = accepted) -> None:
        super().__init__((LOOPBACK, 0), _StubHandler)
        self.reply = reply
        self.bodies: list[dict[str, Any]] = []
        self.header_ids: list[str] = []
        self.connections: list[socket.socket] = []
        self.url = f"http://{LOOPBACK}:{self.server_address[1]}"
        self._thread = threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True)

    def handle_error(self, *_: object) -> None:
        """A client that hung up is no error of the stub's."""

    def stop(self) -> None:
        """Refuses connections from now on and closes those there are."""
        self.shutdown()
        self._thread.join()
        self.server_close()
        for connection in self.connections:
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue

    @contextmanager
    def running(self) -> Iterator["StubGate"]:
        """Serves for the length of the block."""
        self._thread.start()
        try:
            yield self
        finally:
            self.stop()


class _StubHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1
    disable_nagle_algorithm = True
    server: StubGate

    def setup(self) -> None:
        super().setup()
        self.server.connections.append(self.connection)

    def do_GET(self) -> None:
        self._answer(200, {"status": "ok"})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.bodies.append(body)
        self.server.header_ids.append(self.headers["x-request-id"])
        self._answer(*self.server.reply(body["request_id"]))

    def _answer(self, status: int, fields: dict[str, Any]) -> None:
        payload = json.dumps(fields).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(payload)))
        self.end_headers()
        self.wfile.write(payload)
        self.wfile.flush()

    def log_message(self, *_: object) -> None:
        """The stub's log would be noise."""


class LoadgenProcess:
    """A load generator that plays a schedule; its output goes to files, so that it never waits for a reader."""

    def __init__(self, folder: Path, environ: dict[str, str], arguments: Sequence[str] = ("loadgen",)) -> None:
        self._output, self._log = folder / "loadgen.jsonl", folder / "loadgen.log"
        with self._output.open("w") as stdout, self._log.open("w") as stderr:
            self.process = subprocess.Popen(
                [sys.executable, "-m", *arguments],
                cwd=PROJECT_ROOT,
                env={"PATH": os.environ["PATH"], **environ},
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                stderr=stderr,
            )

    def await_that(self, what: str, holds: Callable[[], bool]) -> None:
        """Returns once `holds` does; fails with what was awaited and what was said."""
        limit_at = time.monotonic() + AWAIT_S
        while not holds():
            if time.monotonic() > limit_at:
                raise AssertionError(f"waited {AWAIT_S} s in vain for {what}; it said: {self.said()}")
            time.sleep(0.02)

    def wait(self) -> int:
        """The exit code."""
        return self.process.wait(AWAIT_S)

    def stop(self) -> int:
        """Sends SIGTERM; the exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.wait()

    def said(self) -> str:
        """Standard error so far."""
        return self._log.read_text()

    def lines(self) -> list[str]:
        """Standard output so far."""
        return self._output.read_text().splitlines()

    def events(self, kind: str) -> list[dict[str, Any]]:
        """The events of this kind; a line that is no event fails the test."""
        events: list[dict[str, Any]] = [json.loads(line) for line in self.lines()]
        return [event for event in events if event["event"] == kind]


def schedule_of(due_s: Sequence[float]) -> list[ScheduledRequest]:
    """Requests r-0, r-1, ... that are due then."""
    return [
        ScheduledRequest(
            request_id=f"r-{number}",
            due_s=due,
            job_class="chat",
            tenant="t",
            input_tokens=10,
            output_tokens=20,
            work_s=0.4,
            first_token_s=0.1,
            deadline_s=5.0,
        )
        for number, due in enumerate(due_s)
    ]


def settings_for(folder: Path, url: str, due_s: Sequence[float], **environ: str) -> dict[str, str]:
    """Writes the schedule; the environment that plays it against `url`."""
    schedule = folder / "schedule.jsonl"
    schedule.write_text("".join(request.model_dump_json() + "\n" for request in schedule_of(due_s)))
    return {"SCHEDULE_FILE": str(schedule), "TARGET_URL": url, "SCHEDULE_LEAD_S": "0.2", **environ}


@contextmanager
def loadgen_running(
    folder: Path, environ: dict[str, str], arguments: Sequence[str] = ("loadgen",)
) -> Iterator[LoadgenProcess]:
    """A load generator that is gone after the block, whatever happens in it."""
    loadgen = LoadgenProcess(folder, environ, arguments)
    try:
        yield loadgen
    finally:
        loadgen.process.kill()
        loadgen.process.wait()
