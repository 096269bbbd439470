"""The worker's only HTTP: one streamed chat completion is one attempt. Knows the model's door; must not know Redis.

httpx makes no retries here: attempts belong to the worker, or retries would multiply unseen.
"""

import asyncio
import ssl
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal

import httpx

from lab.contract.messages import Job
from worker.answer import AnswerError, AnswerReader, error_message
from worker.asking import request_body, request_headers
from worker.endpoint import endpoint_of
from worker.secrecy import hiding
from worker.settings import Settings

# Below the keep-alive of common servers, so that a connection is not used just as the other side closes it.
KEEPALIVE_EXPIRY_S: Final = 3.0
# After [DONE] the body's end is awaited this long, since only a finished body lets the connection be used again.
END_OF_BODY_S: Final = 0.5
MOST_ERROR_BYTES: Final = 65_536
# The answers that the official OpenAI client retries; the same question again cannot mend the other 4xx.
RETRIED_4XX: Final = frozenset({408, 409, 429})
SERVER_ERROR: Final = 500

Result = Literal["ok", "timeout", "error"]


@dataclass(frozen=True, slots=True)
class Attempt:
    """One call of the model. `started_at`, `first_token_at` and `ended_at` are monotonic seconds."""

    result: Result
    started_at: float
    first_token_at: float | None
    ended_at: float
    tokens_out: int
    status: int | None
    detail: str

    @property
    def endpoint_latency_s(self) -> float:
        """From the call's start to its end."""
        return self.ended_at - self.started_at

    @property
    def ttft_s(self) -> float | None:
        """From the call's start to the first content."""
        return None if self.first_token_at is None else self.first_token_at - self.started_at

    @property
    def may_be_retried(self) -> bool:
        """Whether the same call could fare better."""
        refused = self.status is not None and 400 <= self.status < SERVER_ERROR and self.status not in RETRIED_4XX  # noqa: PLR2004 - 4xx
        return self.result != "ok" and not refused


@dataclass(slots=True)
class _Progress:
    """What is known of a call while it runs, so that a time-out can still say how far it came."""

    started_at: float
    reader: AnswerReader
    first_token_at: float | None = None
    done_at: float | None = None
    status: int | None = None

    def ended(self, result: Result, detail: str = "") -> Attempt:
        ended_at = time.monotonic() if self.done_at is None else self.done_at
        tokens = self.reader.tokens_out
        return Attempt(result, self.started_at, self.first_token_at, ended_at, tokens, self.status, detail)


class StatusError(Exception):
    """The model answered with an HTTP error."""


class ModelClient:
    """A pooled client with a connection per slot. Close it with `aclose`."""

    def __init__(self, settings: Settings) -> None:
        """Connects to nothing yet."""
        self._settings = settings
        self._endpoint = endpoint_of(settings.model_url, settings.model_connect)
        self._hide = hiding(settings.model_api_key)
        authorization = {"authorization": f"Bearer {settings.model_api_key}"} if settings.model_api_key else {}
        self._http = httpx.AsyncClient(
            headers={
                "host": self._endpoint.host,
                "content-type": "application/json",
                "accept": "text/event-stream",
                **authorization,
            },
            timeout=httpx.Timeout(None, connect=settings.connect_timeout_s),
            limits=httpx.Limits(
                max_connections=settings.slots,
                max_keepalive_connections=settings.slots,
                keepalive_expiry=KEEPALIVE_EXPIRY_S,
            ),
            verify=_trust(settings.model_ca_file),
            trust_env=False,
        )

    async def aclose(self) -> None:
        """Closes every connection."""
        await self._http.aclose()

    async def call(self, job: Job, attempt: int) -> Attempt:
        """Asks the model once; whatever goes wrong is the attempt's result, never an exception."""
        progress = _Progress(time.monotonic(), AnswerReader(self._hide))
        try:
            await self._stream(job, attempt, progress)
        except TimeoutError:
            return self._timed_out(progress)
        except httpx.ConnectTimeout:
            return progress.ended("timeout", f"no connection within {self._settings.connect_timeout_s:g} s")
        except (AnswerError, StatusError) as error:
            return progress.ended("error", str(error))
        except httpx.HTTPError as error:
            return self._broken(progress, error)
        if not progress.reader.done:
            return progress.ended("error", "the model's answer ended before [DONE]")
        return progress.ended("ok")

    async def _stream(self, job: Job, attempt: int, progress: _Progress) -> None:
        total_at = progress.started_at + self._settings.total_timeout_s
        first_at = min(total_at, progress.started_at + self._settings.first_token_timeout_s)
        body = request_body(job, self._settings.model_name)
        headers = request_headers(job, attempt, lab_headers=self._settings.lab_headers)
        tls_name = {"sni_hostname": self._endpoint.tls_name}
        async with (
            asyncio.timeout_at(first_at) as limit,
            self._http.stream(
                "POST", self._endpoint.url, content=body, headers=headers, extensions=tls_name
            ) as response,
        ):
            progress.status = response.status_code
            if response.status_code != httpx.codes.OK:
                raise StatusError(
                    f"the model answered {response.status_code}: {await _error_text(response, self._hide)}"
                )
            async for piece in response.aiter_bytes():
                if progress.done_at is None:
                    self._take(piece, progress, limit, total_at)

    def _take(self, piece: bytes, progress: _Progress, limit: asyncio.Timeout, total_at: float) -> None:
        now = time.monotonic()
        progress.reader.feed(piece)
        if progress.first_token_at is None and progress.reader.has_content:
            progress.first_token_at = now
            limit.reschedule(total_at)
        if progress.reader.done:
            progress.done_at = now
            limit.reschedule(now + END_OF_BODY_S)

    def _timed_out(self, progress: _Progress) -> Attempt:
        if progress.done_at is not None:
            return progress.ended("ok")
        waited_s = time.monotonic() - progress.started_at
        if waited_s >= self._settings.total_timeout_s:
            return progress.ended("timeout", f"not done within {self._settings.total_timeout_s:g} s")
        return progress.ended("timeout", f"no first token within {self._settings.first_token_timeout_s:g} s")

    def _broken(self, progress: _Progress, error: httpx.HTTPError) -> Attempt:
        if progress.done_at is not None:
            return progress.ended("ok")
        # Hidden before it is cut, since half a key is no longer found.
        return progress.ended("error", self._hide(f"{type(error).__name__}: {error}")[:300])


def _trust(ca_file: str | None) -> ssl.SSLContext | bool:
    return True if ca_file is None else ssl.create_default_context(cafile=ca_file)


async def _error_text(response: httpx.Response, hide: Callable[[str], str]) -> str:
    body = b""
    async for piece in response.aiter_bytes():
        body += piece
        if len(body) > MOST_ERROR_BYTES:
            break
    return error_message(body, hide)
