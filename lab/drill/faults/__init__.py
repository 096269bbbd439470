"""Faults: one small file each. An injector knows how to inject and how to revert, and both may be done twice."""

from typing import Protocol

from lab.contract.fault_spec import ProcessFault
from lab.drill.faults.acting import Acting
from lab.drill.probes import StackProbe
from lab.drill.testbed import Addresses


class FaultError(Exception):
    """A fault that could not be injected or reverted; one sentence."""


class Target(Protocol):
    """What faults need of a stack, whether an arm's or a rehearsal bench's. Its methods raise StackError."""

    addresses: Addresses

    async def inject_process(self, fault: ProcessFault) -> None:
        """Does to a process what the fault says."""

    async def revert_process(self, fault: ProcessFault) -> None:
        """Undoes it; fine to call when nothing was done."""


class Injector(Protocol):
    """One declared fault, bound to one stack."""

    async def inject(self) -> None:
        """Makes the fault act. Raises FaultError."""

    async def revert(self) -> None:
        """Makes the fault stop; fine to call when it never acted. Raises FaultError."""

    async def touched_connections(self) -> int | None:
        """How many connections the fault acted on, None where nobody counts."""


class BoundTo:
    """What every injector is made with."""

    def __init__(self, name: str, stack: Target, probe: StackProbe, acting: Acting | None = None) -> None:
        """`name` is the fault's own in this drill; `acting` is shared by all faults of a stack, none: it is alone."""
        self.name = name
        self.acting = acting or Acting()
        self.stack = stack
        self.probe = probe

    async def touched_connections(self) -> int | None:
        """Nobody counts."""
        return None
