"""The enqueue endpoint's routes. Each turns HTTP into a call of the jobs or the queue, and back."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI, Request, Response
from starlette.exceptions import HTTPException

from gate.body import JOB_REQUEST, parse_body, read_body, request_id_in
from gate.enqueue.jobs import Jobs
from gate.enqueue.queue import EntryQueue
from gate.plain_answers import JOBS_PATH, job_answer, json_answer, refused_answer
from gate.refused import RefusedError, queue_unreachable
from gate.script import QueueUnreachableError

logger = logging.getLogger(__name__)

INTERNAL_ERROR = "Something in the enqueue endpoint went wrong; its log says what."


def create_app(jobs: Jobs, queue: EntryQueue) -> FastAPI:
    """The endpoint as an ASGI application."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        settling = asyncio.create_task(jobs.settle_doubts())
        yield
        settling.cancel()
        await asyncio.wait([settling])
        await queue.close()

    app = FastAPI(lifespan=lifespan, openapi_url=None)
    app.add_exception_handler(HTTPException, _on_http_exception)
    app.add_api_route(JOBS_PATH, _post_job(jobs), methods=["POST"])
    app.add_api_route(JOBS_PATH + "/{job_id}", _get_job(queue), methods=["GET"])
    app.add_api_route("/health", _get_health(queue), methods=["GET"])
    return app


def _post_job(jobs: Jobs) -> Callable[[Request], Awaitable[Response]]:
    async def post_job(http: Request) -> Response:
        body = b""
        try:
            body = await read_body(http)
            accepted = await jobs.enqueue(parse_body(body, JOB_REQUEST))
            return json_answer(accepted, 202, {"Location": f"{JOBS_PATH}/{accepted.id}"})
        except RefusedError as error:
            refused = error
        except Exception:
            logger.exception("a request failed")
            refused = RefusedError("internal_error", INTERNAL_ERROR)
        jobs.refused(request_id_in(body), refused)
        return refused_answer(refused)

    return post_job


def _get_job(queue: EntryQueue) -> Callable[[str], Awaitable[Response]]:
    async def get_job(job_id: str) -> Response:
        try:
            return job_answer(job_id, await queue.job_hash(job_id))
        except QueueUnreachableError:
            return refused_answer(queue_unreachable())
        except RefusedError as refused:
            return refused_answer(refused)

    return get_job


def _get_health(queue: EntryQueue) -> Callable[[], Awaitable[dict[str, Any]]]:
    async def get_health() -> dict[str, Any]:
        # Alive is not the same as able to enqueue; see the gate's.
        return {"status": "ok", "redis": await queue.answers()}

    return get_health


async def _on_http_exception(http: Request, _: Exception) -> Response:
    return refused_answer(RefusedError("not_found", f"There is no {http.method} {http.url.path[:200]!r} here."))
