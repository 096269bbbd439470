"""One line per request on the stream it is given, and the two lines around them. Knows the journal's events, no client.

Times come in as seconds since the schedule's start and go out as unix seconds, so a wall clock that is set in mid-run
moves nothing.
"""

from typing import TextIO

from lab.contract.journal import emit
from lab.contract.messages import ScheduledRequest
from loadgen.exchange import Answer

UNSENT = Answer(None, error="unsent: the load generator was told to stop")


class Recorder:
    """The record of one run of a schedule."""

    def __init__(self, stream: TextIO, start_at: float, due_count: int) -> None:
        """`start_at` is the schedule's time 0 in unix seconds."""
        self._stream = stream
        self._start_at = start_at
        self._due_count = due_count
        self._sent_count = 0
        self._answered_count = 0
        self._unsent_count = 0

    def start(self, now_s: float) -> None:
        """Says when time 0 is."""
        fields = {"start_at": self._start_at, "due_count": self._due_count}
        emit(self._stream, "schedule_start", self._start_at + now_s, **fields)

    def sent(self, request: ScheduledRequest, answer: Answer, sent_s: float, now_s: float) -> None:
        """A request that was sent and is over by now, answered or not."""
        is_answered = answer.status is not None
        self._sent_count += 1
        self._answered_count += is_answered
        self._request(request, answer, now_s, sent_s=sent_s, answered_s=now_s if is_answered else None)

    def unsent(self, request: ScheduledRequest, now_s: float) -> None:
        """A request that will not be sent."""
        self._unsent_count += 1
        self._request(request, UNSENT, now_s, sent_s=None, answered_s=None)

    def end(self, now_s: float) -> None:
        """Says that every request is recorded."""
        counts = {
            "due_count": self._due_count,
            "sent_count": self._sent_count,
            "answered_count": self._answered_count,
            "unsent_count": self._unsent_count,
        }
        emit(self._stream, "load_end", self._start_at + now_s, **counts)

    def _request(
        self, request: ScheduledRequest, answer: Answer, now_s: float, sent_s: float | None, answered_s: float | None
    ) -> None:
        emit(
            self._stream,
            "request",
            self._start_at + now_s,
            request_id=request.request_id,
            job_class=request.job_class,
            due_at=self._start_at + request.due_s,
            sent_at=self._unix(sent_s),
            answered_at=self._unix(answered_s),
            status=answer.status,
            job_id=answer.job_id,
            reason=answer.reason,
            retry_after_s=answer.retry_after_s,
            error=answer.error,
        )

    def _unix(self, elapsed_s: float | None) -> float | None:
        return None if elapsed_s is None else self._start_at + elapsed_s
