"""A process of the stack is killed or paused, by the testbed."""

from lab.contract.fault_spec import ProcessFault
from lab.drill.faults import BoundTo, FaultError, Target
from lab.drill.faults.acting import Acting
from lab.drill.probes import StackProbe
from lab.drill.testbed import StackError


class ProcessInjector(BoundTo):
    """Kills or pauses; at revert starts or resumes."""

    def __init__(
        self, name: str, fault: ProcessFault, stack: Target, probe: StackProbe, acting: Acting | None = None
    ) -> None:
        """Binds the fault to a stack."""
        super().__init__(name, stack, probe, acting)
        self._fault = fault

    async def inject(self) -> None:
        """The process is gone, or stands still."""
        try:
            if self._fault.action != "scale":
                await self.stack.inject_process(self._fault)
                return
            async with self.acting.lock:
                self.acting.begin(self.name, self._fault)
                await self.stack.inject_process(self._newest_scale() or self._fault)
        except StackError as error:
            raise FaultError(str(error)) from None

    async def revert(self) -> None:
        """The process runs again."""
        try:
            if self._fault.action != "scale":
                await self.stack.revert_process(self._fault)
                return
            async with self.acting.lock:
                self.acting.end(self.name)
                below = self._newest_scale()
                if below is None:
                    await self.stack.revert_process(self._fault)
                else:
                    await self.stack.inject_process(below)
        except StackError as error:
            raise FaultError(str(error)) from None

    def _newest_scale(self) -> ProcessFault | None:
        faults = [fault for fault in self.acting.of_kind("process") if isinstance(fault, ProcessFault)]
        return faults[-1] if faults else None
