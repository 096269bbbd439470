"""What a request asks for, by its body and the lab's headers. Pure; must not know what is made of it."""

from typing import Final

from pydantic import TypeAdapter, ValidationError

from lab.contract.messages import Identifier, Label
from lab.contract.names import (
    HEADER_ATTEMPT,
    HEADER_FIRST_TOKEN_US,
    HEADER_JOB_CLASS,
    HEADER_REQUEST_ID,
    HEADER_WORK_US,
)
from mock_model.behaviour import Asked
from mock_model.shapes import ChatRequest, error_object

MOST_WORK_US: Final = 86_400_000_000
MOST_ATTEMPT: Final = 1_000_000
_IDENTIFIER: TypeAdapter[str] = TypeAdapter(Identifier)
_LABEL: TypeAdapter[str] = TypeAdapter(Label)


class RefusedError(Exception):
    """A request that is answered with an error object."""

    def __init__(self, status: int, body: dict[str, object]) -> None:
        super().__init__(status)
        self.status = status
        self.body = body


def asked_of(chat: ChatRequest, headers: dict[str, str], unnamed: str) -> Asked:
    """What a request asks for, by its body and the lab's headers; `unnamed` is its id where it brings none.

    Raises:
        RefusedError: a header that cannot be used.
    """
    work_us = _whole_header(headers, HEADER_WORK_US, MOST_WORK_US)
    first_token_us = _whole_header(headers, HEADER_FIRST_TOKEN_US, MOST_WORK_US)
    if work_us is not None and first_token_us is not None and first_token_us > work_us:
        raise _bad_header(HEADER_FIRST_TOKEN_US, f"it must not be above {HEADER_WORK_US}")
    attempt = _whole_header(headers, HEADER_ATTEMPT, MOST_ATTEMPT)
    return Asked(
        request_id=_named_header(headers, HEADER_REQUEST_ID, _IDENTIFIER, unnamed),
        attempt=1 if attempt is None else attempt,
        job_class=_named_header(headers, HEADER_JOB_CLASS, _LABEL, "default"),
        max_tokens=chat.most_tokens,
        work_s=None if work_us is None else work_us / 1e6,
        first_token_s=None if first_token_us is None else first_token_us / 1e6,
    )


def _whole_header(headers: dict[str, str], name: str, most: int) -> int | None:
    text = headers.get(name)
    if text is None:
        return None
    if not (text.isascii() and text.isdigit() and len(text) <= len(str(most)) and int(text) <= most):
        raise _bad_header(name, f"it must be a whole number from 0 to {most}")
    return int(text)


def _named_header(headers: dict[str, str], name: str, kind: TypeAdapter[str], missing: str) -> str:
    try:
        return kind.validate_python(headers.get(name, missing))
    except ValidationError:
        raise _bad_header(name, "it must be a short name of letters, digits, dashes and underscores") from None


def _bad_header(name: str, rule: str) -> RefusedError:
    return RefusedError(400, error_object(400, f"header {name}: {rule}", param=name, code="invalid_value"))
