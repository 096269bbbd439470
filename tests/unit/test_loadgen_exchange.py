"""What is sent and how answers are understood."""

import pytest

from lab.contract.messages import ScheduledRequest
from loadgen.exchange import MOST_ERROR_CHARS, Answer, job_request, one_line, read_answer

SCHEDULED = ScheduledRequest(
    request_id="r-7",
    due_s=3.0,
    job_class="chat",
    tenant="acme",
    input_tokens=10,
    output_tokens=20,
    work_s=0.4,
    first_token_s=0.1,
    deadline_s=5.0,
)


def test_the_body_carries_the_declared_job_and_what_is_left_of_its_deadline() -> None:
    body = job_request(SCHEDULED, lag_s=0.25).model_dump()
    assert body == {
        "request_id": "r-7",
        "job_class": "chat",
        "tenant": "acme",
        "user": None,
        "deadline_s": 4.75,
        "input_tokens": 10,
        "max_output_tokens": 20,
        "work_s": 0.4,
        "first_token_s": 0.1,
    }


def test_an_acceptance_names_the_job() -> None:
    assert read_answer(202, b'{"id":"j-1","object":"job"}') == Answer(202, job_id="j-1")


def test_an_acceptance_without_a_job_says_so() -> None:
    assert read_answer(202, b"{}").error == "the 202 names no job"


@pytest.mark.parametrize("status", [400, 429, 500, 503])
def test_a_refusal_gives_its_reason_and_when_to_come_back(status: int) -> None:
    answer = read_answer(status, b'{"error":{},"reason":"queue_age","retry_after_s":2}')
    assert answer == Answer(status, reason="queue_age", retry_after_s=2.0)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>",
        b"[1]",
        b"\xff\xfe",
        b'{"reason":7,"retry_after_s":NaN}',
        b'{"reason":"\\ud800","retry_after_s":true}',
        b'{"reason":"","retry_after_s":"soon"}',
        b"[" * 100_000,
    ],
)
def test_a_body_that_says_nothing_usable_leaves_the_status_alone(body: bytes) -> None:
    assert read_answer(503, body) == Answer(503)


def test_an_error_becomes_one_short_line() -> None:
    line = one_line(OSError("first\nsecond\x00 " + "x" * 1000))
    assert line.startswith("OSError: first second")
    assert len(line) == MOST_ERROR_CHARS
    assert line.isprintable()
