"""Plays one answer in real time: waits in line, lets the service time pass, sends. Must not know how it was drawn."""

import asyncio
from dataclasses import dataclass
from typing import Final

from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

from lab.contract.names import HEADER_REQUEST_ID
from mock_model.behaviour import Piece, Service, pieces
from mock_model.floor import Floor
from mock_model.shapes import Completion, error_object, event

# A stalled answer outlasts any client's patience, but not forever.
STALL_BOUND_S: Final = 300.0
_STALLED: Final = "the model made no first token"
_CLOSING: Final = "the model is shutting down"


@dataclass(frozen=True, slots=True)
class Answer:
    """All that will be said and when. A stalled one never comes."""

    completion: Completion
    service: Service
    stalled: bool
    request_id: str


class WholeAnswer(Response):
    """The answer in one piece, when all of its time has passed."""

    def __init__(self, answer: Answer, floor: Floor) -> None:
        """Nothing is sent and no slot taken before the response is called."""
        super().__init__()
        self._answer = answer
        self._floor = floor

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers once the time has passed, or not at all where the client left."""
        ended = await self._floor.serve(receive, self._work)
        if ended == "client_left":
            return
        if ended == "closing" or self._answer.stalled:
            response = JSONResponse(error_object(503, _CLOSING if ended == "closing" else _STALLED), 503)
        else:
            response = JSONResponse(self._answer.completion.whole())
        response.headers[HEADER_REQUEST_ID] = self._answer.request_id
        await response(scope, receive, send)

    async def _work(self) -> None:
        await asyncio.sleep(STALL_BOUND_S if self._answer.stalled else self._answer.service.work_s)


class StreamedAnswer(Response):
    """The answer as server-sent events, each when it is due."""

    def __init__(self, answer: Answer, floor: Floor) -> None:
        """Nothing is sent and no slot taken before the response is called."""
        super().__init__(headers={"cache-control": "no-store", HEADER_REQUEST_ID: answer.request_id})
        # Given to the constructor, a text media type would get a charset that OpenAI's has not, and a length.
        del self.headers["content-length"]
        self.headers["content-type"] = "text/event-stream"
        self._answer = answer
        self._floor = floor
        self._started = False

    async def __call__(self, _scope: Scope, receive: Receive, send: Send) -> None:
        """Sends each piece when it is due, until the end or until the client left."""

        async def work() -> None:
            await self._stall(send) if self._answer.stalled else await self._play(send)

        if await self._floor.serve(receive, work) == "closing":
            await self._start(send)
            await _send(send, event(error_object(503, _CLOSING)), last=True)

    async def _play(self, send: Send) -> None:
        began_at = asyncio.get_running_loop().time()
        await self._start(send)
        completion, given = self._answer.completion, self._answer.service
        first, *others = pieces(given)
        await self._say(send, began_at, first, completion.role_chunk())
        for piece in others:
            await self._say(send, began_at, piece)
        await _sleep_until(began_at + given.work_s)
        await _send(send, completion.ending(), last=True)

    async def _say(self, send: Send, began_at: float, piece: Piece, before: bytes = b"") -> None:
        await _sleep_until(began_at + piece.due_s)
        await _send(send, before + self._answer.completion.content_chunk(piece.tokens), last=False)

    async def _stall(self, send: Send) -> None:
        await self._start(send)
        await asyncio.sleep(STALL_BOUND_S)
        await _send(send, event(error_object(503, _STALLED)), last=True)

    async def _start(self, send: Send) -> None:
        if not self._started:
            self._started = True
            await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})


async def _send(send: Send, body: bytes, *, last: bool) -> None:
    await send({"type": "http.response.body", "body": body, "more_body": not last})


async def _sleep_until(at: float) -> None:
    left_s = at - asyncio.get_running_loop().time()
    if left_s > 0:
        await asyncio.sleep(left_s)
