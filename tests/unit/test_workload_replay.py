"""Recorded arrivals: what of a CSV is played, when, and what is wrong with one."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lab.contract.workload_spec import ReplayArrivals
from lab.workload.errors import WorkloadError
from lab.workload.replay import ReplayRow, replay_rows

HEADER = "TIMESTAMP,ContextTokens,GeneratedTokens\n"
EVERY_SECOND = "".join(f"{n},10,3\n" for n in range(100))


def rows(
    folder: Path, lines: str, *, duration_s: float = 1000.0, header: str = HEADER, **changes: Any
) -> list[ReplayRow]:
    (folder / "trace.csv").write_text(header + lines, encoding="utf-8")
    arrivals = ReplayArrivals.model_validate({"kind": "replay", "file": "trace.csv", **changes})
    return replay_rows(arrivals, duration_s, folder, np.random.default_rng(3))


def dues(played: list[ReplayRow]) -> list[float]:
    return [row.at_s for row in played]


def test_recorded_times_count_from_the_earliest_whatever_the_order_of_the_lines(tmp_path: Path) -> None:
    played = rows(tmp_path, "12.5,1,2\n10,4808,7\n10,5,6\n")
    assert played == [ReplayRow(0.0, 4808, 7), ReplayRow(0.0, 5, 6), ReplayRow(2.5, 1, 2)]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("2023-11-16 18:17:03.9799600", "2023-11-16 18:17:04.0000000"),
        ("2023-11-16T18:17:03.979960Z", "2023-11-16T19:17:04+01:00"),
        # A summer-time change of many zones: a time without a zone is in UTC on every machine.
        ("2024-03-31 00:59:59.97996", "2024-03-31 01:00:00"),
    ],
    ids=["seven digits", "zones", "no zone"],
)
def test_date_times_are_read_to_the_microsecond(tmp_path: Path, first: str, second: str) -> None:
    assert dues(rows(tmp_path, f"{first},1,1\n{second},1,1\n")) == [0.0, pytest.approx(0.02004, abs=1e-6)]


def test_naive_date_times_do_not_jump_with_the_clocks_of_this_place(tmp_path: Path) -> None:
    night = "".join(f"2024-03-31 0{hour}:00:00,1,1\n" for hour in range(5))
    assert dues(rows(tmp_path, night, duration_s=1e6)) == [3600.0 * hour for hour in range(5)]


def test_a_recording_is_cut_skipped_and_compressed(tmp_path: Path) -> None:
    assert dues(rows(tmp_path, EVERY_SECOND, duration_s=3)) == [0, 1, 2]
    assert dues(rows(tmp_path, EVERY_SECOND, skip="97s")) == [0, 1, 2]
    assert dues(rows(tmp_path, EVERY_SECOND, duration_s=2, time_scale=2)) == [0, 0.5, 1, 1.5]


def test_a_recording_is_thinned_or_thickened_by_the_rate_scale(tmp_path: Path) -> None:
    assert dues(rows(tmp_path, EVERY_SECOND, duration_s=2, rate_scale=2)) == [0, 0, 1, 1]
    assert 25 < len(rows(tmp_path, EVERY_SECOND, rate_scale=0.5)) < 75
    assert 225 < len(rows(tmp_path, EVERY_SECOND, rate_scale=2.5)) < 275


def test_a_call_without_tokens_asks_for_one(tmp_path: Path) -> None:
    assert rows(tmp_path, "0,0,0.0\n") == [ReplayRow(0.0, 1, 1)]


def test_columns_may_have_other_names_and_the_file_a_byte_order_mark(tmp_path: Path) -> None:
    names: dict[str, Any] = {"timestamp_column": "at", "input_tokens_column": "in", "output_tokens_column": "out"}
    assert rows(tmp_path, "9,x,4,5\n", header="\ufeffat,note,in,out\n", **names) == [ReplayRow(0.0, 4, 5)]


@pytest.mark.parametrize(
    "line", ["noon,2,3", "nan,2,3", "1,2", "1,many,3", "1,2,-3", "1,2,99999999999", "inf,1,1", ",,"]
)
def test_a_bad_line_is_named_with_what_would_be_right(tmp_path: Path, line: str) -> None:
    with pytest.raises(WorkloadError, match=r"trace.csv:3: .* are not a timestamp \(seconds or an ISO date-time\) and"):
        rows(tmp_path, f"1,2,3\n{line}\n")


def test_a_missing_column_is_named_with_those_there_are(tmp_path: Path) -> None:
    with pytest.raises(WorkloadError, match=r"trace.csv:1: has no column 'when'; it has TIMESTAMP, Context"):
        rows(tmp_path, "1,2,3\n", timestamp_column="when")
    with pytest.raises(WorkloadError, match=r"trace.csv:1: has no column 'TIMESTAMP'; it has none"):
        rows(tmp_path, "", header="")


@pytest.mark.parametrize("name", ["nowhere.csv", "."])
def test_a_file_that_cannot_be_read_is_one_sentence(tmp_path: Path, name: str) -> None:
    with pytest.raises(WorkloadError, match="cannot be read as a CSV"):
        rows(tmp_path, "1,2,3\n", file=name)


def test_a_rate_scale_far_too_high_is_refused_before_it_is_played_out(tmp_path: Path) -> None:
    with pytest.raises(WorkloadError, match="more than 1,000,000 requests are due; lower rate_scale"):
        rows(tmp_path, EVERY_SECOND, rate_scale=1e12)
