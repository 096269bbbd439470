"""A Toxiproxy toxic on one link of the stack."""

import asyncio
from collections.abc import Callable
from functools import partial

from lab.contract.fault_spec import (
    AnyToxic,
    BandwidthFault,
    LatencyFault,
    LimitDataFault,
    ResetPeerFault,
    SlicerFault,
    SlowCloseFault,
)
from lab.drill.faults import BoundTo, FaultError, Target
from lab.drill.faults.acting import Acting
from lab.drill.probes import StackProbe
from lab.drill.toxics_client import ToxiproxyError


class ToxicInjector(BoundTo):
    """Adds the toxic; at revert removes it."""

    def __init__(
        self, name: str, fault: AnyToxic, stack: Target, probe: StackProbe, acting: Acting | None = None
    ) -> None:
        """Binds the fault to a stack."""
        super().__init__(name, stack, probe, acting)
        self._fault = fault

    async def inject(self) -> None:
        """Acts on live connections too."""
        await self._add(self._fault)

    async def revert(self) -> None:
        """Removed, and read back as gone; one that is not there is left alone."""
        await self._remove()

    async def touched_connections(self) -> int | None:
        """Counted by the lab's own proxy; Toxiproxy does not tell, and one that is gone cannot."""
        try:
            return await asyncio.to_thread(self.probe.proxy.touched_connections, self._fault.link, self.toxic_name)
        except ToxiproxyError:
            return None

    @property
    def toxic_name(self) -> str:
        """What the proxy calls it."""
        return self.name

    async def _add(self, fault: AnyToxic) -> None:
        add = partial(self.probe.proxy.add_toxic, fault.link, self.toxic_name, fault.kind)
        attributes = toxic_attributes(fault)
        await self._told(partial(add, stream=fault.stream, toxicity=fault.toxicity, attributes=attributes))

    async def _remove(self) -> None:
        await self._told(partial(self.probe.proxy.remove_toxic, self._fault.link, self.toxic_name))

    async def _told(self, change: Callable[[], None]) -> None:
        try:
            await asyncio.to_thread(change)
        except ToxiproxyError as error:
            raise FaultError(str(error)) from None


def toxic_attributes(fault: AnyToxic) -> dict[str, int]:
    """The toxic's attributes on the wire: whole milliseconds, kilobytes and bytes, microseconds for the slicer."""
    match fault:
        case LatencyFault():
            return {"latency": _ms(fault.latency), "jitter": _ms(fault.jitter)}
        case BandwidthFault():
            return {"rate": fault.rate_kb_per_s}
        case SlowCloseFault():
            return {"delay": _ms(fault.delay)}
        case SlicerFault():
            return {
                "average_size": fault.average_size_bytes,
                "size_variation": fault.size_variation_bytes,
                "delay": round(fault.delay * 1_000_000),
            }
        case LimitDataFault():
            return {"bytes": fault.limit_bytes}
        case ResetPeerFault() | _:
            return {"timeout": _ms(fault.timeout)}


def _ms(seconds: float) -> int:
    return round(seconds * 1000)
