"""Past a queue that does not answer: forwards a request's body to another enqueue endpoint, once, and says what came.

Knows one URL and HTTP/1.1. Must not know Redis, policies or the journal.
"""

import asyncio
import http.client
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Self
from urllib.parse import urlsplit

TIMEOUT_S = 2.0
# Each forwarded request holds a thread; what comes beyond them is not forwarded.
MOST_AT_ONCE = 16
MOST_ANSWER_BYTES = 65_536
ACCEPTED = 202


class BypassCutOffError(Exception):
    """The request was sent and no whole answer came back: the other endpoint may have accepted it."""


@dataclass(frozen=True, slots=True)
class BypassAnswer:
    """What the other endpoint accepted a request with."""

    body: bytes
    location: str | None


class Bypass:
    """The other endpoint, and a thread for each request on its way there; a context, which ends the threads."""

    def __init__(self, url: str) -> None:
        """`url` is where job requests are posted, such as http://edge:8090/v1/jobs; checked by the settings."""
        parts = urlsplit(url)
        self._secure = parts.scheme == "https"
        self._host, self._port = parts.hostname or "", parts.port
        self._path = parts.path or "/"
        # Not the event loop's threads: those are a few per core, and a request that waits for one is not timed.
        self._threads = ThreadPoolExecutor(MOST_AT_ONCE, thread_name_prefix="bypass")
        self._under_way = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._threads.shutdown(cancel_futures=True)

    async def forward(self, body: bytes) -> BypassAnswer | None:
        """The answer where the request was accepted; None where it certainly was not.

        Raises:
            BypassCutOffError: nobody can say whether it was.
        """
        if self._under_way >= MOST_AT_ONCE:
            return None
        self._under_way += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, self._post, body)
        finally:
            self._under_way -= 1

    def _post(self, body: bytes) -> BypassAnswer | None:
        kind = http.client.HTTPSConnection if self._secure else http.client.HTTPConnection
        connection = kind(self._host, self._port, timeout=TIMEOUT_S)
        try:
            connection.connect()
        except OSError:
            connection.close()
            return None
        try:
            return self._exchange(connection, body)
        except (OSError, http.client.HTTPException) as error:
            raise BypassCutOffError(str(error)) from None
        finally:
            connection.close()

    def _exchange(self, connection: http.client.HTTPConnection, body: bytes) -> BypassAnswer | None:
        connection.request("POST", self._path, body, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        if answer.status != ACCEPTED:
            return None
        return BypassAnswer(answer.read(MOST_ANSWER_BYTES), answer.getheader("Location"))
