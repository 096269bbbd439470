"""How a client behaves: when and how often it sends one scheduled request, and what it gives up.

Knows the gate's routes and the Locust session it is given; must not know the schedule, the clock's start or the record.
"""

from typing import Protocol

import gevent
from locust.contrib.fasthttp import FAILURE_EXCEPTIONS, FastHttpSession

from lab.contract.messages import ScheduledRequest
from lab.contract.names import HEADER_REQUEST_ID
from loadgen.exchange import HTTP_ACCEPTED, Answer, job_request, one_line, read_answer

JOBS_ROUTE = "/v1/jobs"
HEALTH_ROUTE = "/health"
# A shed and a gate that drains or has lost its queue are what a drill is about: answers, no failures of the load.
ANSWERS = frozenset({HTTP_ACCEPTED, 429, 503})


class UnreachableError(Exception):
    """There is no gate to play against; the text says what was met instead."""


class Client(Protocol):
    """A way to behave: one call of `request` is one scheduled request, however often it is sent."""

    def warm_up(self) -> None:
        """Makes the first request no slower than the others.

        Raises:
            UnreachableError: there is nobody to send to.
        """

    def request(self, scheduled: ScheduledRequest, lag_s: float) -> Answer:
        """Sends a request that is `lag_s` late and returns what it got; never raises for what the network does."""


class OnceClient:
    """Sends once, takes any answer, never retries."""

    def __init__(self, session: FastHttpSession, answer_timeout_s: float) -> None:
        """`session` is a Locust user's; it is set up to take every status as an answer and to keep no cookies."""
        self._session = session
        self._answer_timeout_s = answer_timeout_s
        vars(session.client)["valid_response_codes"] = frozenset(range(100, 600))
        session.client.cookiejar = None

    def warm_up(self) -> None:
        """Opens a connection ahead of the schedule, outside Locust's statistics.

        Raises:
            UnreachableError: no answer, whatever its status.
        """
        try:
            with gevent.Timeout(self._answer_timeout_s):
                answer = self._session.client.urlopen(f"{self._session.base_url}{HEALTH_ROUTE}")
                # Reading the body hands the connection back to the pool.
                answer.read()
        except (*FAILURE_EXCEPTIONS, RuntimeError) as error:
            raise UnreachableError(self._why(error)) from None

    def request(self, scheduled: ScheduledRequest, lag_s: float) -> Answer:
        """Posts the job once. Locust's `request` event fires with it."""
        body = job_request(scheduled, lag_s).model_dump_json()
        headers = {"Content-Type": "application/json", HEADER_REQUEST_ID: scheduled.request_id}
        with (
            gevent.Timeout(self._answer_timeout_s),
            self._session.post(JOBS_ROUTE, data=body, headers=headers, catch_response=True) as response,
        ):
            broken = response.request_meta["exception"]
            if broken is not None:
                answer = Answer(None, error=self._why(broken))
            else:
                answer = read_answer(response.status_code, response.content or b"")
            if answer.status in ANSWERS and answer.error is None:
                response.success()
            else:
                response.failure(answer.error or f"status {answer.status}")
        return answer

    def _why(self, broken: BaseException) -> str:
        # What the HTTP client wraps says more than the wrapping, which speaks of retries that there are none of.
        cause = getattr(broken, "original", None) or broken
        # The time-outs of connecting, of each read and of the whole are one value, so any of them may be the first.
        if isinstance(cause, (gevent.Timeout, TimeoutError)):
            return f"no answer within {self._answer_timeout_s:g} s"
        return one_line(cause)
