"""What the journal is told of a job's ending, in the field names of the contract and of the drills. Pure."""

from typing import Any, Final

from worker.delivery import JobIdentity
from worker.outcome import Ending

# The four words of the drills' job lines; a job that expired was shed by the worker, unserved.
RESULT_OF_OUTCOME: Final = {
    "ok": "ok",
    "late": "ok",
    "expired": "shed",
    "timeout": "timeout",
    "error": "error",
    "dead_lettered": "error",
}


def outcome_fields(
    ending: Ending, identity: JobIdentity, worker_id: str, *, first: bool, settled_at: float
) -> dict[str, Any]:
    """The fields of the journal's OutcomeEvent but `event`, `at` and `source`; the slot was held until `settled_at`."""
    delivery = ending.delivery
    # The clock is an estimate: an empty queue must not show a negative age.
    queue_age_s = max(0.0, delivery.dequeued_at - delivery.enqueued_at)
    return {
        "request_id": identity.request_id,
        "job_id": identity.job_id,
        "job_class": identity.job_class,
        "tenant": identity.tenant,
        "worker_id": worker_id,
        "outcome": ending.outcome,
        "duplicate": not first,
        "detail": ending.detail,
        "enqueued_at": delivery.enqueued_at,
        "dequeued_at": delivery.dequeued_at,
        "queue_age_s": queue_age_s,
        "deadline_at": identity.deadline_at,
        "first_token_at": ending.first_token_at,
        "finished_at": ending.finished_at,
        "slot_s": max(0.0, settled_at - delivery.dequeued_at),
        "endpoint_latency_s": ending.endpoint_latency_s,
        "ttft_s": ending.ttft_s,
        "tokens_out": ending.tokens_out,
        "attempt": ending.attempt,
        "retry_denied": ending.retry_denied,
        "deliveries": delivery.delivery_count,
        "ok": ending.completed,
        "late": ending.finished_at > identity.deadline_at,
        "result": RESULT_OF_OUTCOME[ending.outcome],
        "time_enqueue_ms": _ms(delivery.enqueued_at),
        "time_dequeue_ms": _ms(delivery.dequeued_at),
        "queue_age_ms": _ms(queue_age_s),
        "endpoint_latency_ms": None if ending.endpoint_latency_s is None else _ms(ending.endpoint_latency_s),
        "ttft_ms": None if ending.ttft_s is None else _ms(ending.ttft_s),
    }


def dead_letter_fields(ending: Ending, worker_id: str) -> dict[str, Any]:
    """The fields of the journal's DeadLetterEvent but `event`, `at` and `source`."""
    return {
        "worker_id": worker_id,
        "entry_id": ending.delivery.entry_id,
        "job_id": ending.identity.job_id if ending.identity else None,
        "request_id": ending.identity.request_id if ending.identity else None,
        "reason": ending.dead_letter_reason,
    }


def _ms(seconds: float) -> float:
    return round(seconds * 1000, 3)
