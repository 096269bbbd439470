"""The edge sends requests past the gate, or to it again, by the testbed."""

from typing import Protocol, runtime_checkable

import httpx

from lab.contract.fault_spec import RouteFault
from lab.contract.names import Route
from lab.drill.faults import BoundTo, FaultError, Target
from lab.drill.faults.acting import Acting
from lab.drill.probes import StackProbe
from lab.drill.testbed import StackError


@runtime_checkable
class Routed(Protocol):
    """A stack that may have an edge; a rehearsal bench need not."""

    async def set_route(self, route: Route) -> None:
        """Switches the route."""


class RouteInjector(BoundTo):
    """Switches to the bypass; to the gate once no route fault acts."""

    def __init__(
        self, name: str, fault: RouteFault, stack: Target, probe: StackProbe, acting: Acting | None = None
    ) -> None:
        """Binds the switch to a stack."""
        super().__init__(name, stack, probe, acting)
        self._fault = fault

    async def inject(self) -> None:
        """Past the gate from the next request on."""
        async with self.acting.lock:
            self.acting.begin(self.name, self._fault)
            await self._switch("bypass")

    async def revert(self) -> None:
        """To the gate again."""
        async with self.acting.lock:
            self.acting.end(self.name)
            await self._switch("bypass" if self.acting.of_kind("route") else "gate")

    async def _switch(self, route: Route) -> None:
        if not isinstance(self.stack, Routed):
            raise FaultError("there is no edge here whose route could be switched")
        try:
            await self.stack.set_route(route)
            told = route if self.stack.addresses.edge_url is None else await self.probe.route()
        except (StackError, httpx.HTTPError) as error:
            raise FaultError(f"the edge's route could not be switched: {error}".strip()) from None
        if told != route:
            raise FaultError(f"the edge was told to take the route {route} and says {told!r}")
