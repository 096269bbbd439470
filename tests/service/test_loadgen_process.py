"""Start and end of the load generator: exit codes, sentences, and the same file under plain Locust."""

import json
import os
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import pytest

from tests.service.loadgen_rig import (
    AWAIT_S,
    LOOPBACK,
    PROJECT_ROOT,
    LoadgenProcess,
    Reply,
    StubGate,
    accepted,
    loadgen_running,
    settings_for,
)
from tests.service.redis_servers import free_port

UNUSED_URL = "http://127.0.0.1:9"
PLAIN_LOCUST = ("locust", "-f", "loadgen/locustfile.py")


def test_bad_settings_are_one_sentence_and_exit_code_2(tmp_path: Path) -> None:
    with loadgen_running(tmp_path, settings_for(tmp_path, "nowhere", [])) as loadgen:
        assert loadgen.wait() == 2
        assert loadgen.lines() == []
        assert loadgen.said().splitlines() == [
            "loadgen: TARGET_URL is 'nowhere'; it must be the gate's base URL, such as http://127.0.0.1:8080"
        ]


def test_a_bad_schedule_is_named_with_its_line_and_exit_code_2(tmp_path: Path) -> None:
    environ = settings_for(tmp_path, UNUSED_URL, [0.0])
    schedule = Path(environ["SCHEDULE_FILE"])
    schedule.write_text(schedule.read_text() + "{}\n")
    with loadgen_running(tmp_path, environ) as loadgen:
        assert loadgen.wait() == 2
        assert loadgen.said().startswith(f"loadgen: {schedule}:2: is no scheduled request: ")
        assert len(loadgen.said().splitlines()) == 1


