"""The mock model's routes: OpenAI's, health, live control. Knows HTTP; must not know how a behaviour is drawn."""

import itertools
import time
from collections.abc import Callable
from http import HTTPStatus
from typing import Final, TypeVar

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, ValidationError
from starlette.exceptions import HTTPException

from mock_model.answering import Answer, StreamedAnswer, WholeAnswer
from mock_model.asking import RefusedError, asked_of
from mock_model.behaviour import AT_REST, Disturbance, fate, service
from mock_model.floor import Floor
from mock_model.settings import Settings
from mock_model.shapes import ChatRequest, Completion, error_object, validation_error

MOST_BODY_BYTES: Final = 4_194_304
Body = TypeVar("Body", bound=BaseModel)


class MockModel:
    """One model: its settings, its floor and how it misbehaves now. The disturbance is replaced whole, never edited."""

    def __init__(self, settings: Settings, floor: Floor, wall_clock: Callable[[], float] = time.time) -> None:
        """At rest until told otherwise; `wall_clock` gives unix seconds."""
        self.settings = settings
        self.floor = floor
        self.disturbance = AT_REST
        self.failed_count = 0
        self.started_at = int(wall_clock())
        self._wall_clock = wall_clock
        self._numbers = itertools.count(1)

    def answer(self, chat: ChatRequest, headers: dict[str, str]) -> Answer:
        """Decides all of an answer.

        Raises:
            RefusedError: the request is refused, or is to fail.
        """
        names = self.settings.model_names
        if chat.model not in names:
            text = f"The model {chat.model[:80]!r} does not exist; this server has {', '.join(map(repr, names))}"
            raise RefusedError(404, error_object(404, text, param="model", code="model_not_found"))
        asked = asked_of(chat, headers, f"unnamed-{next(self._numbers)}")
        felt = self.disturbance.within(asked.job_class)
        decided = fate(self.settings.seed, asked, felt)
        if decided == "failed":
            self.failed_count += 1
            raise RefusedError(felt.status, error_object(felt.status, "the model was told to fail this request"))
        given = service(self.settings.seed, asked).slowed(felt.slow_factor)
        completion = Completion(
            id=f"chatcmpl-{asked.request_id}",
            created=int(self._wall_clock()),
            model=chat.model,
            prompt_tokens=chat.prompt_tokens,
            completion_tokens=given.tokens,
            finish_reason="stop",
            with_usage=chat.wants_usage,
        )
        return Answer(completion, given, decided == "stalled", asked.request_id)

    def state(self) -> dict[str, object]:
        """The live control's view: the disturbance, whether it is none, and the counts."""
        return {
            **self.disturbance.model_dump(mode="json"),
            "at_rest": self.disturbance == AT_REST,
            "in_flight": self.floor.in_flight_count,
            "waiting": self.floor.waiting_count,
            "served": self.floor.served_count,
            "cancelled": self.floor.cancelled_count,
            "failed": self.failed_count,
        }


def create_app(model: MockModel) -> FastAPI:
    """The routes of one model."""
    app = FastAPI(openapi_url=None)

    @app.exception_handler(RefusedError)
    async def refused(_request: Request, error: RefusedError) -> JSONResponse:
        return JSONResponse(error.body, error.status)

    @app.exception_handler(HTTPException)
    async def unrouted(request: Request, error: HTTPException) -> JSONResponse:
        text = f"{request.method} {request.url.path[:100]}: {HTTPStatus(error.status_code).phrase}"
        return JSONResponse(error_object(error.status_code, text), error.status_code)

    _add_openai_routes(app, model)
    _add_control_routes(app, model)
    return app


def _add_openai_routes(app: FastAPI, model: MockModel) -> None:
    listed = [
        {"id": name, "object": "model", "created": model.started_at, "owned_by": "lab"}
        for name in model.settings.model_names
    ]

    @app.post("/v1/chat/completions", response_model=None)
    async def chat_completions(request: Request) -> Response:
        chat = await _body(request, ChatRequest)
        answer = model.answer(chat, dict(request.headers))
        return StreamedAnswer(answer, model.floor) if chat.stream else WholeAnswer(answer, model.floor)

    @app.get("/v1/models")
    async def models() -> JSONResponse:
        return JSONResponse({"object": "list", "data": listed})

    @app.get("/health")
    async def health() -> JSONResponse:
        return JSONResponse({"status": "ok"})


def _add_control_routes(app: FastAPI, model: MockModel) -> None:
    @app.get("/admin/config")
    async def read() -> JSONResponse:
        return JSONResponse(model.state())

    @app.post("/admin/config")
    async def disturb(request: Request) -> JSONResponse:
        model.disturbance = await _body(request, Disturbance)
        return JSONResponse(model.state())

    @app.post("/admin/reset")
    async def reset() -> JSONResponse:
        model.disturbance = AT_REST
        return JSONResponse(model.state())


async def _body(request: Request, kind: type[Body]) -> Body:
    content = b""
    async for piece in request.stream():
        content += piece
        if len(content) > MOST_BODY_BYTES:
            text = f"the body has more than {MOST_BODY_BYTES} bytes"
            raise RefusedError(413, error_object(413, text, code="too_large"))
    try:
        return kind.model_validate_json(content)
    except ValidationError as error:
        raise RefusedError(400, validation_error(error)) from None
