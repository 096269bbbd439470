"""The arm's journal: whole lines only, every line once, and a full disk that does not raise in clean-up."""

import io
from pathlib import Path
from typing import Any

from lab.contract.journal import JOURNAL_NAME, line_of, read_journal
from lab.drill.journal_writer import JournalWriter


def writer(folder: Path) -> tuple[JournalWriter, list[dict[str, Any]]]:
    seen: list[dict[str, Any]] = []
    return JournalWriter(folder, seen.append), seen


def test_a_line_half_written_is_taken_when_it_is_whole(tmp_path: Path) -> None:
    log = tmp_path / "gate.out"
    log.touch()
    journal, seen = writer(tmp_path)
    journal.follow("gate-1", log)
    line = line_of({"event": "signals", "at": 1.0})
    with log.open("a", encoding="utf-8") as output:
        output.write(line[:10])
        output.flush()
        assert journal.collect() == 0
        output.write(line[10:] + line)
    assert journal.collect() == 2
    journal.close()
    assert [event["source"] for event in seen] == ["gate-1", "gate-1"]
    assert list(read_journal(tmp_path / JOURNAL_NAME)) == seen


def test_words_that_are_no_event_are_kept_as_a_log_line(tmp_path: Path) -> None:
    log = tmp_path / "worker.out"
    log.write_text("Segmentation fault\n", encoding="utf-8")
    journal, seen = writer(tmp_path)
    journal.follow("worker-1", log)
    journal.close()
    assert [(event["event"], event["text"]) for event in seen] == [("log", "Segmentation fault")]


def test_the_schedule_start_is_remembered(tmp_path: Path) -> None:
    log = tmp_path / "loadgen.out"
    log.write_text(line_of({"event": "schedule_start", "at": 1.0, "start_at": 12.5, "due_count": 3}), encoding="utf-8")
    journal, _ = writer(tmp_path)
    assert journal.schedule_start_at is None
    journal.follow("loadgen", log)
    journal.close()
    assert journal.schedule_start_at == 12.5


class FullDisk(io.StringIO):
    def write(self, _text: str) -> int:
        raise OSError(28, "No space left on device")


def test_a_full_disk_is_remembered_and_not_raised(tmp_path: Path) -> None:
    journal, seen = writer(tmp_path)
    journal._journal.close()
    journal._journal = FullDisk()  # type: ignore[assignment] # stands in for a file on a full disk
    journal.write("phase", phase="clean_up")
    assert journal.failure is not None
    assert "No space left" in str(journal.failure)
    assert seen[0]["phase"] == "clean_up"