@pytest.mark.parametrize("arguments", [("loadgen",), (*PLAIN_LOCUST, "--headless", "--loglevel", "CRITICAL")])
def test_a_gate_that_cannot_be_reached_is_one_sentence_and_exit_code_3(
    tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    url = f"http://{LOOPBACK}:{free_port()}"
    with loadgen_running(tmp_path, settings_for(tmp_path, url, [0.0]), arguments) as loadgen:
        assert loadgen.wait() == 3
        assert loadgen.lines() == []
        assert f"loadgen: the gate at {url} cannot be reached: ConnectionRefusedError" in loadgen.said()


def test_a_gate_that_accepts_and_never_answers_counts_as_one_that_cannot_be_reached(tmp_path: Path) -> None:
    with socket.create_server((LOOPBACK, 0)) as mute:
        url = f"http://{LOOPBACK}:{mute.getsockname()[1]}"
        environ = settings_for(tmp_path, url, [0.0], ANSWER_TIMEOUT_S="0.5")
        with loadgen_running(tmp_path, environ) as loadgen:
            assert loadgen.wait() == 3
            assert loadgen.said() == f"loadgen: the gate at {url} cannot be reached: no answer within 0.5 s\n"


def test_a_reader_that_goes_away_ends_the_load_with_one_sentence(tmp_path: Path) -> None:
    with StubGate().running() as gate:
        environ = settings_for(tmp_path, gate.url, [0.0, *(0.5 + number / 50 for number in range(10)), 300.0])
        with started(environ, subprocess.PIPE) as process:
            assert process.stdout is not None
            assert b"schedule_start" in process.stdout.readline()
            process.stdout.close()
            assert process.wait(AWAIT_S) == 3
            assert said(process) == ["loadgen: the record cannot be written: BrokenPipeError: [Errno 32] Broken pipe"]
    assert len(gate.header_ids) < 12


def test_a_full_disk_ends_the_load_with_one_sentence(tmp_path: Path) -> None:
    with (
        StubGate().running() as gate,
        Path("/dev/full").open("wb") as full,
        started(settings_for(tmp_path, gate.url, [0.0, 300.0]), full) as process,
    ):
        assert process.wait(AWAIT_S) == 3
        assert said(process) == ["loadgen: the record cannot be written: OSError: [Errno 28] No space left on device"]
    assert gate.header_ids == []


def test_a_schedule_without_requests_starts_and_ends(tmp_path: Path) -> None:
    with (
        StubGate().running() as gate,
        loadgen_running(tmp_path, settings_for(tmp_path, gate.url, [])) as loadgen,
    ):
        assert loadgen.wait() == 0
        assert [json.loads(line)["event"] for line in loadgen.lines()] == ["schedule_start", "load_end"]


def test_plain_locust_plays_the_same_file_and_its_statistics_are_true(tmp_path: Path) -> None:
    statuses = {"r-0": 202, "r-1": 429, "r-2": 503, "r-3": 500}

    def reply(request_id: str) -> Reply:
        return statuses[request_id], accepted(request_id)[1]

    arguments = (*PLAIN_LOCUST, "--headless", "--users", "3", "--json-file", str(tmp_path / "stats"))
    with (
        StubGate(reply).running() as gate,
        loadgen_running(tmp_path, settings_for(tmp_path, gate.url, [0.0, 0.1, 0.2, 0.3]), arguments) as loadgen,
    ):
        assert loadgen.wait() == 0, loadgen.said()
        assert len(loadgen.events("request")) == 4
        (end,) = loadgen.events("load_end")
    assert end["answered_count"] == 4
    (entry,) = json.loads((tmp_path / "stats.json").read_text())
    # Only the 500 is a failure of the load.
    assert (entry["name"], entry["num_requests"], entry["num_failures"]) == ("/v1/jobs", 4, 1)


def test_plain_locust_stopped_by_sigterm_leaves_a_whole_record(tmp_path: Path) -> None:
    with (
        StubGate().running() as gate,
        loadgen_running(
            tmp_path, settings_for(tmp_path, gate.url, [0.0, 300.0]), (*PLAIN_LOCUST, "--headless")
        ) as loadgen,
    ):
        loadgen.await_that("the first answer", lambda: len(loadgen.events("request")) == 1)
        assert loadgen.stop() == 0, loadgen.said()
        (end,) = loadgen.events("load_end")
    assert [end[f"{what}_count"] for what in ("due", "sent", "answered", "unsent")] == [2, 1, 1, 1]


def test_locusts_web_page_plays_the_schedule_each_time_it_is_started(tmp_path: Path) -> None:
    page = f"http://{LOOPBACK}:{free_port()}"
    arguments = (*PLAIN_LOCUST, "--web-host", LOOPBACK, "--web-port", page.rsplit(":", 1)[1])
    with (
        StubGate().running() as gate,
        loadgen_running(tmp_path, settings_for(tmp_path, gate.url, [0.0, 0.1]), arguments) as loadgen,
    ):
        loadgen.await_that("the page", lambda: _state(page) == "ready")
        for played in (1, 2):
            assert _call(f"{page}/swarm", b"user_count=1&spawn_rate=1")["success"] is True
            loadgen.await_that("the test's end", partial(_has_played, loadgen, page, played))
        assert len(loadgen.events("request")) == 4
        assert loadgen.stop() == 0, loadgen.said()


@contextmanager
def started(environ: dict[str, str], stdout: int | BinaryIO) -> Iterator["subprocess.Popen[bytes]"]:
    """A load generator whose output goes where the test says; gone after the block."""
    process = subprocess.Popen(
        [sys.executable, "-m", "loadgen"],
        cwd=PROJECT_ROOT,
        env={"PATH": os.environ["PATH"], **environ},
        stdout=stdout,
        stderr=subprocess.PIPE,
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        for pipe in (process.stdout, process.stderr):
            if pipe is not None:
                pipe.close()


def said(process: "subprocess.Popen[bytes]") -> list[str]:
    """The lines on standard error of a process that has ended."""
    assert process.stderr is not None
    return process.stderr.read().decode().splitlines()


def _has_played(loadgen: LoadgenProcess, page: str, times: int) -> bool:
    return len(loadgen.events("load_end")) == times and _state(page) == "stopped"


def _state(page: str) -> str:
    try:
        return str(_call(f"{page}/stats/requests", None)["state"])
    except urllib.error.URLError:
        return "unreachable"


def _call(url: str, form: bytes | None) -> dict[str, Any]:
    with urllib.request.urlopen(url, form, timeout=10) as answer:  # noqa: S310 - the test's own address
        return dict(json.load(answer))
