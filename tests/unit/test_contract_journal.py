"""The journal: what is written is read back, and damage is named with its line."""

import io
import json
import math
from pathlib import Path

import pytest

from lab.contract.journal import JournalError, emit, line_of, parse_line, read_journal


def written(path: Path, *lines: str) -> Path:
    path.write_text("".join(lines), encoding="utf-8")
    return path


def test_an_emitted_event_is_one_line_that_reads_back(tmp_path: Path) -> None:
    stream = io.StringIO()
    emit(stream, "decision", 12.5, reason="queue_age", numbers={"age_s": 1.7}, note="ünï\nline two")
    assert stream.getvalue().count("\n") == 1
    path = written(tmp_path / "journal.jsonl", stream.getvalue())
    expected = {
        "event": "decision",
        "at": 12.5,
        "reason": "queue_age",
        "numbers": {"age_s": 1.7},
        "note": "ünï\nline two",
    }
    assert list(read_journal(path)) == [expected]


def test_events_are_read_in_the_order_written(tmp_path: Path) -> None:
    lines = [line_of({"event": "phase", "at": float(9 - number), "number": number}) for number in range(5)]
    path = written(tmp_path / "journal.jsonl", *lines)
    assert [event["number"] for event in read_journal(path)] == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("number", [math.inf, math.nan])
def test_a_number_that_json_cannot_say_is_refused(number: float) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        line_of({"event": "signals", "at": number})


def test_a_last_line_cut_short_by_a_crash_is_left_out(tmp_path: Path) -> None:
    whole = line_of({"event": "phase", "at": 1.0})
    path = written(tmp_path / "journal.jsonl", whole, whole, whole[:12])
    assert len(list(read_journal(path))) == 2


def test_a_broken_line_in_the_middle_is_named_by_file_and_number(tmp_path: Path) -> None:
    whole = line_of({"event": "phase", "at": 1.0})
    path = written(tmp_path / "journal.jsonl", whole, "{broken\n", whole)
    with pytest.raises(JournalError, match=r"journal\.jsonl:2: this line is not an event; a journal holds one JSON"):
        list(read_journal(path))


def test_a_journal_that_is_not_there_is_an_error_with_its_path(tmp_path: Path) -> None:
    with pytest.raises(JournalError, match=r"journal\.jsonl: cannot be read as a journal: .*No such file"):
        list(read_journal(tmp_path / "journal.jsonl"))


def test_a_journal_that_is_not_text_is_an_error_with_its_path(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    path.write_bytes(b'{"event":"phase","at":1,"x":"\xff"}\n')
    with pytest.raises(JournalError, match="cannot be read as a journal"):
        list(read_journal(path))


@pytest.mark.parametrize(
    "line",
    [
        "",
        "started on port 8000\n",
        "{not json}\n",
        "[1]\n",
        '{"at":1}\n',
        '{"event":"phase"}\n',
        '{"event":1,"at":1}\n',
    ],
)
def test_what_a_library_prints_is_no_event(line: str) -> None:
    assert parse_line(line) is None


def test_an_event_on_a_line_is_read() -> None:
    event = {"event": "heartbeat", "at": 1.5, "worker_id": "worker-1"}
    assert parse_line(json.dumps(event) + "\n") == event
