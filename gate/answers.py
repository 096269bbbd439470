"""The gate's answers as HTTP: what was decided, or why it was not, in the shape of the contract's messages."""

import math

from fastapi import Response
from pydantic import BaseModel

from gate.refused import RefusedError
from gate.waiting import Decided
from lab.contract import names
from lab.contract.messages import ErrorDetail, JobAccepted, JobRequest, Refusal
from lab.policies.decision import Decision

JOBS_PATH = "/v1/jobs"
SHORTEST_RETRY_AFTER_S = 1.0
SERVER_ERROR_STATUS = 500


def json_answer(message: BaseModel, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """A message as a JSON response."""
    return Response(message.model_dump_json(), status, headers, media_type="application/json")


def decided_answer(request: JobRequest, decided: Decided) -> Response:
    """202 for a job, 429 for a shed."""
    if decided.job_id is None or decided.created_at is None or decided.deadline_at is None:
        return _shed_answer(decided.decision)
    accepted = JobAccepted(
        id=decided.job_id,
        request_id=request.request_id,
        created_at=decided.created_at,
        deadline_at=decided.deadline_at,
        degraded=decided.decision.decision == "degrade",
    )
    return json_answer(accepted, 202, {"Location": f"{JOBS_PATH}/{decided.job_id}"})


def refused_answer(refused: RefusedError) -> Response:
    """The answer to a request refused in error."""
    kind = "server_error" if refused.status >= SERVER_ERROR_STATUS else "invalid_request_error"
    error = ErrorDetail(message=str(refused), type=kind, code=refused.reason)
    return json_answer(Refusal(error=error, reason=refused.reason), refused.status)


def _shed_answer(decision: Decision) -> Response:
    error = ErrorDetail(message=_shed_sentence(decision), type="rate_limit_error", code=decision.reason)
    refusal = Refusal(
        error=error, reason=decision.reason, numbers=decision.numbers, retry_after_s=decision.retry_after_s
    )
    wait_s = max(decision.retry_after_s or 0.0, SHORTEST_RETRY_AFTER_S)
    headers = {
        names.HEADER_RETRY_AFTER: str(math.ceil(wait_s)),
        names.HEADER_RETRY_AFTER_MS: str(math.ceil(wait_s * 1000)),
    }
    return json_answer(refusal, 429, headers)


def _shed_sentence(decision: Decision) -> str:
    numbers = decision.numbers
    bounds = [
        f"{signal} is {value:g}, limit {limit:g}"
        for signal, value in numbers.items()
        if (limit := numbers.get(f"limit_{signal}")) is not None
    ]
    return f"Shed by {decision.reason}: {', '.join(bounds)}; try again later."
