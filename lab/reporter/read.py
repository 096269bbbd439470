"""One arm's journal as tables, one per kind of event. Knows the journal's fields; judges nothing but their types.

A damaged journal is read up to the damage, so that the report can show what there is and say why it does not count.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import Any

import pandas as pd

from lab.contract.journal import JOURNAL_NAME, JournalError, read_journal
from lab.contract.names import PROBE_PREFIX
from lab.reporter.header import Header, read_header

# Per event the fields that are read, with their type: a text or number that ends in `?` may be null, and one that ends
# in `??` may be missing too, as in journals older than the field.
FIELDS: dict[str, dict[str, str]] = {
    "schedule_start": {"start_at": "number"},
    "phase": {"at": "number", "phase": "text"},
    "request": {
        "request_id": "text",
        "job_class": "text",
        "due_at": "number",
        "sent_at": "number?",
        "status": "number?",
        "job_id": "text?",
        "reason": "text?",
    },
    "decision": {
        "at": "number",
        "request_id": "text",
        "job_id": "text?",
        "decision": "text",
        "would": "text",
        "reason": "text",
        "job_class": "text",
        "mode": "text",
        "est_service_ms": "number??",
        "hard_backoff": "any??",
    },
    "refusal": {"at": "number", "request_id": "text?", "status": "number", "reason": "text"},
    "attempt": {
        "request_id": "text",
        "started_at": "number",
        "ttft_s": "number?",
        "endpoint_latency_s": "number",
    },
    "outcome": {
        "request_id": "text",
        "job_id": "text",
        "outcome": "text",
        "duplicate": "any",
        "job_class": "text",
        "enqueued_at": "number",
        "dequeued_at": "number",
        "deadline_at": "number",
        "first_token_at": "number?",
        "finished_at": "number",
        "slot_s": "number",
    },
    "unfinished": {"request_id": "text", "job_id": "text"},
    "lost": {"request_id": "text", "job_id": "text"},
    "signals": {
        "at": "number",
        "queue_age_s": "number?",
        "queue_depth": "number?",
        "slots": "number?",
        "utilization_ratio": "number?",
    },
    "host": {
        "at": "number",
        "cpu_ratio": "number",
        "other_cpu_cores": "number??",
        "cpu_pressure_ratio": "number??",
    },
    "standstill": {"began_at": "number", "ended_at": "number"},
    "fault": {
        "name": "text",
        "kind": "text",
        "action": "text",
        "intended_at": "number",
        "applied_at": "number",
        "ok": "any",
        "detail": "text",
        "touched_connections": "number?",
    },
    "check": {"at": "number", "name": "text", "ok": "any", "detail": "text", "evidence": "any"},
    "exit": {"at": "number", "service": "text", "code": "number?", "expected": "any"},
    "breakdown": {
        "bring_up_s": "number",
        "waiting_s": "number??",
        "run_s": "number",
        "drain_s": "number",
        "clean_up_s": "number",
    },
}

Tables = dict[str, pd.DataFrame]


@dataclass(frozen=True, slots=True)
class Journal:
    """What could be read of one arm. `header` is None where the first line is no run event; `damage` is a sentence."""

    name: str
    header: Header | None
    tables: Tables
    damage: str | None


def read_arm(folder: Path) -> Journal:
    """Reads `folder`'s journal as far as it is sound. Requests of probes are left out."""
    rows: dict[str, list[tuple[Any, ...]]] = {event: [] for event in FIELDS}
    header, damage = None, None
    try:
        events = read_journal(folder / JOURNAL_NAME)
        header = read_header(next(events, None))
        _collect(events, rows)
    except (JournalError, ValueError) as error:
        damage = _one_line(error)
    try:
        tables = {event: _table(event, rows.pop(event)) for event in FIELDS}
    except ValueError as error:
        damage = damage or _one_line(error)
        tables = {event: _table(event, []) for event in FIELDS}
    return Journal(folder.name, header, tables, damage)


def _collect(events: Iterator[dict[str, Any]], rows: dict[str, list[tuple[Any, ...]]]) -> None:
    pick = {event: _picker(fields) for event, fields in FIELDS.items()}
    # The header is line 1.
    for number, event in enumerate(events, start=2):
        kind = event["event"]
        if kind in rows:
            try:
                rows[kind].append(pick[kind](event))
            except KeyError as error:
                raise JournalError(f"line {number} of the journal: a {kind} event lacks the field {error}") from None


def _picker(fields: dict[str, str]) -> Any:
    names = tuple(fields)
    missing = dict.fromkeys(name for name, kind in fields.items() if kind.endswith("??"))
    if missing:
        pick = itemgetter(*names)
        return lambda event: pick(missing | event)
    # itemgetter of one name gives the bare value, of several a tuple.
    return itemgetter(*names) if len(names) > 1 else lambda event: (event[names[0]],)


def _table(event: str, rows: list[tuple[Any, ...]]) -> pd.DataFrame:
    columns = list(zip(*rows, strict=True)) or [()] * len(FIELDS[event])
    rows.clear()
    table = pd.DataFrame(
        {
            name: _column(f"field {name} of the {event} events", kind, values)
            for (name, kind), values in zip(FIELDS[event].items(), columns, strict=True)
        }
    )
    if event == "signals":
        # What was not known is a hole between what was, and no value.
        return table.dropna().reset_index(drop=True)
    if "request_id" in table:
        table = table[~table["request_id"].map(_is_probe).astype(bool)].reset_index(drop=True)
    return table


def _is_probe(request_id: str | None) -> bool:
    return request_id is not None and request_id.startswith(PROBE_PREFIX)


def _column(place: str, kind: str, values: tuple[Any, ...]) -> pd.Series:
    if kind.startswith("any"):
        return pd.Series(values, dtype=object)
    return _numbers(place, kind, values) if kind.startswith("number") else _texts(place, kind, values)


def _numbers(place: str, kind: str, values: tuple[Any, ...]) -> pd.Series:
    try:
        column = pd.Series(values, dtype="float64")
    except (ValueError, TypeError, OverflowError):
        raise ValueError(f"{place}: holds something that is no number") from None
    if column.abs().eq(math.inf).any() or (kind == "number" and column.isna().any()):
        raise ValueError(f"{place}: holds something that is no finite number")
    return column


def _texts(place: str, kind: str, values: tuple[Any, ...]) -> pd.Series:
    if not all(isinstance(value, str) or (value is None and kind.endswith("?")) for value in values):
        raise ValueError(f"{place}: holds something that is no text")
    return pd.Series(values, dtype=object)


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())
