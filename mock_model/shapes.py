"""OpenAI's shapes: the request, the answer whole and in chunks, the error object. Pure; must not know slots or time."""

import json
from dataclasses import dataclass
from typing import Annotated, Any, Final

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError

from lab.contract.messages import ErrorDetail, TokenCount

DEFAULT_MAX_TOKENS: Final = 64
DONE: Final = b"data: [DONE]\n\n"
WORD: Final = "lab "
MOST_WORDS: Final = 32
CLIENT_ERRORS_END: Final = 500
# Type and code by status; any other 4xx is an invalid request, any other 5xx a server error.
_ERROR_KINDS: Final[dict[int, tuple[str, str | None]]] = {
    401: ("invalid_request_error", "invalid_api_key"),
    404: ("invalid_request_error", "not_found"),
    429: ("requests", "rate_limit_exceeded"),
    503: ("service_unavailable_error", "server_is_overloaded"),
}


class Asks(BaseModel):
    """A part of a request; what it does not name is accepted without effect, as other stand-ins for OpenAI do."""

    model_config = ConfigDict(extra="ignore", frozen=True)


class ChatMessage(Asks):
    """One message; `content` is a text or a list of parts."""

    role: str
    content: JsonValue = None


class StreamOptions(Asks):
    """What a stream should hold besides the content."""

    include_usage: bool = False


class ChatRequest(Asks):
    """Body of `POST /v1/chat/completions`."""

    model: str
    messages: Annotated[tuple[ChatMessage, ...], Field(min_length=1)]
    max_tokens: TokenCount | None = None
    max_completion_tokens: TokenCount | None = None
    n: Annotated[int, Field(ge=1, le=1)] | None = None
    stream: bool | None = None
    stream_options: StreamOptions | None = None

    @property
    def most_tokens(self) -> int:
        """The tokens asked for, by the newer of the two names first."""
        return self.max_completion_tokens or self.max_tokens or DEFAULT_MAX_TOKENS

    @property
    def wants_usage(self) -> bool:
        """Whether a stream should end with usage."""
        return self.stream_options is not None and self.stream_options.include_usage

    @property
    def prompt_tokens(self) -> int:
        """A token for each word of the messages."""
        return sum(len(text.split()) for message in self.messages for text in _texts(message.content))


@dataclass(frozen=True, slots=True)
class Completion:
    """One answer's constants. `created` is unix seconds."""

    id: str
    created: int
    model: str
    prompt_tokens: int
    completion_tokens: int
    finish_reason: str
    with_usage: bool

    def usage(self) -> dict[str, int]:
        """All the tokens, however few chunks carried them."""
        total = self.prompt_tokens + self.completion_tokens
        return {
            "prompt_tokens": self.prompt_tokens,
            "completion_tokens": self.completion_tokens,
            "total_tokens": total,
        }

    def whole(self) -> dict[str, Any]:
        """The answer to a request that does not stream."""
        message = {"role": "assistant", "content": words(self.completion_tokens), "refusal": None}
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": self.finish_reason}
        return {**self._head("chat.completion"), "choices": [choice], "usage": self.usage()}

    def role_chunk(self) -> bytes:
        """The first chunk: who speaks."""
        return self._chunk({"role": "assistant", "content": "", "refusal": None}, None)

    def content_chunk(self, tokens: int) -> bytes:
        """A chunk of content."""
        return self._chunk({"content": words(tokens)}, None)

    def ending(self) -> bytes:
        """The chunk with the finish reason, the usage where it was asked for, and `[DONE]`."""
        return self._chunk({}, self.finish_reason) + (self._usage_chunk() if self.with_usage else b"") + DONE

    def _head(self, kind: str) -> dict[str, Any]:
        return {"id": self.id, "object": kind, "created": self.created, "model": self.model, "system_fingerprint": None}

    def _chunk(self, delta: dict[str, Any], finish_reason: str | None) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}
        usage = {"usage": None} if self.with_usage else {}
        return event({**self._head("chat.completion.chunk"), "choices": [choice], **usage})

    def _usage_chunk(self) -> bytes:
        return event({**self._head("chat.completion.chunk"), "choices": [], "usage": self.usage()})


def event(said: dict[str, Any]) -> bytes:
    """One server-sent event."""
    return b"data: " + json.dumps(said, separators=(",", ":")).encode() + b"\n\n"


def words(tokens: int) -> str:
    """A word for each token, bounded, so that a large answer costs no more to send than it must."""
    return WORD * min(tokens, MOST_WORDS)


def error_object(status: int, message: str, *, param: str | None = None, code: str | None = None) -> dict[str, Any]:
    """The OpenAI error object of a status; `code` replaces the status' usual one."""
    usual = ("invalid_request_error" if status < CLIENT_ERRORS_END else "server_error", None)
    kind, usual_code = _ERROR_KINDS.get(status, usual)
    detail = ErrorDetail(message=message, type=kind, param=param, code=code or usual_code)
    return {"error": detail.model_dump()}


def validation_error(error: ValidationError) -> dict[str, Any]:
    """The error object of a body that is not what its route takes."""
    first = error.errors(include_url=False, include_input=False)[0]
    param = ".".join(str(part) for part in first["loc"])
    return error_object(400, f"{param or 'the body'}: {first['msg']}"[:300], param=param or None, code="invalid_value")


def _texts(content: JsonValue) -> list[str]:
    if isinstance(content, str):
        return [content]
    parts = content if isinstance(content, list) else []
    texts = [part.get("text") for part in parts if isinstance(part, dict)]
    return [text for text in texts if isinstance(text, str)]
