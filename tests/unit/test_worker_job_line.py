"""The job line: every field that the drills name, in their units, for each way a job can end."""

import json
from typing import Any

import pytest

from lab.contract.journal import OutcomeEvent
from lab.contract.names import OUTCOMES
from worker.delivery import Delivery, JobIdentity
from worker.job_line import RESULT_OF_OUTCOME, outcome_fields
from worker.outcome import STATUS_OF_OUTCOME, Ending

IDENTITY = JobIdentity("job-1", "request-1", "chat", "acme", 1_800_000_004.0)
# DRILLS.md, drill 3, with the type of each.
DRILL_3: dict[str, type | tuple[type, ...]] = {
    "time_enqueue_ms": float,
    "time_dequeue_ms": float,
    "queue_age_ms": float,
    "worker_id": str,
    "endpoint_latency_ms": float,
    "ttft_ms": float,
    "tokens_out": int,
    "result": str,
}


def line(outcome: str, finished_at: float = 1_800_000_003.0, **known: Any) -> dict[str, Any]:
    delivery = Delivery("1800000000250-3", {}, 1_800_000_001.5, 2)
    ending = Ending(delivery, IDENTITY, outcome, "", finished_at, **known)
    said = outcome_fields(ending, IDENTITY, "worker-1", first=True, settled_at=finished_at)
    return dict(json.loads(json.dumps(said, allow_nan=False)))


def test_every_field_of_the_drills_job_line_is_there_in_ms() -> None:
    said = line("ok", endpoint_latency_s=1.2, ttft_s=0.1234567, tokens_out=7)
    assert {name: said[name] for name in DRILL_3} == {
        "time_enqueue_ms": 1_800_000_000_250.0,
        "time_dequeue_ms": 1_800_000_001_500.0,
        "queue_age_ms": 1250.0,
        "worker_id": "worker-1",
        "endpoint_latency_ms": 1200.0,
        "ttft_ms": 123.457,
        "tokens_out": 7,
        "result": "ok",
    }
    assert {name: type(said[name]) for name in DRILL_3} == DRILL_3
    assert said["deliveries"] == 2


def test_a_job_that_was_never_called_for_has_no_latencies() -> None:
    said = line("expired", 1_800_000_005.0)
    assert (said["endpoint_latency_ms"], said["ttft_ms"]) == (None, None)


@pytest.mark.parametrize(
    ("outcome", "finished_at", "ok", "late", "result"),
    [
        ("ok", 1_800_000_004.0, True, False, "ok"),
        ("late", 1_800_000_004.1, True, True, "ok"),
        ("error", 1_800_000_003.0, False, False, "error"),
        ("error", 1_800_000_005.0, False, True, "error"),
        ("timeout", 1_800_000_003.0, False, False, "timeout"),
        ("expired", 1_800_000_004.1, False, True, "shed"),
        ("dead_lettered", 1_800_000_002.0, False, False, "error"),
    ],
)
def test_ok_is_a_completed_call_and_late_is_past_the_deadline(
    outcome: str, finished_at: float, ok: bool, late: bool, result: str
) -> None:
    said = line(outcome, finished_at)
    assert (said["ok"], said["late"], said["result"]) == (ok, late, result)


def test_every_outcome_that_a_worker_says_has_a_result_and_a_status() -> None:
    said_by_workers = set(OUTCOMES) - {"unfinished", "lost"}
    assert set(RESULT_OF_OUTCOME) == set(STATUS_OF_OUTCOME) == said_by_workers


def test_the_line_has_the_journals_fields() -> None:
    assert set(line("ok")) == set(OutcomeEvent.__annotations__) - {"event", "at", "source"}
