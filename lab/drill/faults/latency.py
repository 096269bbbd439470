"""Latency on one link: as one toxic for all latencies that act, since two lose part of their delay in Toxiproxy."""

from functools import partial

from lab.contract.fault_spec import LatencyFault
from lab.contract.overlap import composed_latency
from lab.drill.faults import Target
from lab.drill.faults.acting import Acting
from lab.drill.faults.toxic import ToxicInjector, toxic_attributes
from lab.drill.probes import StackProbe


class LatencyInjector(ToxicInjector):
    """Adds the toxic, or its share to the one that is there; the toxic goes with the last of them.

    The lab's own proxy counts touched connections since the joint toxic began.
    """

    def __init__(
        self, name: str, fault: LatencyFault, stack: Target, probe: StackProbe, acting: Acting | None = None
    ) -> None:
        """Binds the fault to a stack."""
        super().__init__(name, fault, stack, probe, acting)
        self._place = (fault.link, fault.stream)

    async def inject(self) -> None:
        """Acts on live connections too."""
        async with self.acting.lock:
            # Before it is added, so that an interrupted injection is undone under this name.
            joins = self._place in self.acting.toxic_names
            self.acting.toxic_names.setdefault(self._place, self.name)
            self.acting.begin(self.name, self._fault)
            await (self._update() if joins else self._add(composed_latency(self._together())))

    async def revert(self) -> None:
        """Its share is taken away, and read back as gone."""
        async with self.acting.lock:
            self.acting.end(self.name)
            if self._together():
                await self._update()
            else:
                await self._remove()
                self.acting.toxic_names.pop(self._place, None)

    @property
    def toxic_name(self) -> str:
        """The name of the joint toxic: that of the first of them."""
        return self.acting.toxic_names.get(self._place, self.name)

    def _together(self) -> list[LatencyFault]:
        faults = [fault for fault in self.acting.of_kind("latency") if isinstance(fault, LatencyFault)]
        return [fault for fault in faults if (fault.link, fault.stream) == self._place]

    async def _update(self) -> None:
        attributes = toxic_attributes(composed_latency(self._together()))
        update = partial(self.probe.proxy.update_toxic, self._fault.link, self.toxic_name)
        await self._told(partial(update, attributes=attributes))
