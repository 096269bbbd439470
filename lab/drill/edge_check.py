"""Looks at the edge before the load: does a job come through by each of its routes, and where the load will enter."""

import asyncio

import httpx

from lab.contract.names import PROBE_PREFIX, Route
from lab.drill.probes import Check, StackProbe
from lab.drill.testbed import Addresses, Stack, StackError

WITHIN_S = 15.0
CAME_BACK = ("ok", "late")
ROUTES: tuple[Route, ...] = ("bypass", "gate")


async def check_edge(stack: Stack, probe: StackProbe, deadline_s: float) -> Check:
    """Sends a probe job by every route there is, the gate's last, which stays; `deadline_s` is each job's deadline."""
    told = stack.addresses
    try:
        async with asyncio.timeout(WITHIN_S):
            outcomes = await _outcomes(stack, probe, deadline_s)
    except (TimeoutError, StackError, httpx.HTTPError) as error:
        return Check("edge", ok=False, detail=f"the edge was not passed: {type(error).__name__} {error}".strip())
    said = ", ".join(f"by the route {route}: {outcome}" for route, outcome in outcomes.items())
    ok = all(outcome in CAME_BACK for outcome in outcomes.values())
    return Check("edge", ok, f"{_where(told)}; a probe job {said}", {"outcomes": outcomes, "edge_url": told.edge_url})


async def _outcomes(stack: Stack, probe: StackProbe, deadline_s: float) -> dict[Route, str]:
    edge_url, enqueue_url = stack.addresses.edge_url, stack.addresses.enqueue_url
    if edge_url is None:
        if enqueue_url is None:
            raise StackError("the stack has neither an edge nor an enqueue endpoint")
        return {"bypass": await probe.run_probe(f"{PROBE_PREFIX}bypass", deadline_s, enqueue_url)}
    outcomes: dict[Route, str] = {}
    for route in ROUTES:
        await stack.set_route(route)
        outcomes[route] = await probe.run_probe(f"{PROBE_PREFIX}{route}", deadline_s, edge_url)
    return outcomes


def _where(told: Addresses) -> str:
    if told.edge_url is None:
        return "there is no nginx on PATH, so the load goes straight to the enqueue endpoint, past the gate"
    return "the load goes through nginx to the gate, and past it to the enqueue endpoint when the route is switched"
