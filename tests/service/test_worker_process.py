"""`python -m worker` as a process: signals, exit codes, and what a kill leaves behind."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from lab.contract.names import EXIT_COULD_NOT_RUN, EXIT_INTERRUPTED, EXIT_OK, EXIT_USAGE, HEARTBEATS_KEY, STREAM
from tests.service.model_thread import running_model
from tests.service.redis_servers import free_port
from tests.service.worker_bench import Queue, burst

PROJECT_ROOT = Path(__file__).parents[2]
WITHIN_S = 20


class WorkerProcess:
    """A worker that is killed when the test ends."""

    def __init__(self, stdout: int | Any = subprocess.PIPE, **environ: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "worker"],
            cwd=PROJECT_ROOT,
            env={"PATH": os.environ["PATH"], **environ},
            stdout=stdout,
            stderr=subprocess.PIPE,
            text=True,
        )

    def ends(self) -> tuple[int, list[dict[str, Any]], str]:
        """Its exit code, its events and its standard error, once it has ended."""
        output, errors = self.process.communicate(timeout=WITHIN_S)
        return self.process.returncode, [json.loads(line) for line in (output or "").splitlines()], errors


@pytest.fixture
def start() -> Iterator[Callable[..., WorkerProcess]]:
    started: list[WorkerProcess] = []

    def start_one(**options: Any) -> WorkerProcess:
        started.append(WorkerProcess(**options))
        return started[-1]

    yield start_one
    for one in started:
        one.process.kill()
        one.process.communicate()


@pytest.fixture(scope="module")
def model_url() -> Iterator[str]:
    with running_model() as url:
        yield url


@pytest.fixture
def settings(redis_url: str, model_url: str) -> dict[str, str]:
    return {"REDIS_URL": redis_url, "MODEL_URL": f"{model_url}/v1"}


def wait_for(look: Callable[[], object], awaited: str) -> None:
    limit_at = time.monotonic() + WITHIN_S
    while not look():
        assert time.monotonic() < limit_at, f"waited too long for {awaited}"
        time.sleep(0.01)


def outcomes(events: list[dict[str, Any]]) -> list[str]:
    return [event["outcome"] for event in events if event["event"] == "outcome"]


def test_sigterm_lets_running_jobs_finish_and_takes_no_other(
    start: Callable[..., WorkerProcess], settings: dict[str, str], queue: Queue
) -> None:
    queue.put(work_s=1.0)
    later = [queue.put() for _ in range(3)]
    worker = start(**settings, WORKER_SLOTS="1")
    wait_for(queue.pending, "the first entry to be delivered")
    worker.process.send_signal(signal.SIGTERM)
    code, events, _ = worker.ends()
    assert (code, outcomes(events)) == (EXIT_OK, ["ok"])
    assert queue.length() == len(later)
    assert queue.pending() == []
    assert queue.redis.zcard(HEARTBEATS_KEY) == 0
    assert queue.redis.xinfo_consumers(STREAM, "workers") == []


def test_a_job_longer_than_the_drain_stays_pending_for_others(
    start: Callable[..., WorkerProcess], settings: dict[str, str], queue: Queue
) -> None:
    queue.put(work_s=50)
    worker = start(**settings, DRAIN_S="0.2")
    wait_for(queue.pending, "the entry to be delivered")
    worker.process.send_signal(signal.SIGTERM)
    code, events, errors = worker.ends()
    assert (code, outcomes(events)) == (EXIT_OK, [])
    assert [entry["consumer"] for entry in queue.pending()] == ["worker-1"]
    assert queue.redis.zcard(HEARTBEATS_KEY) == 0
    assert errors == ""


def test_a_second_signal_ends_it_at_once(
    start: Callable[..., WorkerProcess], settings: dict[str, str], queue: Queue
) -> None:
    queue.put(work_s=50)
    worker = start(**settings, DRAIN_S="600")
    wait_for(queue.pending, "the entry to be delivered")
    worker.process.send_signal(signal.SIGINT)
    time.sleep(0.3)
    worker.process.send_signal(signal.SIGINT)
    assert worker.ends()[0] == EXIT_INTERRUPTED


def test_what_a_killed_worker_held_is_served_by_another(
    start: Callable[..., WorkerProcess], settings: dict[str, str], redis_url: str, model_url: str, queue: Queue
) -> None:
    job = queue.put(work_s=0.5)
    killed = start(**settings, SERVICE_ID="killed")
    wait_for(queue.begun, "the entry to be begun")
    killed.process.kill()
    killed.ends()
    haste = {"SERVICE_ID": "heir", "HEARTBEAT_S": "0.1", "RECLAIM_AFTER_S": "0.5"}
    assert burst(redis_url, model_url, **haste).of("outcome") == []
    wait_for(lambda: queue.pending()[0]["time_since_delivered"] > 1000, "the killed worker to count as dead")
    (outcome,) = burst(redis_url, model_url, **haste).of("outcome")
    assert (outcome["job_id"], outcome["outcome"], outcome["attempt"]) == (job.job_id, "ok", 2)
    assert (outcome["worker_id"], outcome["duplicate"]) == ("heir", False)
    assert queue.length() == 0


def test_it_waits_for_a_redis_that_is_not_there_and_still_ends_on_sigterm(start: Callable[..., WorkerProcess]) -> None:
    worker = start(REDIS_URL=f"redis://:secret@127.0.0.1:{free_port()}/0", MODEL_API_KEY="sk-secret")
    assert worker.process.stderr is not None
    first_line = worker.process.stderr.readline()
    worker.process.send_signal(signal.SIGTERM)
    code, events, errors = worker.ends()
    assert (code, events, errors) == (EXIT_OK, [], "")
    assert "Redis cannot be used" in first_line
    assert "secret" not in first_line


def test_settings_that_cannot_be_used_are_one_sentence_and_exit_2(start: Callable[..., WorkerProcess]) -> None:
    code, _, errors = start(WORKER_SLOTS="none").ends()
    assert code == EXIT_USAGE
    assert errors == "worker: WORKER_SLOTS is 'none'; it must be a whole number from 1 to 4096\n"


def test_events_that_cannot_be_written_are_one_sentence_and_exit_3(
    start: Callable[..., WorkerProcess], settings: dict[str, str]
) -> None:
    with Path("/dev/full").open("w") as full:
        code, _, errors = start(stdout=full, **settings).ends()
    assert code == EXIT_COULD_NOT_RUN
    assert errors == "worker: its events cannot be written: [Errno 28] No space left on device\n"
