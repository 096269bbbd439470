"""Latency on one link: as one toxic for all latencies that act, since two lose part of their delay in Toxiproxy."""

import asyncio
from collections.abc import Callable

from lab.contract.fault_spec import LatencyFault
from lab.contract.overlap import composed_latency
from lab.drill.faults import BoundTo, FaultError, Target
from lab.drill.faults.acting import Acting
from lab.drill.faults.toxic import toxic_attributes
from lab.drill.probes import StackProbe
from lab.drill.toxics_client import ToxiproxyError


class LatencyInjector(BoundTo):
    """Adds the toxic, or its share to the one that is there; the toxic goes with the last of them."""

    def __init__(
        self, name: str, fault: LatencyFault, stack: Target, probe: StackProbe, acting: Acting | None = None
    ) -> None:
        """Binds the fault to a stack."""
        super().__init__(name, stack, probe, acting)
        self._fault = fault
        self._place = (fault.link, fault.stream)

    async def inject(self) -> None:
        """Acts on live connections too."""
        async with self.acting.lock:
            # Before it is added, so that an interrupted injection is undone under this name.
            joins = self._place in self.acting.toxic_names
            self.acting.toxic_names.setdefault(self._place, self.name)
            self.acting.begin(self.name, self._fault)
            await self._call(self._update if joins else self._add)

    async def revert(self) -> None:
        """Its share is taken away, and read back as gone."""
        async with self.acting.lock:
            self.acting.end(self.name)
            if self._together():
                await self._call(self._update)
            else:
                await self._call(self._remove)
                self.acting.toxic_names.pop(self._place, None)

    async def touched_connections(self) -> int | None:
        """Counted by the lab's own proxy since the joint toxic began; Toxiproxy does not tell."""
        try:
            return await asyncio.to_thread(self.probe.proxy.touched_connections, self._fault.link, self._toxic_name)
        except ToxiproxyError:
            return None

    @property
    def _toxic_name(self) -> str:
        return self.acting.toxic_names.get(self._place, self.name)

    def _together(self) -> list[LatencyFault]:
        faults = [fault for fault in self.acting.of_kind("latency") if isinstance(fault, LatencyFault)]
        return [fault for fault in faults if (fault.link, fault.stream) == self._place]

    def _add(self) -> None:
        fault = composed_latency(self._together())
        self.probe.proxy.add_toxic(
            fault.link,
            self._toxic_name,
            fault.kind,
            stream=fault.stream,
            toxicity=fault.toxicity,
            attributes=toxic_attributes(fault),
        )

    def _update(self) -> None:
        attributes = toxic_attributes(composed_latency(self._together()))
        self.probe.proxy.update_toxic(self._fault.link, self._toxic_name, attributes=attributes)

    def _remove(self) -> None:
        self.probe.proxy.remove_toxic(self._fault.link, self._toxic_name)

    async def _call(self, change: Callable[[], None]) -> None:
        try:
            await asyncio.to_thread(change)
        except ToxiproxyError as error:
            raise FaultError(str(error)) from None
