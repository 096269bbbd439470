"""One exchange with the gate as values: the body sent, the answer as understood. Pure; knows no socket."""

import json
import math
from dataclasses import dataclass
from typing import Any

from lab.contract.messages import JobRequest, ScheduledRequest
from loadgen.pacing import remaining_deadline_s

HTTP_ACCEPTED = 202
MOST_ERROR_CHARS = 200


@dataclass(frozen=True, slots=True)
class Answer:
    """What a client got. `status` is None where no whole answer came; then `error` says why. Times are seconds."""

    status: int | None
    job_id: str | None = None
    reason: str | None = None
    retry_after_s: float | None = None
    error: str | None = None


def job_request(scheduled: ScheduledRequest, lag_s: float) -> JobRequest:
    """The body of a scheduled request that is sent `lag_s` late."""
    return JobRequest(
        request_id=scheduled.request_id,
        job_class=scheduled.job_class,
        tenant=scheduled.tenant,
        deadline_s=remaining_deadline_s(scheduled, lag_s),
        input_tokens=scheduled.input_tokens,
        max_output_tokens=scheduled.output_tokens,
        work_s=scheduled.work_s,
        first_token_s=scheduled.first_token_s,
    )


def read_answer(status: int, body: bytes) -> Answer:
    """What a status and a body say; whatever else the body holds is ignored."""
    fields = _json_object(body)
    if status != HTTP_ACCEPTED:
        return Answer(status, reason=_word(fields.get("reason")), retry_after_s=_seconds(fields.get("retry_after_s")))
    job_id = _word(fields.get("id"))
    return Answer(status, job_id=job_id, error=None if job_id else "the 202 names no job")


def one_line(error: BaseException) -> str:
    """An exception as one short printable line."""
    text = " ".join(f"{type(error).__name__}: {error}".split())
    return "".join(mark for mark in text if mark.isprintable())[:MOST_ERROR_CHARS]


def _json_object(body: bytes) -> dict[str, Any]:
    try:
        fields = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return fields if isinstance(fields, dict) else {}


def _word(value: object) -> str | None:
    return value if isinstance(value, str) and value and value.isprintable() else None


def _seconds(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value)
