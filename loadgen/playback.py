"""Drives one run of a schedule, open loop: a greenlet for each request, started when it is due whatever the others do.

Knows gevent, a client and where the record goes; must not know Locust's runner or HTTP.
"""

import time
from collections.abc import Sequence
from typing import TextIO

from gevent import Timeout
from gevent.event import Event
from gevent.pool import Group

from lab.contract.messages import ScheduledRequest
from loadgen.clients import Client
from loadgen.exchange import Answer, one_line
from loadgen.pacing import Pacing
from loadgen.recorder import Recorder


class RecordError(Exception):
    """The record cannot be written any more; the text says why."""


class Playback:
    """One run of a schedule. Its clock is the monotonic one, tied once to the wall clock."""

    def __init__(self, schedule: Sequence[ScheduledRequest], client: Client, stream: TextIO, lead_s: float) -> None:
        """`lead_s` passes between the word on `stream` that the schedule starts and its time 0."""
        self._pacing = Pacing(schedule)
        self._client = client
        self._due_count = len(schedule)
        self._stream = stream
        self._lead_s = lead_s
        # A group has no size: no request ever waits for another to end.
        self._outstanding = Group()
        self._stopping = Event()
        self._record_error: OSError | None = None
        self._ended = Event()

    def play(self) -> None:
        """Sends and records every request, waits for the answers, and returns once the record is whole.

        Raises:
            UnreachableError: there is nobody to send to; nothing was recorded.
            RecordError: nobody reads the record, or its disk is full; nothing more was sent.
        """
        try:
            self._client.warm_up()
            self._play()
        finally:
            self._outstanding.kill()
            self._ended.set()

    def stop(self) -> None:
        """Sends no more and returns once the record is whole."""
        self._stopping.set()
        self._ended.wait()

    def _play(self) -> None:
        try:
            self._play_recorded()
        except OSError as error:
            raise RecordError(one_line(error)) from None

    def _play_recorded(self) -> None:
        self._start, start_at = time.monotonic() + self._lead_s, time.time() + self._lead_s
        self._recorder = Recorder(self._stream, start_at, self._due_count)
        self._recorder.start(self._now_s())
        self._send_all()
        if self._record_error is not None:
            raise self._record_error
        for request in self._pacing.take_rest():
            self._recorder.unsent(request, self._now_s())
        # Bounded by the client's time-out, which each request has from its own start.
        self._outstanding.join()
        if self._record_error is not None:
            raise self._record_error
        self._recorder.end(self._now_s())

    def _send_all(self) -> None:
        while (wait_s := self._pacing.wait_s(self._now_s())) is not None:
            if self._stopping.wait(wait_s):
                return
            for request in self._pacing.take_due(self._now_s()):
                self._outstanding.spawn(self._send, request)

    def _send(self, request: ScheduledRequest) -> None:
        sent_s = self._now_s()
        try:
            answer = self._client.request(request, sent_s - request.due_s)
        except (Exception, Timeout) as error:  # noqa: BLE001 - a client that breaks must not take its request out of the record
            answer = Answer(None, error=one_line(error))
        try:
            self._recorder.sent(request, answer, sent_s, self._now_s())
        except OSError as error:
            # Load that nobody counts helps nobody.
            self._record_error = error
            self._stopping.set()

    def _now_s(self) -> float:
        return time.monotonic() - self._start
