"""Reads recorded arrivals from a CSV: timestamp, tokens in, tokens out. The one file that workload reads."""

import csv
import math
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from lab.contract.workload_spec import ReplayArrivals
from lab.workload.arrivals import MAX_REQUESTS
from lab.workload.errors import WorkloadError

# What a message can carry.
MAX_TOKENS = 10_000_000


@dataclass(frozen=True, slots=True)
class ReplayRow:
    """One recorded request; `at_s` counts from the recording's first."""

    at_s: float
    input_tokens: int
    output_tokens: int


def replay_rows(
    arrivals: ReplayArrivals, duration_s: float, base_dir: Path, generator: np.random.Generator
) -> list[ReplayRow]:
    """The recording cut, compressed and thinned as declared, in time order; `at_s` are due times.

    Raises:
        WorkloadError: the file cannot be read, or a line of it is not what the header says.
    """
    rows = sorted(_read(base_dir / arrivals.file, arrivals), key=lambda row: row.at_s)
    if not rows:
        return []
    first = rows[0].at_s + arrivals.skip
    played = [
        ReplayRow((row.at_s - first) / arrivals.time_scale, row.input_tokens, row.output_tokens)
        for row in rows
        if row.at_s >= first
    ]
    kept = [row for row in played if row.at_s < duration_s]
    copies = _copies(len(kept), arrivals.rate_scale, generator)
    return [row for row, count in zip(kept, copies, strict=True) for _ in range(count)]


def _copies(count: int, rate_scale: float, generator: np.random.Generator) -> list[int]:
    """How often each request is played: the whole part of the scale, and one more with its fraction as probability."""
    if count * rate_scale > 2 * MAX_REQUESTS:
        raise WorkloadError(f"more than {MAX_REQUESTS:,} requests are due; lower rate_scale or the duration")
    whole, fraction = divmod(rate_scale, 1)
    more: list[int] = (generator.random(count) < fraction).astype(int).tolist()
    return [int(whole) + extra for extra in more]


def _read(path: Path, arrivals: ReplayArrivals) -> list[ReplayRow]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            return list(_rows(csv.DictReader(file), path, arrivals))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise WorkloadError(f"{path}: cannot be read as a CSV: {error}") from None


def _rows(reader: "csv.DictReader[str]", path: Path, arrivals: ReplayArrivals) -> Iterator[ReplayRow]:
    columns = (arrivals.timestamp_column, arrivals.input_tokens_column, arrivals.output_tokens_column)
    missing = [column for column in columns if column not in (reader.fieldnames or [])]
    if missing:
        raise WorkloadError(
            f"{path}:1: has no column {missing[0]!r}; it has {', '.join(reader.fieldnames or ['none'])}"
        )
    for row in reader:
        stamp, tokens_in, tokens_out = (row[column] for column in columns)
        try:
            yield ReplayRow(_seconds(stamp), _tokens(tokens_in), _tokens(tokens_out))
        except (TypeError, ValueError, OverflowError):
            raise WorkloadError(
                f"{path}:{reader.line_num}: {stamp!r}, {tokens_in!r}, {tokens_out!r} are not a timestamp "
                f"(seconds or an ISO date-time) and two token counts from 0 to {MAX_TOKENS:,}"
            ) from None


def _tokens(text: str) -> int:
    """A token count. A trace may hold calls without output; a request asks for one token at least."""
    count = float(text)
    if not 0 <= count <= MAX_TOKENS:
        raise ValueError(text)
    return max(1, int(count))


def _seconds(stamp: str) -> float:
    """A timestamp in seconds; a date-time without a zone is in UTC, so that every machine plays the same gaps."""
    try:
        seconds = float(stamp)
    except ValueError:
        at = datetime.fromisoformat(stamp.strip())
        return (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()
    if not math.isfinite(seconds):
        raise ValueError(stamp)
    return seconds
