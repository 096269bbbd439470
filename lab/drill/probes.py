"""Looks at a stack from outside: is it up, does it work, is it clean. Each look returns what was read, as evidence."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass, field
from typing import Any

import httpx
import redis.asyncio
from redis.asyncio.retry import Retry
from redis.backoff import ConstantBackoff
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import RedisError

from lab.contract.messages import JobRequest
from lab.contract.names import FIELD_JOB, GROUP, HEARTBEATS_KEY, PROBE_PREFIX, STREAM
from lab.contract.scenario import Scenario
from lab.drill.testbed import Addresses, StackError
from lab.drill.toxics_client import ToxiproxyClient, ToxiproxyError

POLL_S = 0.05
HTTP_TIMEOUT_S = 5.0
PROXY_TIMEOUT_S = 10.0
CLOCK_TOLERANCE_S = 0.05
# A connection from before a fault on Redis is dead, so what is asked over it is asked again over a new one.
REDIS_TRIES = 3


@dataclass(frozen=True, slots=True)
class Check:
    """One thing verified: its name, whether it held, a sentence, and what was read."""

    name: str
    ok: bool
    detail: str
    evidence: dict[str, Any] = field(default_factory=dict)


class StackProbe:
    """Clients of one stack's doors. Close it with `aclose`."""

    def __init__(self, addresses: Addresses) -> None:
        """Nothing is contacted yet."""
        self._addresses = addresses
        # As first read; a switch on the timeline has to put it back.
        self._policy_at_start: dict[str, Any] | None = None
        self.http = httpx.AsyncClient(timeout=HTTP_TIMEOUT_S, trust_env=False)
        self.redis = redis.asyncio.Redis.from_url(
            addresses.redis_url,
            socket_timeout=HTTP_TIMEOUT_S,
            socket_connect_timeout=HTTP_TIMEOUT_S,
            decode_responses=True,
            retry=Retry(ConstantBackoff(POLL_S), REDIS_TRIES, supported_errors=(RedisConnectionError,)),
        )
        self.proxy = ToxiproxyClient(addresses.proxy_host, addresses.proxy_port, PROXY_TIMEOUT_S)

    async def aclose(self) -> None:
        """Closes every client."""
        await self.http.aclose()
        await self.redis.aclose()

    async def wait_until_up(self, workers: int, within_s: float) -> None:
        """Returns when every service answers and the links are made.

        Raises:
            StackError: one did not in time; the sentence names it.
        """
        deadline = time.monotonic() + within_s
        await _until(self._redis_answers, "Redis to answer", deadline)
        await _until(self._proxy_answers, "the proxy to answer", deadline)
        for link, (listen, upstream) in self._addresses.proxied.items():
            await self._proxy_call(self.proxy.point_proxy, link, listen, upstream)
        await _until(lambda: self._is_healthy(self._addresses.model_url), "the model to answer", deadline)
        await _until(lambda: self._reaches_redis(self._addresses.gate_url), "the gate to reach Redis", deadline)
        if (enqueue := self._addresses.enqueue_url) is not None:
            await _until(lambda: self._reaches_redis(enqueue), "the enqueue endpoint to reach Redis", deadline)
        if (edge := self._addresses.edge_url) is not None:
            await _until(lambda: self._is_healthy(edge), "the edge to reach the gate", deadline)
        await _until(lambda: self._workers_beat(workers), f"{workers} workers to send heartbeats", deadline)

    async def check_clock(self) -> Check:
        """Whether this machine's clock and Redis' agree, since due times are ours and the rest is Redis time."""
        before = time.time()
        seconds, microseconds = await self.redis.time()
        after = time.time()
        offset_s = seconds + microseconds / 1e6 - (before + after) / 2
        ok = abs(offset_s) <= CLOCK_TOLERANCE_S + (after - before) / 2
        detail = f"Redis' clock is {offset_s * 1000:+.1f} ms from the load generator's"
        return Check("clock", ok, detail, {"offset_s": offset_s, "round_trip_s": after - before})

    async def check_steady_state(self, scenario: Scenario, within_s: float) -> Check:
        """Sends a job per slot through the whole stack and waits until each has come back: permission to start."""
        names = [f"{PROBE_PREFIX}{number}" for number in range(1, scenario.stack.total_slots + 1)]
        deadline_s = scenario.workload.shortest_deadline_s
        try:
            probes = (self.run_probe(name, deadline_s, self._addresses.gate_url) for name in names)
            async with asyncio.timeout(within_s):
                outcomes = await asyncio.gather(*probes)
        except TimeoutError:
            return Check(
                "steady_state", False, f"not every one of {len(names)} probe jobs came back within {within_s:g} s"
            )
        except httpx.HTTPError as error:
            return Check(
                "steady_state", False, f"a probe job could not be sent: {type(error).__name__} {error}".strip()
            )
        # A probe that is late, beside stacks that still come up, went through all the same.
        good = outcomes.count("ok") + outcomes.count("late")
        detail = f"{good} of {len(names)} probe jobs went through the whole stack"
        return Check("steady_state", good == len(names), detail, {"outcomes": outcomes})

    async def check_clean(self) -> Check:
        """Re-reads the stack: no toxic, every proxy enabled, model at rest, stream empty, the first policy in force."""
        left: list[str] = []
        evidence: dict[str, Any] = {}
        try:
            left += await asyncio.to_thread(self.proxy.leftovers)
            evidence["proxies"] = [asdict(proxy) for proxy in (await asyncio.to_thread(self.proxy.proxies)).values()]
            evidence["policy"] = await self._policy()
            evidence["model"] = (await self.http.get(f"{self._addresses.model_url}/admin/config")).json()
            evidence["stream_length"] = await self.redis.xlen(STREAM)
            if self._addresses.edge_url is not None:
                evidence["route"] = await self.route()
            evidence["pending"] = (await self.redis.xpending(STREAM, GROUP))["pending"]
        except (ToxiproxyError, httpx.HTTPError, RedisError, ValueError, KeyError, TypeError) as error:
            return Check(
                "clean_state", False, f"the clean state could not be read: {type(error).__name__}: {error}", evidence
            )
        if self._policy_at_start is None:
            self._policy_at_start = evidence["policy"]
        elif evidence["policy"] != self._policy_at_start:
            left.append(f"the gate has policy {evidence['policy']}, and began with {self._policy_at_start}")
        if not evidence["model"].get("at_rest"):
            left.append("the model is not at rest")
        if evidence.get("route", "gate") != "gate":
            left.append(f"the edge's route is {evidence['route']}, not gate")
        if evidence["stream_length"] or evidence["pending"]:
            left.append(f"the stream holds {evidence['stream_length']} entries, {evidence['pending']} of them pending")
        return Check(
            "clean_state",
            not left,
            "; ".join(left) or "no toxic, every proxy enabled, model at rest, stream empty, policy as at the start",
            evidence,
        )

    async def gate_metrics(self) -> str:
        """The gate's /metrics, as Prometheus text."""
        return (await self.http.get(f"{self._addresses.gate_url}/metrics")).text

    async def entries_left(self) -> list[str]:
        """The job of every entry still in the stream, as its text."""
        entries: Any = await self.redis.xrange(STREAM)
        return [fields.get(FIELD_JOB, "") for _, fields in entries]

    async def empty_stream(self) -> None:
        """Drops every entry and all that is pending; no worker may be running."""
        async with self.redis.pipeline(transaction=True) as pipe:
            pipe.delete(STREAM)
            pipe.xgroup_create(STREAM, GROUP, id="0", mkstream=True)
            await pipe.execute()

    async def wait_until_drained(self, deadline: float) -> None:
        """Returns when every admitted job has settled, or at the monotonic `deadline`; a Redis that is away is awaited.

        Raises:
            StackError: Redis does not answer at the deadline.
        """
        while True:
            heed_cancellation()
            try:
                if not await self.redis.xlen(STREAM):
                    return
                away = ""
            except RedisError as error:
                away = f"{type(error).__name__}: {error}"
            if time.monotonic() > deadline:
                break
            await asyncio.sleep(POLL_S)
        if away:
            raise StackError(f"Redis did not answer again before the drain's end ({away[:300]})")

    async def _policy(self) -> dict[str, Any]:
        told: dict[str, Any] = (await self.http.get(f"{self._addresses.gate_url}/admin/policy")).json()
        return told

    async def route(self) -> str:
        """Which route the edge says it takes."""
        return (await self.http.get(f"{self._addresses.edge_url}/route")).text.strip()

    async def run_probe(self, name: str, deadline_s: float, url: str) -> str:
        """Sends a probe job to this way in; its outcome, or what came instead. Raises httpx.HTTPError."""
        body = JobRequest(
            request_id=name,
            job_class="probe",
            deadline_s=deadline_s,
            max_output_tokens=1,
            work_s=0.02,
            first_token_s=0.01,
        )
        answer = await self.http.post(f"{url}/v1/jobs", json=body.model_dump())
        if answer.status_code != httpx.codes.ACCEPTED:
            # A policy may shed the probes of a stack that is still warm; that too is an answer.
            return "shed" if answer.status_code == httpx.codes.TOO_MANY_REQUESTS else f"status {answer.status_code}"
        while True:
            job = (await self.http.get(f"{url}{answer.headers['location']}")).json()
            if job.get("outcome"):
                return str(job["outcome"])
            await asyncio.sleep(POLL_S)

    async def _redis_answers(self) -> bool:
        return bool(await self.redis.ping())

    async def _proxy_answers(self) -> bool:
        return bool(await asyncio.to_thread(self.proxy.version))

    async def _is_healthy(self, url: str) -> bool:
        return (await self.http.get(f"{url}/health")).status_code == httpx.codes.OK

    async def _reaches_redis(self, url: str) -> bool:
        return bool((await self.http.get(f"{url}/health")).json().get("redis"))

    async def _workers_beat(self, workers: int) -> bool:
        return bool(await self.redis.zcard(HEARTBEATS_KEY) >= workers)

    async def _proxy_call(self, call: Callable[..., object], *arguments: object) -> None:
        try:
            await asyncio.to_thread(call, *arguments)
        except ToxiproxyError as error:
            raise StackError(f"the proxy cannot be set up: {error}") from None


def heed_cancellation() -> None:
    """Raises CancelledError where this task was cancelled and did not notice.

    On Python 3.11 `asyncio.wait_for`, under which redis-py sends, can swallow a cancellation; no loop may live on it.
    """
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError


async def _until(look: Callable[[], Awaitable[bool]], awaited: str, deadline: float) -> None:
    reason = ""
    while time.monotonic() < deadline:
        heed_cancellation()
        try:
            if await look():
                return
        except (httpx.HTTPError, RedisError, ToxiproxyError, OSError, ValueError) as error:
            reason = f" ({type(error).__name__}: {error})"
        await asyncio.sleep(POLL_S)
    raise StackError(f"waited too long for {awaited}{reason[:300]}")
