"""Makes faults act on the bench and stop, by the drill's own injectors.

A fault is written down before it acts. Whoever comes next, a minder or any verb, ends what is past its end. What is
written of a bench that is gone is never carried over to another.
"""

import asyncio
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import replace

from lab.contract.fault_spec import AnyFault, ProcessFault
from lab.drill.faults import FaultError
from lab.drill.faults.registry import make_injector
from lab.drill.rehearsal import RehearsalError
from lab.drill.rehearsal.bench import Bench
from lab.drill.rehearsal.faults import (
    FaultRecord,
    forget_faults,
    injected,
    load_fault,
    load_faults,
    new_record,
    next_number,
    rival_of,
    save_fault,
)
from lab.drill.rehearsal.forgetting import forget_strangers_locked
from lab.drill.rehearsal.processes import process_of, start_detached
from lab.drill.rehearsal.proof import probe_of
from lab.drill.rehearsal.state import State
from lab.drill.testbed import StackError
from lab.drill.testbed.local import INHERITED
from lab.drill.toxics_client import ToxiproxyError

MINDER_GRACE_S = 2.0
MINDER = "lab.drill.rehearsal.minder"


def add_fault(state: State, bench: Bench, fault: AnyFault, *, has_end: bool) -> FaultRecord:
    """Injects a fault; with an end, a process of its own is there to end it.

    Raises:
        RehearsalError: another acts on the same seat, or it could not be injected; then nothing acts.
    """
    with state.locked():
        records = load_faults(state, bench.runtime)
        _check_is_there(bench, fault)
        if rival := rival_of(fault, records):
            raise RehearsalError(f"{rival.name} acts there already; `shedlab fault clear {rival.name}` first")
        scales = isinstance(fault, ProcessFault) and fault.action == "scale"
        workers = bench.worker_count() if scales else None
        record = new_record(
            *(fault, next_number(state), bench.runtime, time.time()),
            has_end=has_end,
            workers=workers,
            bench=bench.identity(),
        )
        save_fault(state, record)
        try:
            if has_end:
                record = replace(record, minder=_start_minder(state, record))
                save_fault(state, record)
            asyncio.run(_inject(bench, record))
            record = injected(record, time.time())
            save_fault(state, record)
        except (FaultError, StackError, OSError) as error:
            failure = _take_back(state, bench, record)
            raise RehearsalError(f"{record.name} could not be injected: {error}{failure}") from None
    return record


def _check_is_there(bench: Bench, fault: AnyFault) -> None:
    if not isinstance(fault, ProcessFault) or fault.action == "scale" or fault.service == "redis":
        return
    named, there = f"{fault.service}-{fault.index}", bench.sources()
    if named not in there:
        raise RehearsalError(f"the bench has no {named}; it has {', '.join(there)}")


def revert_fault(state: State, bench: Bench, name: str) -> FaultRecord | None:
    """Ends one fault now; returns it as it is recorded then, None where it is not recorded, or of another bench.

    Raises:
        RehearsalError: it could not be reverted, and is still recorded as acting.
    """
    with state.locked():
        forget_strangers_locked(state, bench)
        record = load_fault(state, name)
        return _revert_locked(state, bench, record) if record is not None and record.acts else record


def revert_overdue(state: State, bench: Bench) -> list[str]:
    """Ends what is past its end and what nobody is there to end; a sentence for each that was, or could not be."""
    if not _overdue(state, bench):
        return []
    with state.locked():
        said = forget_strangers_locked(state, bench)
        for record in reversed(_overdue(state, bench)):
            try:
                _revert_locked(state, bench, record)
                why = "was past its end" if record.injected_at else "was left by a command cut short"
                said.append(f"{record.name} {why}, and is reverted now")
            except RehearsalError as error:
                said.append(str(error))
    return said


def _overdue(state: State, bench: Bench) -> list[FaultRecord]:
    """Those past their end, unless a living minder is about to see to it."""
    now_at = time.time()
    over = [record for record in load_faults(state, bench.runtime) if record.is_over(now_at)]
    return [record for record in over if record.is_over(now_at - MINDER_GRACE_S) or not _is_minded(record)]


def _is_minded(record: FaultRecord) -> bool:
    return record.minder is not None and process_of(record.minder) is not None


def clear_faults(state: State, bench: Bench) -> tuple[list[FaultRecord], list[str]]:
    """Ends every fault that acts, newest first, whichever fail; returns those that ended and what failed."""
    reverted, failures = [], []
    with state.locked():
        for record in reversed(load_faults(state, bench.runtime)):
            if record.acts:
                try:
                    reverted.append(_revert_locked(state, bench, record))
                except RehearsalError as error:
                    failures.append(str(error))
    return reverted, failures


def _revert_locked(state: State, bench: Bench, record: FaultRecord) -> FaultRecord:
    """Ends one fault and writes so; the lock is the caller's."""
    try:
        touched = asyncio.run(_revert(bench, record))
    except (FaultError, StackError, ToxiproxyError) as error:
        save_fault(state, replace(record, failure=str(error)))
        raise RehearsalError(f"{record.name} could not be reverted: {error}") from None
    ended = replace(record, reverted_at=time.time(), touched_connections=touched, failure="")
    save_fault(state, ended)
    return ended


def _take_back(state: State, bench: Bench, record: FaultRecord) -> str:
    """After an injection that failed half-way; what never acted is no part of the record."""
    try:
        forget_faults(state, [_revert_locked(state, bench, record)])
    except RehearsalError:
        return "; it may act in part, `shedlab fault clear` tries to end it"
    return ""


async def _inject(bench: Bench, record: FaultRecord) -> None:
    async with probe_of(bench) as probe:
        await make_injector(record.declared, record.number, bench, probe).inject()


async def _revert(bench: Bench, record: FaultRecord) -> int | None:
    """Returns how many connections it touched, counted before the removal takes the count along."""
    fault = record.declared
    if isinstance(fault, ProcessFault) and fault.action == "scale":
        await _scale_back(bench, fault, record.workers_before or 0)
        return None
    async with probe_of(bench) as probe:
        injector = make_injector(fault, record.number, bench, probe)
        touched = await injector.touched_connections()
        await injector.revert()
        return touched


async def _scale_back(bench: Bench, fault: ProcessFault, workers: int) -> None:
    await bench.inject_process(fault.model_copy(update={"replicas": workers}))
    if (there := await asyncio.to_thread(bench.worker_count)) != workers:
        raise StackError(f"there should be {workers} workers again, and there are {there}")


def _start_minder(state: State, record: FaultRecord) -> str:
    """What ends the fault when this command, and the terminal with it, is gone."""
    environment = {name: value for name, value in os.environ.items() if name in _MINDER_NEEDS}
    words = state.root / "minder.err"
    argv = (sys.executable, "-m", MINDER, str(state.reports_root.resolve()), record.name)
    return start_detached(argv, environment, words, words)


# The user's Docker set-up too, which a fault on a container is ended by.
_MINDER_NEEDS = frozenset((*INHERITED, *(name for name in os.environ if name.startswith("DOCKER_")), "XDG_CONFIG_HOME"))


def acting(records: Sequence[FaultRecord]) -> list[FaultRecord]:
    """Those that may still act."""
    return [record for record in records if record.acts]
