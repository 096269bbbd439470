"""Removes from the record what is over: faults that have ended, and all that was done to a bench that is gone."""

import os
from collections.abc import Sequence

from lab.drill.rehearsal.bench import Bench
from lab.drill.rehearsal.faults import FaultRecord, forget_faults, load_faults
from lab.drill.rehearsal.processes import end, process_of
from lab.drill.rehearsal.state import State


def forget_ended(state: State, runtime: str) -> None:
    """A new play begins: what ended before it is no part of its report. Raises RehearsalError."""
    with state.locked():
        forget_faults(state, [record for record in load_faults(state, runtime) if not record.acts])


def forget_all(state: State, runtime: str) -> None:
    """The bench is gone, and with it all that acted on it; the minders go too. Raises RehearsalError."""
    with state.locked():
        records = load_faults(state, runtime)
        forget_faults(state, records)
        _end_minders(records)


def forget_strangers(state: State, bench: Bench) -> list[str]:
    """What was done to a bench that went without `shedlab down`; a sentence for each fault that acted then.

    Raises:
        RehearsalError: the record cannot be read.
    """
    if not _strangers(state, bench):
        return []
    with state.locked():
        return forget_strangers_locked(state, bench)


def forget_strangers_locked(state: State, bench: Bench) -> list[str]:
    """The same; the lock is the caller's."""
    strangers = _strangers(state, bench)
    forget_faults(state, strangers)
    _end_minders(strangers)
    return [f"{record.name} acted on a bench that is gone, and is forgotten" for record in strangers if record.acts]


def _strangers(state: State, bench: Bench) -> list[FaultRecord]:
    known = [record for record in load_faults(state, bench.runtime) if record.bench is not None]
    identity = bench.identity() if known else None
    return [record for record in known if record.is_of_another(identity)]


def _end_minders(records: Sequence[FaultRecord]) -> None:
    minders = [process_of(record.minder) for record in records if record.minder]
    # A minder that finds its fault's bench gone is no other's to end: it goes home.
    end([minder for minder in minders if minder is not None and minder.pid != os.getpid()])
