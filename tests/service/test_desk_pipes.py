"""The front desk as a process whose output nobody can take: quiet, or one sentence."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCHEMA = [sys.executable, "-m", "lab", "schema"]


def test_a_reader_that_goes_away_is_no_error() -> None:
    # The schema is longer than Python's buffer, so that writing fails while the command is at it.
    with subprocess.Popen(SCHEMA, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as desk:
        assert desk.stdout is not None
        assert desk.stderr is not None
        desk.stdout.close()
        assert desk.stderr.read() == b""
        assert desk.wait(timeout=60) == 0


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no disk that is always full")
def test_a_full_disk_is_one_sentence_and_exit_code_3() -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(SCHEMA, cwd=ROOT, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60, check=False)
    assert done.returncode == 3
    assert done.stderr == "shedlab: No space left on device; free some space\n"


def test_a_terminal_without_unicode_gets_question_marks(tmp_path: Path) -> None:
    scenario = tmp_path / "café.yaml"
    scenario.write_text("name: 7\n", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "lab", "validate", str(scenario)],
        cwd=ROOT,
        env={"PYTHONIOENCODING": "ascii", "LC_ALL": "C.UTF-8"},
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 2
    assert b"caf?.yaml:1: name: " in done.stderr
