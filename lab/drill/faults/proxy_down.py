"""A link refuses connections and drops the open ones: Toxiproxy's disabled proxy."""

import asyncio

from lab.contract.fault_spec import ProxyDownFault
from lab.drill.faults import BoundTo, FaultError, Target
from lab.drill.probes import StackProbe
from lab.drill.toxics_client import ToxiproxyError


class ProxyDownInjector(BoundTo):
    """Disables the proxy; at revert enables it."""

    def __init__(self, name: str, fault: ProxyDownFault, stack: Target, probe: StackProbe) -> None:
        """Binds the fault to a stack."""
        super().__init__(name, stack, probe)
        self._fault = fault

    async def inject(self) -> None:
        """From now on refused."""
        await self._set_enabled(enabled=False)

    async def revert(self) -> None:
        """From now on carried again."""
        await self._set_enabled(enabled=True)

    async def _set_enabled(self, *, enabled: bool) -> None:
        try:
            await asyncio.to_thread(self.probe.proxy.set_enabled, self._fault.link, enabled)
        except ToxiproxyError as error:
            raise FaultError(str(error)) from None
