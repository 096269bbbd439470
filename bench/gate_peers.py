"""What the gate is measured against: `python -m bench.gate_peers echo|textbook PORT REDIS_URL`.

Both are served as the gate is. The echo parses the same body and answers with as many bytes as the gate's 202. The
textbook gate looks at the oldest entry and then adds its own: two round trips, and a burst overshoots between them.
"""

import sys
import time
from collections.abc import Awaitable, Callable
from uuid import uuid4

import uvicorn
from fastapi import FastAPI, Request, Response
from redis.asyncio import Redis

from gate.body import JOB_REQUEST
from gate.listening import listen, server_config
from gate.plain_answers import JOBS_PATH
from lab.contract import names
from lab.contract.messages import JobAccepted

MAX_AGE_S = 60.0


def echo() -> FastAPI:
    """Parses the body, decides nothing."""
    accepted = JobAccepted(
        id=uuid4().hex, request_id="r-0000000", created_at=1.7e9 + 0.123456, deadline_at=1.7e9 + 30.5
    )
    said = accepted.model_dump_json()

    async def post_job(http: Request) -> Response:
        JOB_REQUEST.validate_json(await http.body())
        return Response(said, 202, media_type="application/json")

    return _served(post_job)


def textbook(redis: Redis) -> FastAPI:
    """Sheds where the oldest entry is older than MAX_AGE_S, else adds the job."""

    async def post_job(http: Request) -> Response:
        request = JOB_REQUEST.validate_json(await http.body())
        oldest = await redis.xrange(names.STREAM, count=1)
        age_s = time.time() - int(str(oldest[0][0]).partition("-")[0]) / 1000 if oldest else 0.0
        if age_s > MAX_AGE_S:
            return Response('{"error":"shed"}', 429, {"Retry-After": "1"}, media_type="application/json")
        now_at, job_id = time.time(), uuid4().hex
        await redis.xadd(names.STREAM, {names.FIELD_JOB: request.model_dump_json()})
        accepted = JobAccepted(
            id=job_id, request_id=request.request_id, created_at=now_at, deadline_at=now_at + request.deadline_s
        )
        return Response(accepted.model_dump_json(), 202, media_type="application/json")

    return _served(post_job)


def _served(post_job: Callable[[Request], Awaitable[Response]]) -> FastAPI:
    app = FastAPI(openapi_url=None)
    app.add_api_route(JOBS_PATH, post_job, methods=["POST"])
    return app


def main(which: str, port: str, redis_url: str) -> None:
    """Serves until it is ended."""
    app = echo() if which == "echo" else textbook(Redis.from_url(redis_url, decode_responses=True))
    uvicorn.Server(server_config(app)).run(sockets=[listen("127.0.0.1", int(port))])


if __name__ == "__main__":
    main(*sys.argv[1:])
