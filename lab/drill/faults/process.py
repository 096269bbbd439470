"""A process of the stack is killed or paused, by the testbed."""

from lab.contract.fault_spec import ProcessFault
from lab.drill.faults import BoundTo, FaultError, Target
from lab.drill.probes import StackProbe
from lab.drill.testbed import StackError


class ProcessInjector(BoundTo):
    """Kills or pauses; at revert starts or resumes."""

    def __init__(self, name: str, fault: ProcessFault, stack: Target, probe: StackProbe) -> None:
        """Binds the fault to a stack."""
        super().__init__(name, stack, probe)
        self._fault = fault

    async def inject(self) -> None:
        """The process is gone, or stands still."""
        try:
            await self.stack.inject_process(self._fault)
        except StackError as error:
            raise FaultError(str(error)) from None

    async def revert(self) -> None:
        """The process runs again."""
        try:
            await self.stack.revert_process(self._fault)
        except StackError as error:
            raise FaultError(str(error)) from None
