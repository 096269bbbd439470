"""Faults: one small file each. An injector knows how to inject and how to revert, and both may be done twice."""

from typing import Protocol

from lab.drill.probes import StackProbe
from lab.drill.testbed import Stack


class FaultError(Exception):
    """A fault that could not be injected or reverted; one sentence."""


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

    def __init__(self, name: str, stack: Stack, probe: StackProbe) -> None:
        """`name` is the fault's own in this drill."""
        self.name = name
        self.stack = stack
        self.probe = probe

    async def touched_connections(self) -> int | None:
        """Nobody counts."""
        return None
