"""A link refuses connections and drops the open ones: Toxiproxy's disabled proxy."""

import asyncio

from lab.contract.fault_spec import ProxyDownFault
from lab.drill.faults import BoundTo, FaultError, Target
from lab.drill.faults.acting import Acting
from lab.drill.probes import StackProbe
from lab.drill.toxics_client import ToxiproxyError


class ProxyDownInjector(BoundTo):
    """Disables the proxy; enables it once no fault that acts wants it down."""

    def __init__(
        self, name: str, fault: ProxyDownFault, stack: Target, probe: StackProbe, acting: Acting | None = None
    ) -> None:
        """Binds the fault to a stack."""
        super().__init__(name, stack, probe, acting)
        self._fault = fault

    async def inject(self) -> None:
        """From now on refused."""
        async with self.acting.lock:
            self.acting.begin(self.name, self._fault)
            await self._set_enabled(enabled=False)

    async def revert(self) -> None:
        """From now on carried again."""
        async with self.acting.lock:
            self.acting.end(self.name)
            down = [fault for fault in self.acting.of_kind("proxy_down") if isinstance(fault, ProxyDownFault)]
            await self._set_enabled(enabled=all(fault.link != self._fault.link for fault in down))

    async def _set_enabled(self, *, enabled: bool) -> None:
        try:
            await asyncio.to_thread(self.probe.proxy.set_enabled, self._fault.link, enabled)
        except ToxiproxyError as error:
            raise FaultError(str(error)) from None
