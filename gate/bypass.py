"""Past a queue that does not answer: forwards a request's body to another enqueue endpoint, once, and says what came.

Knows one URL and HTTP/1.1. Must not know Redis, policies or the journal.
"""

import asyncio
import http.client
from dataclasses import dataclass
from urllib.parse import urlsplit

TIMEOUT_S = 2.0
# Each forwarded request holds a thread; what comes beyond them is not forwarded.
MOST_AT_ONCE = 16
MOST_ANSWER_BYTES = 65_536
ACCEPTED = 202


@dataclass(frozen=True, slots=True)
class BypassAnswer:
    """What the other endpoint accepted a request with."""

    body: bytes
    location: str | None


class Bypass:
    """The other endpoint."""

    def __init__(self, url: str) -> None:
        """`url` is where job requests are posted, such as http://edge:8090/v1/jobs; checked by the settings."""
        parts = urlsplit(url)
        self._secure = parts.scheme == "https"
        self._host, self._port = parts.hostname or "", parts.port
        self._path = parts.path or "/"
        self._under_way = 0

    async def forward(self, body: bytes) -> BypassAnswer | None:
        """The answer where the request was accepted; None where it was not, or nobody can say."""
        if self._under_way >= MOST_AT_ONCE:
            return None
        self._under_way += 1
        try:
            return await asyncio.to_thread(self._post, body)
        except (OSError, http.client.HTTPException):
            return None
        finally:
            self._under_way -= 1

    def _post(self, body: bytes) -> BypassAnswer | None:
        kind = http.client.HTTPSConnection if self._secure else http.client.HTTPConnection
        connection = kind(self._host, self._port, timeout=TIMEOUT_S)
        try:
            connection.request("POST", self._path, body, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            text = answer.read(MOST_ANSWER_BYTES)
            return BypassAnswer(text, answer.getheader("Location")) if answer.status == ACCEPTED else None
        finally:
            connection.close()
