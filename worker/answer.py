"""A streamed chat completion, read as it comes. Pure: knows the shape of the chunks; must not know a socket or a clock.

An answer is whole when a chunk gave a finish_reason and `data: [DONE]` came after it; anything less is truncated.
"""

import json
from collections.abc import Callable
from typing import Any, Final

MOST_LINE_BYTES: Final = 1_048_576
# Characters of what the model says of its errors.
MOST_SAID: Final = 200
_DATA: Final = b"data:"
_DONE: Final = b"[DONE]"


class AnswerError(Exception):
    """An answer that cannot be used; the sentence says why."""


class AnswerReader:
    """Takes the bytes of one answer in any pieces."""

    def __init__(self, hide: Callable[[str], str] = str) -> None:
        """`hide` takes what is secret out of a text of the model's before it is cut."""
        self._hide = hide
        self._rest = b""
        self._content_chunks = 0
        self._usage_tokens: int | None = None
        self._finish_reason: str | None = None
        self.done = False

    @property
    def has_content(self) -> bool:
        """Whether a first token came."""
        return self._content_chunks > 0

    @property
    def tokens_out(self) -> int:
        """Tokens by the answer's own usage; without one, a token for each chunk that held content."""
        return self._content_chunks if self._usage_tokens is None else self._usage_tokens

    def feed(self, piece: bytes) -> None:
        """Takes the next bytes; what comes after `[DONE]` is left unread.

        Raises:
            AnswerError: a chunk that is no JSON of the right shape, an error in the stream, or a line without end.
        """
        *lines, self._rest = (self._rest + piece).split(b"\n")
        for line in lines:
            if not self.done:
                self._take_line(line)
        if len(self._rest) > MOST_LINE_BYTES:
            raise AnswerError(f"the model sent a line of more than {MOST_LINE_BYTES} bytes")

    def _take_line(self, line: bytes) -> None:
        if not line.startswith(_DATA):
            return
        payload = line[len(_DATA) :].strip()
        if payload != _DONE:
            self._take_chunk(_chunk(payload))
        elif self._finish_reason is None:
            raise AnswerError("the model ended its answer without a finish_reason")
        else:
            self.done = True

    def _take_chunk(self, chunk: dict[str, Any]) -> None:
        if chunk.get("error"):
            raise AnswerError(f"the model sent an error in its stream: {_message(chunk['error'], self._hide)}")
        usage = chunk.get("usage")
        if isinstance(usage, dict) and isinstance(usage.get("completion_tokens"), int):
            self._usage_tokens = max(0, usage["completion_tokens"])
        for choice in chunk.get("choices") or ():
            self._take_choice(choice)

    def _take_choice(self, choice: dict[str, Any]) -> None:
        if (choice.get("delta") or {}).get("content"):
            self._content_chunks += 1
        reason = choice.get("finish_reason")
        if isinstance(reason, str):
            self._finish_reason = reason


def error_message(body: bytes, hide: Callable[[str], str] = str) -> str:
    """What an error answer says, cut: the message of an OpenAI error object, else the start of the body."""
    try:
        return _message(json.loads(body)["error"], hide)
    except (ValueError, RecursionError, KeyError, TypeError):
        return hide(body.decode("utf-8", "replace"))[:MOST_SAID].strip()


def _chunk(payload: bytes) -> dict[str, Any]:
    try:
        chunk = json.loads(payload)
    except (ValueError, RecursionError):
        raise AnswerError("the model sent a chunk that is no JSON") from None
    choices = (chunk.get("choices") or ()) if isinstance(chunk, dict) else None
    if not isinstance(choices, list | tuple) or not all(map(_is_choice, choices)):
        raise AnswerError("the model sent a chunk that is no chat.completion.chunk")
    return dict(chunk)


def _is_choice(choice: object) -> bool:
    return isinstance(choice, dict) and isinstance(choice.get("delta") or {}, dict)


def _message(error: object, hide: Callable[[str], str]) -> str:
    said = error.get("message") if isinstance(error, dict) else error
    # JSON may hold halves of characters that no line of text can.
    return hide(str(said).encode("utf-8", "replace").decode())[:MOST_SAID]
