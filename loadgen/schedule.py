"""Reads a schedule file: one ScheduledRequest a line, by due time. Knows the file; must not know how it is played."""

from collections.abc import Iterable
from pathlib import Path

from pydantic import ValidationError

from lab.contract.messages import ScheduledRequest


class ScheduleError(Exception):
    """A schedule that cannot be played; the sentence names file and line."""


def read_schedule(path: Path) -> tuple[ScheduledRequest, ...]:
    """The requests of a schedule file.

    Raises:
        ScheduleError: the file cannot be read, a line is no request, ids repeat, or due times go back.
    """
    try:
        with path.open(encoding="utf-8") as lines:
            return parse_schedule(lines, str(path))
    except OSError as error:
        raise ScheduleError(f"{path}: cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise ScheduleError(f"{path}: is not UTF-8 text; a schedule is JSON lines in UTF-8") from None


def parse_schedule(lines: Iterable[str], name: str) -> tuple[ScheduledRequest, ...]:
    """The requests on `lines`; `name` stands for the file in the sentence of a ScheduleError."""
    requests: list[ScheduledRequest] = []
    first_line: dict[str, int] = {}
    for number, line in enumerate(lines, start=1):
        request = _parse_line(line, f"{name}:{number}")
        earlier = first_line.setdefault(request.request_id, number)
        if earlier != number:
            raise ScheduleError(f"{name}:{number}: request_id {request.request_id} is that of line {earlier} already")
        if requests and request.due_s < requests[-1].due_s:
            raise ScheduleError(f"{name}:{number}: due_s {request.due_s:g} is before that of the line above")
        requests.append(request)
    return tuple(requests)


def _parse_line(line: str, place: str) -> ScheduledRequest:
    try:
        return ScheduledRequest.model_validate_json(line)
    except ValidationError as error:
        detail = error.errors(include_url=False, include_input=False)[0]
        key = ".".join(str(part) for part in detail["loc"])
        what = f"{key}: {detail['msg']}" if key else detail["msg"]
        raise ScheduleError(f"{place}: is no scheduled request: {what}") from None
