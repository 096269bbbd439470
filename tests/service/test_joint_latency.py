"""Two latencies on one link delay by their sum, on the lab's own Toxiproxy and on the original."""

import asyncio
import socket
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, cast

import pytest

from lab.contract.fault_spec import LatencyFault
from lab.drill.faults.acting import Acting
from lab.drill.faults.latency import LatencyInjector
from lab.drill.probes import StackProbe
from lab.drill.testbed import Addresses
from lab.drill.toxics_client import ToxiproxyClient
from tests.service.toxiproxy_servers import PROGRAMS, SOCKET_TIMEOUT_S, Proxied, received, toxiproxy_running

if TYPE_CHECKING:
    from lab.drill.faults import Target

# A noisy machine only makes it later, and by less than a latency's half.
LATENCY_S = 0.6
LATE_S = 0.3


@pytest.fixture(params=PROGRAMS)
def link(request: pytest.FixtureRequest) -> Iterator[Proxied]:
    with toxiproxy_running(request.param) as server:
        proxied = Proxied(server, "model")
        yield proxied
        proxied.close()


def delay_s(connection: tuple[socket.socket, socket.socket]) -> float:
    """How long a byte takes from the upstream to the client."""
    client, upstream = connection
    began = time.monotonic()
    upstream.sendall(b"x")
    assert received(client, 1) == b"x"
    return time.monotonic() - began


async def delays_of(link: Proxied) -> list[float]:
    """With none, the first, both, the second alone, and none again, on one connection."""
    probe = StackProbe(Addresses("redis://127.0.0.1:1/0", "", "", "127.0.0.1", link.server.port, {}))
    probe.proxy = ToxiproxyClient("127.0.0.1", link.server.port, SOCKET_TIMEOUT_S)
    acting, connection = Acting(), link.connect()
    fault = LatencyFault.model_validate({"kind": "latency", "at": "0s", "for": "1s", "latency": f"{LATENCY_S}s"})
    one, two = (LatencyInjector(f"{number}-latency", fault, cast("Target", None), probe, acting) for number in (1, 2))
    found = [delay_s(connection)]
    for deed in (one.inject, two.inject, one.revert, two.revert):
        await deed()
        found.append(delay_s(connection))
    assert probe.proxy.leftovers() == []
    await probe.aclose()
    return found


def test_two_latencies_delay_by_their_sum_and_an_end_takes_its_own_away(link: Proxied) -> None:
    declared = [0.0, LATENCY_S, 2 * LATENCY_S, LATENCY_S, 0.0]
    for measured_s, declared_s in zip(asyncio.run(delays_of(link)), declared, strict=True):
        assert declared_s - 0.01 <= measured_s < declared_s + LATE_S
