"""The record: one event per request, in unix seconds, with counts that add up."""

import io
from typing import Any

from lab.contract.journal import LoadEndEvent, RequestEvent, ScheduleStartEvent, parse_line
from lab.contract.messages import ScheduledRequest
from loadgen.exchange import Answer
from loadgen.recorder import Recorder
from tests.unit.test_loadgen_pacing import scheduled

START_AT = 1_000_000.0
WRITTEN_BY_THE_RUNNER = {"source"}


def request(number: int) -> ScheduledRequest:
    return scheduled(f"r-{number}", due_s=float(number))


def recorded() -> list[dict[str, Any]]:
    """A run of three: answered, never answered, unsent."""
    stream = io.StringIO()
    recorder = Recorder(stream, START_AT, due_count=3)
    recorder.start(-1.0)
    recorder.sent(request(0), Answer(429, reason="queue_age", retry_after_s=1.5), sent_s=0.25, now_s=0.5)
    recorder.sent(request(1), Answer(None, error="reset"), sent_s=1.0, now_s=1.5)
    recorder.unsent(request(2), now_s=1.75)
    recorder.end(2.0)
    events = [parse_line(line) for line in stream.getvalue().splitlines()]
    return [event for event in events if event is not None]


def test_the_start_is_said_ahead_of_time_zero() -> None:
    start = recorded()[0]
    assert start == {"event": "schedule_start", "at": START_AT - 1, "start_at": START_AT, "due_count": 3}
    assert set(start) == set(ScheduleStartEvent.__annotations__) - WRITTEN_BY_THE_RUNNER


def test_an_answered_request_has_due_sent_and_answered_times_and_what_was_said() -> None:
    answered = recorded()[1]
    assert set(answered) == set(RequestEvent.__annotations__) - WRITTEN_BY_THE_RUNNER
    times = {key: answered[key] - START_AT for key in ("at", "due_at", "sent_at", "answered_at")}
    assert times == {"at": 0.5, "due_at": 0.0, "sent_at": 0.25, "answered_at": 0.5}
    assert (answered["status"], answered["reason"], answered["retry_after_s"]) == (429, "queue_age", 1.5)


def test_a_request_never_answered_is_sent_without_status() -> None:
    lost = recorded()[2]
    assert (lost["sent_at"], lost["answered_at"], lost["status"], lost["error"]) == (START_AT + 1, None, None, "reset")


def test_an_unsent_request_keeps_its_due_time() -> None:
    unsent = recorded()[3]
    assert (unsent["due_at"], unsent["sent_at"], unsent["status"]) == (START_AT + 2, None, None)
    assert unsent["error"] == "unsent: the load generator was told to stop"


def test_the_end_counts_every_due_request_as_sent_or_unsent() -> None:
    end = recorded()[4]
    assert set(end) == set(LoadEndEvent.__annotations__) - WRITTEN_BY_THE_RUNNER
    assert (end["due_count"], end["sent_count"], end["answered_count"], end["unsent_count"]) == (3, 2, 1, 1)
