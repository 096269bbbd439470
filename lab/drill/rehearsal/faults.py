"""The faults of a rehearsal as they are kept: one file each, written before the fault acts and again when it has ended.

Pure but for reading and writing these files; `lab.drill.rehearsal.injection` makes them act.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from lab.contract.fault_spec import AnyFault, ModelFault, ProcessFault, ProxyDownFault, ToxicFault
from lab.contract.flags import FAULT_KINDS, FlagError, fault_json, flags_of, read_fault
from lab.contract.overlap import refusal
from lab.drill.faults.registry import fault_name
from lab.drill.rehearsal import RehearsalError
from lab.drill.rehearsal.state import State, read_json, write_json

# What a fault without an end says as its length, since every declared fault has one; it is never waited for.
NO_END = "24h"


@dataclass(frozen=True, slots=True)
class FaultRecord:
    """One fault by hand. Times are unix seconds.

    `injected_at` None: its maker has not come that far; `ends_at` None: it acts until cleared; `reverted_at` None: it
    acts. `workers_before` is how many workers a scale found; `minder` the mark of the process that will end it; `bench`
    what tells the bench from others, None where that could not be had.
    """

    name: str
    number: int
    runtime: str
    fault: dict[str, Any]
    asked_at: float
    ends_at: float | None = None
    injected_at: float | None = None
    reverted_at: float | None = None
    workers_before: int | None = None
    minder: str | None = None
    touched_connections: int | None = None
    failure: str = ""
    bench: str | None = None

    @property
    def declared(self) -> AnyFault:
        """The fault as scenarios declare one."""
        return read_fault(self.fault)

    @property
    def acts(self) -> bool:
        """Whether it may still act."""
        return self.reverted_at is None

    def is_of_another(self, bench: str | None) -> bool:
        """Whether it was done to another bench than this one, as far as both are known."""
        return None not in (self.bench, bench) and self.bench != bench

    def is_over(self, now_at: float) -> bool:
        """Whether it acts past its end, or its maker died before saying that it acts."""
        return self.acts and (self.injected_at is None or (self.ends_at is not None and self.ends_at <= now_at))


def new_record(
    fault: AnyFault,
    number: int,
    runtime: str,
    now_at: float,
    *,
    has_end: bool,
    workers: int | None,
    bench: str | None = None,
) -> FaultRecord:
    """A fault that is about to be injected."""
    return FaultRecord(
        name=fault_name(fault, number),
        number=number,
        runtime=runtime,
        fault=fault_json(fault),
        asked_at=now_at,
        ends_at=now_at + fault.lasts if has_end else None,
        workers_before=workers,
        bench=bench,
    )


def injected(record: FaultRecord, now_at: float) -> FaultRecord:
    """The record once the fault acts; its length counts from then."""
    length_s = None if record.ends_at is None else record.ends_at - record.asked_at
    return replace(record, injected_at=now_at, ends_at=None if length_s is None else now_at + length_s)


def seat_of(fault: AnyFault) -> str | None:
    """What only one fault at a time can sit on, since its revert puts all of it at rest; None where many can."""
    match fault:
        case ModelFault():
            return "the model"
        case ToxicFault():
            return f"{fault.kind} on the link {fault.link}, {fault.stream}"
        case ProxyDownFault():
            return f"the link {fault.link}"
        case ProcessFault(action="scale"):
            return "the number of workers"
        case ProcessFault():
            return f"{fault.service} {fault.index}"
        case _:
            return None


def rival_of(fault: AnyFault, records: Sequence[FaultRecord]) -> FaultRecord | None:
    """The fault that acts on the same seat already, or that a scenario could not declare beside this one."""
    return next((record for record in records if record.acts and _are_rivals(record.declared, fault)), None)


def _are_rivals(one: AnyFault, other: AnyFault) -> bool:
    return seat_of(one) == seat_of(other) is not None or refusal(one, other) is not None


def fault_words(record: FaultRecord) -> str:
    """Such as `latency on model, latency 800ms`; what has its default is left out."""
    flags = {flag.key: flag for flag in flags_of(FAULT_KINDS[record.fault["kind"]], frozenset(("at", "for", "link")))}
    said = [(flags[key], value) for key, value in record.fault.items() if key in flags and value not in (None, [])]
    changed = [f"{flag.key} {_word(value)}" for flag, value in said if str(value) != flag.default]
    link = f" on {record.fault['link']}" if "link" in record.fault else ""
    return ", ".join([f"{record.fault['kind']}{link}", *changed])


def _word(value: object) -> str:
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)


def load_faults(state: State, runtime: str) -> list[FaultRecord]:
    """Every fault recorded of this runtime's bench, oldest first.

    Raises:
        RehearsalError: a file cannot be read.
    """
    files = sorted(state.faults_dir.glob("*.json")) if state.faults_dir.is_dir() else []
    records = [_record(value, path.name) for path in files if (value := read_json(path)) is not None]
    return sorted((record for record in records if record.runtime == runtime), key=lambda record: record.number)


def load_fault(state: State, name: str) -> FaultRecord | None:
    """One fault; None where it is no longer recorded."""
    path = state.faults_dir / f"{name}.json"
    value = read_json(path)
    return None if value is None else _record(value, path.name)


def save_fault(state: State, record: FaultRecord) -> None:
    """Writes one fault. Raises RehearsalError."""
    write_json(state.faults_dir / f"{record.name}.json", asdict(record))


def forget_faults(state: State, records: Sequence[FaultRecord]) -> None:
    """Removes faults that are over from the record."""
    for record in records:
        (state.faults_dir / f"{record.name}.json").unlink(missing_ok=True)


def next_number(state: State) -> int:
    """Above every number recorded, of whichever bench."""
    names = (path.name.partition("-")[0] for path in state.faults_dir.glob("*.json"))
    return 1 + max((int(name) for name in names if name.isdigit()), default=0)


def _record(value: dict[str, Any], name: str) -> FaultRecord:
    try:
        record = FaultRecord(**value)
        read_fault(record.fault)
    except (TypeError, FlagError):
        raise RehearsalError(f"{name} in the rehearsal's faults is not what this version writes; remove it") from None
    return record
