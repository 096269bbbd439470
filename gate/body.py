"""Reads a request's body at the border: bounded, JSON, and of one model; all else is refused with one sentence."""

import json
import re
from typing import TypeVar

from fastapi import Request
from pydantic import TypeAdapter, ValidationError
from starlette.requests import ClientDisconnect

from gate.refused import RefusedError
from lab.contract.messages import MAX_BODY_BYTES, JobRequest

Parsed = TypeVar("Parsed")

JOB_REQUEST: TypeAdapter[JobRequest] = TypeAdapter(JobRequest)
# A body too large is read to its end up to here, so that its sender hears the answer and not a reset.
MAX_DISCARDED_BYTES = 16 * MAX_BODY_BYTES
_REQUEST_ID = re.compile(r"[A-Za-z0-9._:-]{1,80}")


async def read_body(request: Request) -> bytes:
    """The whole body.

    Raises:
        RefusedError: it is not JSON by its content type, too large, or its sender left.
    """
    content_type = request.headers.get("content-type", "")
    if content_type.partition(";")[0].strip().lower() != "application/json":
        raise RefusedError("bad_request", f"The content type is {content_type[:80]!r}; send application/json.")
    chunks, size = [], 0
    try:
        async for chunk in request.stream():
            size += len(chunk)
            if size <= MAX_BODY_BYTES:
                chunks.append(chunk)
            elif size > MAX_DISCARDED_BYTES:
                break
    except ClientDisconnect:
        raise RefusedError("bad_request", "The client left before its body was complete.") from None
    if size > MAX_BODY_BYTES:
        raise RefusedError("too_large", f"The body is larger than {MAX_BODY_BYTES:,} bytes; send a smaller one.")
    return b"".join(chunks)


def parse_body(body: bytes, model: TypeAdapter[Parsed]) -> Parsed:
    """The body as a value of `model`.

    Raises:
        RefusedError: it is no JSON, or says something that the model does not allow.
    """
    try:
        return model.validate_json(body)
    except ValidationError as error:
        detail = error.errors(include_url=False, include_input=False)[0]
    place = ".".join(str(part)[:80] for part in detail["loc"])
    message = "it is not a known key" if detail["type"] == "extra_forbidden" else detail["msg"]
    raise RefusedError("bad_request", f"The body cannot be used: {place + ': ' if place else ''}{message}.")


def request_id_in(body: bytes) -> str | None:
    """The request id that a body names which is otherwise of no use; None where there is none to be found."""
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        return None
    request_id = document.get("request_id") if isinstance(document, dict) else None
    usable = isinstance(request_id, str) and _REQUEST_ID.fullmatch(request_id) is not None
    return request_id if usable else None
