"""`shedlab fault`: makes a fault act on the live bench, lists what acts, ends it and proves that nothing is left."""

import argparse
import time

from lab.contract.fault_spec import AnyFault
from lab.contract.flags import FAULT_KINDS, flags_of, read_fault
from lab.contract.names import EXIT_COULD_NOT_RUN, EXIT_OK
from lab.desk.errors import DeskError
from lab.desk.rehearsing import bench_that_is_up, plainly, rehearsal_state
from lab.drill.rehearsal import RehearsalError
from lab.drill.rehearsal.bench import Bench
from lab.drill.rehearsal.faults import NO_END, FaultRecord, fault_words, load_faults
from lab.drill.rehearsal.injection import acting, add_fault, clear_faults, revert_fault
from lab.drill.rehearsal.proof import what_is_left
from lab.drill.rehearsal.state import State


def fault(asked: argparse.Namespace) -> int:
    """Carries out add, list or clear.

    Raises:
        DeskError: no bench is up, or it does not do as told.
    """
    with plainly():
        if asked.verb == "add":
            return _add(asked)
        state = rehearsal_state()
        bench = bench_that_is_up(state, asked.runtime)
        return _list(state, bench) if asked.verb == "list" else _clear(state, bench, asked.name)


def fault_asked_for(asked: argparse.Namespace) -> AnyFault:
    """The fault that the flags describe; it starts now. Raises FlagError."""
    flags = flags_of(FAULT_KINDS[asked.kind], frozenset(("at",)))
    said = {flag.key: getattr(asked, flag.key) for flag in flags if getattr(asked, flag.key) is not None}
    return read_fault({"for": NO_END, **said, "kind": asked.kind, "at": "0s"})


def _add(asked: argparse.Namespace) -> int:
    # Wrong words are told before any bench is looked for.
    wanted, has_end = fault_asked_for(asked), getattr(asked, "for") is not None
    state = rehearsal_state()
    record = add_fault(state, bench_that_is_up(state, asked.runtime), wanted, has_end=has_end)
    print(line_of(record, time.time()))
    print(f"end it {'earlier ' if has_end else ''}with: shedlab fault clear {record.name}")
    return EXIT_OK


def _list(state: State, bench: Bench) -> int:
    records = acting(load_faults(state, bench.runtime))
    print("\n".join(line_of(record, time.time()) for record in records) or "no fault acts")
    return EXIT_OK


def _clear(state: State, bench: Bench, name: str | None) -> int:
    if name is not None:
        return _clear_one(state, bench, name)
    reverted, failures = clear_faults(state, bench)
    for record in reverted:
        print(f"reverted {record.name}")
    if left := [*failures, *what_is_left(bench)]:
        raise DeskError("\n".join(f"still there: {sentence}" for sentence in left), EXIT_COULD_NOT_RUN)
    print("nothing is left: no toxic, every proxy enabled, the model at rest, every service runs")
    return EXIT_OK


def _clear_one(state: State, bench: Bench, name: str) -> int:
    names = [record.name for record in acting(load_faults(state, bench.runtime))]
    if name not in names:
        raise RehearsalError(f"no fault {name!r} acts; acting are {', '.join(names) or 'none'}")
    revert_fault(state, bench, name)
    print(f"reverted {name}")
    return EXIT_OK


def line_of(record: FaultRecord, now_at: float) -> str:
    """A fault that acts, in one line."""
    left = "until it is cleared" if record.ends_at is None else f"{max(0.0, record.ends_at - now_at):.0f} s left"
    failed = f"; {record.failure}" if record.failure else ""
    return f"{record.name}: {fault_words(record)}; {left}{failed}"
