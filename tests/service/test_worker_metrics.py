"""A worker's /metrics over HTTP: what is counted there is what its events say."""

import contextlib
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import httpx
from prometheus_client.parser import text_string_to_metric_families

from lab.contract.journal import parse_line
from lab.contract.names import EXIT_COULD_NOT_RUN, EXIT_OK
from tests.service.model_thread import disturb, running_model
from tests.service.redis_servers import LOOPBACK, free_port
from tests.service.worker_bench import Queue

PROJECT_ROOT = Path(__file__).parents[2]
WITHIN_S = 20


def started(**environ: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "worker"],
        cwd=PROJECT_ROOT,
        env=environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def scraped(port: int) -> dict[str, float]:
    """The samples of a scrape, labels and all, as they are written."""
    answer = httpx.get(f"http://{LOOPBACK}:{port}/metrics", trust_env=False).raise_for_status()
    assert answer.headers["content-type"].startswith("text/plain; version=")
    return {
        "|".join([sample.name, *(f"{name}={value}" for name, value in sorted(sample.labels.items()))]): sample.value
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
    }


def scraped_once_settled(port: int, jobs: int) -> dict[str, float]:
    """The first scrape that counts so many jobs, or the last one made."""
    limit_at, samples = time.monotonic() + WITHIN_S, dict[str, float]()
    while samples.get("worker_deliveries_total|result=settled") != jobs and time.monotonic() < limit_at:
        time.sleep(0.05)
        with contextlib.suppress(httpx.ConnectError):
            samples = scraped(port)
    return samples


def test_the_counters_agree_with_the_events(redis_url: str, queue: Queue) -> None:
    port = free_port()
    with running_model() as url:
        disturb(url, failure_ratio=0.5)
        for number in range(20):
            queue.put(request_id=f"scraped-{number}")
        queue.put(deadline_s=0.0)
        worker = started(REDIS_URL=redis_url, MODEL_URL=f"{url}/v1", METRICS_PORT=str(port))
        try:
            samples = scraped_once_settled(port, 21)
            worker.terminate()
            output, errors = worker.communicate(timeout=WITHIN_S)
        finally:
            worker.kill()
    assert (worker.returncode, errors) == (EXIT_OK, "")
    events = [event for line in output.splitlines() if (event := parse_line(line)) is not None]
    outcomes = [event for event in events if event["event"] == "outcome"]
    assert len(outcomes) == 21
    for outcome, count in Counter(event["outcome"] for event in outcomes).items():
        assert samples[f"jobs_total|class=chat|outcome={outcome}|tenant=acme"] == count
    for (ok, late), count in Counter((event["ok"], event["late"]) for event in outcomes).items():
        assert samples[f"agent_job_result_total|late={str(late).lower()}|ok={str(ok).lower()}"] == count
    assert samples["agent_deadline_miss_ms_count"] == sum(event["late"] for event in outcomes)
    assert samples["job_queue_wait_seconds_count|class=chat"] == len(outcomes)
    assert samples["worker_deliveries_total|result=settled"] == len(outcomes)
    assert 0 <= samples["agent_worker_heartbeat_age_seconds"] < WITHIN_S
    assert samples["worker_slots"] == 4
    assert samples["worker_breaker_state|worker_breaker_state=closed"] == 1


def test_a_busy_port_is_one_sentence_and_exit_3(redis_url: str) -> None:
    with running_model() as url:
        port = url.rpartition(":")[2]
        worker = started(REDIS_URL=redis_url, MODEL_URL=f"{url}/v1", METRICS_PORT=port)
        _, errors = worker.communicate(timeout=WITHIN_S)
    assert worker.returncode == EXIT_COULD_NOT_RUN
    assert errors == f"worker: cannot serve its metrics on {LOOPBACK}:{port}: Address already in use\n"
