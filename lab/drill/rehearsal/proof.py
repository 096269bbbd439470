"""Reads a bench again and proves that nothing of any fault is left on it, whoever made it."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator

import httpx

from lab.drill.probes import StackProbe
from lab.drill.rehearsal.bench import Bench
from lab.drill.toxics_client import ToxiproxyError

RUNS_WITHIN_S = 5.0
POLL_S = 0.1


def what_is_left(bench: Bench) -> list[str]:
    """Reads the bench again: a sentence for each toxic, disabled proxy, disturbance, and service that does not run."""
    return asyncio.run(_what_is_left(bench))


async def _what_is_left(bench: Bench) -> list[str]:
    async with probe_of(bench) as probe:
        return [*await _proxies_left(probe), *await _model_left(bench, probe), *await _processes_left(bench)]


async def _proxies_left(probe: StackProbe) -> list[str]:
    try:
        return await asyncio.to_thread(probe.proxy.leftovers)
    except ToxiproxyError as error:
        return [str(error)]


async def _model_left(bench: Bench, probe: StackProbe) -> list[str]:
    try:
        told = (await probe.http.get(f"{bench.addresses.model_url}/admin/config")).json()
    except (httpx.HTTPError, ValueError) as error:
        return [f"the model does not answer: {type(error).__name__}"]
    return [] if told.get("at_rest") else ["the model is not at rest"]


async def _processes_left(bench: Bench) -> list[str]:
    """A service that was just started again is given a moment."""
    deadline = time.monotonic() + RUNS_WITHIN_S
    while left := await asyncio.to_thread(bench.not_running):
        if time.monotonic() > deadline:
            break
        await asyncio.sleep(POLL_S)
    return left


@contextlib.asynccontextmanager
async def probe_of(bench: Bench) -> AsyncIterator[StackProbe]:
    """A probe of this bench, closed afterwards."""
    probe = StackProbe(bench.addresses)
    try:
        yield probe
    finally:
        await probe.aclose()
