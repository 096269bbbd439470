"""A schedule is read whole and refused with file and line."""

from pathlib import Path

import pytest

from loadgen.schedule import ScheduleError, parse_schedule, read_schedule
from tests.unit.test_loadgen_pacing import scheduled


def line(request_id: str, due_s: float) -> str:
    return scheduled(request_id, due_s).model_dump_json() + "\n"


def test_requests_come_in_the_order_of_the_file() -> None:
    requests = parse_schedule([line("a", 0), line("b", 0), line("c", 1.5)], "s")
    assert [(request.request_id, request.due_s) for request in requests] == [("a", 0), ("b", 0), ("c", 1.5)]


def test_a_file_without_lines_is_a_schedule_without_requests(tmp_path: Path) -> None:
    (tmp_path / "s.jsonl").touch()
    assert read_schedule(tmp_path / "s.jsonl") == ()


@pytest.mark.parametrize(
    ("second", "what"),
    [
        ("not json\n", "is no scheduled request"),
        ("\n", "is no scheduled request"),
        ('{"request_id":"b"}\n', "is no scheduled request: due_s"),
        (line("b", 2).replace('"due_s":2.0', '"due_s":-1'), "is no scheduled request: due_s"),
        (line("b", 2).replace("{", '{"extra":1,'), "is no scheduled request: extra"),
        (line("a", 2), "request_id a is that of line 1 already"),
        (line("b", 0.5), "due_s 0.5 is before that of the line above"),
    ],
)
def test_a_line_that_cannot_be_played_is_named(second: str, what: str) -> None:
    with pytest.raises(ScheduleError, match=f"^plan.jsonl:2: {what}"):
        parse_schedule([line("a", 1), second], "plan.jsonl")


def test_a_file_that_cannot_be_read_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(ScheduleError, match="cannot be read: No such file"):
        read_schedule(tmp_path / "none.jsonl")
    with pytest.raises(ScheduleError, match="cannot be read: Is a directory"):
        read_schedule(tmp_path)
    (tmp_path / "s.jsonl").write_bytes(b"\xff\xfe")
    with pytest.raises(ScheduleError, match="is not UTF-8"):
        read_schedule(tmp_path / "s.jsonl")
