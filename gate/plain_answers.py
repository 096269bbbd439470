"""Answers that need no decision: a message as JSON, a refusal in error, what is known of a job. Knows no policy."""

from collections.abc import Mapping

from fastapi import Response
from pydantic import BaseModel

from gate.refused import RefusedError
from lab.contract.messages import ErrorDetail, JobStatus, Refusal

JOBS_PATH = "/v1/jobs"
SERVER_ERROR_STATUS = 500


def json_answer(message: BaseModel, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """A message as a JSON response."""
    return Response(message.model_dump_json(), status, headers, media_type="application/json")


def refused_answer(refused: RefusedError) -> Response:
    """The answer to a request refused in error."""
    kind = "server_error" if refused.status >= SERVER_ERROR_STATUS else "invalid_request_error"
    error = ErrorDetail(message=str(refused), type=kind, code=refused.reason)
    return json_answer(Refusal(error=error, reason=refused.reason), refused.status)


def job_answer(job_id: str, fields: Mapping[str, str]) -> Response:
    """What a job's hash says of it.

    Raises:
        RefusedError: there is no such job.
    """
    if "request_id" not in fields:
        raise RefusedError("not_found", f"There is no job {job_id[:80]!r}, or it ended too long ago.")
    known = {name: fields[name] for name in JobStatus.model_fields if name in fields}
    return json_answer(JobStatus.model_validate_strings({"id": job_id, **known}))
