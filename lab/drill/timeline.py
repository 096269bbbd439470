"""Plays the fault timeline of one arm, each fault at its time, and reverts whatever still acts, newest first."""

import asyncio
import time
from collections.abc import Sequence

from lab.contract.fault_spec import AnyFault
from lab.contract.overlap import ROUNDING_S
from lab.drill.faults import FaultError, Injector
from lab.drill.faults.acting import Acting
from lab.drill.faults.registry import fault_name, make_injector
from lab.drill.journal_writer import JournalWriter
from lab.drill.probes import StackProbe
from lab.drill.testbed import Stack


class Timeline:
    """The faults of one arm. `play` may be cancelled at any moment; whoever does then calls `revert_all`."""

    def __init__(self, faults: Sequence[AnyFault], stack: Stack, probe: StackProbe, journal: JournalWriter) -> None:
        """Makes the injectors; nothing acts yet."""
        acting = Acting()
        self._steps = [
            _Step(fault, fault_name(fault, number), make_injector(fault, number, stack, probe, acting))
            for number, fault in enumerate(faults, start=1)
        ]
        self._journal = journal
        self._undo: list[_Step] = []

    async def play(self, start_at: float) -> None:
        """Injects and reverts each fault on time; `start_at` is the schedule's start, in unix seconds.

        Raises:
            FaultError: a fault could not be injected or reverted.
        """
        async with asyncio.TaskGroup() as group:
            for step in self._steps:
                group.create_task(self._play_one(step, start_at))

    async def revert_all(self) -> list[str]:
        """Reverts every fault that still acts, newest first, whichever fail; returns what failed."""
        failures = []
        while self._undo:
            step = self._undo[-1]
            try:
                await self._revert(step, intended_at=time.time())
            except FaultError as error:
                failures.append(f"{step.name} could not be reverted: {error}")
                self._undo.remove(step)
        return failures

    async def _play_one(self, step: "_Step", start_at: float) -> None:
        await _sleep_until(start_at + step.fault.start)
        # What ends at the second at which this begins ends first.
        for other in self._steps:
            begun_before = other.fault.start < step.fault.start
            if begun_before and abs(other.fault.end - step.fault.start) <= ROUNDING_S:
                await other.ended.wait()
        # Registered before it acts, so that an interrupted injection is reverted too.
        self._undo.append(step)
        await self._inject(step, start_at + step.fault.start)
        await _sleep_until(start_at + step.fault.end)
        await self._revert(step, start_at + step.fault.end)

    async def _inject(self, step: "_Step", intended_at: float) -> None:
        try:
            await step.injector.inject()
        except FaultError as error:
            self._write(step, "inject", intended_at, detail=str(error), ok=False)
            raise
        self._write(step, "inject", intended_at)

    async def _revert(self, step: "_Step", intended_at: float) -> None:
        try:
            # Counted before the removal, which takes the count along.
            touched = await step.injector.touched_connections()
            await step.injector.revert()
        except FaultError as error:
            self._write(step, "revert", intended_at, detail=str(error), ok=False)
            raise
        self._undo.remove(step)
        self._write(step, "revert", intended_at, touched=touched)
        step.ended.set()

    def _write(
        self,
        step: "_Step",
        action: str,
        intended_at: float,
        *,
        detail: str = "",
        ok: bool = True,
        touched: int | None = None,
    ) -> None:
        self._journal.write(
            "fault",
            name=step.name,
            kind=step.fault.kind,
            action=action,
            intended_at=intended_at,
            applied_at=time.time(),
            ok=ok,
            detail=detail,
            touched_connections=touched,
        )


class _Step:
    """One fault with its injector."""

    def __init__(self, fault: AnyFault, name: str, injector: Injector) -> None:
        self.fault = fault
        self.name = name
        self.injector = injector
        self.ended = asyncio.Event()


async def _sleep_until(at: float) -> None:
    await asyncio.sleep(max(0.0, at - time.time()))
