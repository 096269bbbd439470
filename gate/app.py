"""The gate's routes. Each turns HTTP into a call of the admission core or the stream, and back."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from typing import Any

from fastapi import FastAPI, Request, Response
from starlette.exceptions import HTTPException

from gate.admission import Admission
from gate.answers import decided_answer
from gate.body import JOB_REQUEST, parse_body, read_body, request_id_in
from gate.events import EventWriter
from gate.metrics import GateMetrics
from gate.plain_answers import JOBS_PATH, job_answer, json_answer, refused_answer
from gate.refused import RefusedError, queue_unreachable
from gate.script import QueueUnreachableError
from gate.service_reader import ServiceReader
from gate.stream import JobStream
from gate.waiting import ActivePolicy
from gate.without_queue import WithoutQueue
from lab.contract.names import HEADER_RETRY_COUNT, REASON_QUEUE_UNREACHABLE
from lab.contract.policy_spec import POLICY_ADAPTER

logger = logging.getLogger(__name__)

METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"
LONGEST_COUNT = 9
INTERNAL_ERROR = "Something in the gate went wrong; its log says what."


@dataclass(frozen=True, slots=True)
class Gate:
    """The parts of one gate that its routes call."""

    admission: Admission
    stream: JobStream
    events: EventWriter
    metrics: GateMetrics
    without_queue: WithoutQueue


def create_app(gate: Gate) -> FastAPI:
    """The gate as an ASGI application, with the admission core and the reader running as long as it serves."""
    admission, stream = gate.admission, gate.stream
    reader = ServiceReader(stream, admission, gate.events)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        tasks = [asyncio.create_task(admission.run()), asyncio.create_task(reader.run())]
        yield
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        await stream.close()

    app = FastAPI(lifespan=lifespan, openapi_url=None)
    app.add_exception_handler(RefusedError, _on_refused)
    app.add_exception_handler(HTTPException, _on_http_exception)
    app.add_exception_handler(Exception, _on_exception)
    app.add_api_route(JOBS_PATH, _post_job(gate), methods=["POST"])
    app.add_api_route(JOBS_PATH + "/{job_id}", _get_job(stream), methods=["GET"])
    app.add_api_route("/admin/policy", _put_policy(admission), methods=["PUT"])
    app.add_api_route("/admin/policy", _get_policy(admission), methods=["GET"])
    app.add_api_route("/health", _get_health(admission), methods=["GET"])
    app.add_api_route("/metrics", _get_metrics(gate.metrics), methods=["GET"])
    app.add_api_route("/signals", _get_signals(admission), methods=["GET"])
    return app


def _post_job(gate: Gate) -> Callable[[Request], Awaitable[Response]]:
    async def post_job(http: Request) -> Response:
        body, request = b"", None
        try:
            body = await read_body(http)
            request = parse_body(body, JOB_REQUEST)
            gate.metrics.retry(_retry_count(http))
            return decided_answer(request, await gate.admission.admit(request))
        except RefusedError as error:
            refused = error
        except Exception:
            logger.exception("a request failed")
            refused = RefusedError("internal_error", INTERNAL_ERROR)
        if refused.admission_writes_line:
            return refused_answer(refused)
        if request is not None and refused.reason == REASON_QUEUE_UNREACHABLE:
            answer = await gate.without_queue.answer(request, body)
            if answer is not None:
                return answer
        request_id = request_id_in(body) if request is None else request.request_id
        gate.events.refusal(gate.admission.now_at(), request_id, refused)
        return refused_answer(refused)

    return post_job


def _retry_count(http: Request) -> int:
    text = http.headers.get(HEADER_RETRY_COUNT, "0")
    return int(text) if text.isascii() and text.isdigit() and len(text) <= LONGEST_COUNT else 0


def _get_job(stream: JobStream) -> Callable[[str], Awaitable[Response]]:
    async def get_job(job_id: str) -> Response:
        try:
            return job_answer(job_id, await stream.job_hash(job_id))
        except QueueUnreachableError:
            raise queue_unreachable() from None

    return get_job


def _put_policy(admission: Admission) -> Callable[[Request], Awaitable[Response]]:
    async def put_policy(http: Request) -> Response:
        spec = parse_body(await read_body(http), POLICY_ADAPTER)
        old = admission.policy
        admission.switch_to(ActivePolicy.of(spec, old.label if spec.kind == old.spec.kind else None))
        logger.warning("policy is now %s in mode %s", spec.kind, spec.mode)
        return json_answer(spec)

    return put_policy


def _get_policy(admission: Admission) -> Callable[[], Awaitable[Response]]:
    async def get_policy() -> Response:
        return json_answer(admission.policy.spec)

    return get_policy


def _get_health(admission: Admission) -> Callable[[], Awaitable[dict[str, Any]]]:
    async def get_health() -> dict[str, Any]:
        # Alive is not the same as able to admit: a gate that sheds or has lost its queue must not be restarted for it.
        return {
            "status": "draining" if admission.draining else "ok",
            "draining": admission.draining,
            "redis": admission.reachable,
            "policy": admission.policy.spec.kind,
            "mode": admission.policy.spec.mode,
        }

    return get_health


def _get_signals(admission: Admission) -> Callable[[], Awaitable[dict[str, Any]]]:
    async def get_signals() -> dict[str, Any]:
        if admission.sighting is None or not admission.reachable:
            raise queue_unreachable()
        return asdict(admission.sighting.snapshot)

    return get_signals


def _get_metrics(metrics: GateMetrics) -> Callable[[], Awaitable[Response]]:
    async def get_metrics() -> Response:
        return Response(metrics.render(), media_type=METRICS_TYPE)

    return get_metrics


async def _on_refused(_: Request, error: Exception) -> Response:
    if not isinstance(error, RefusedError):
        raise error
    return refused_answer(error)


async def _on_http_exception(http: Request, _: Exception) -> Response:
    return refused_answer(RefusedError("not_found", f"There is no {http.method} {http.url.path[:200]!r} here."))


async def _on_exception(_: Request, __: Exception) -> Response:
    return refused_answer(RefusedError("internal_error", INTERNAL_ERROR))
