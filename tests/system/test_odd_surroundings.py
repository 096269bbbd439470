"""A drill in surroundings that nobody chose for it: variables, limits and paths that have broken other programs."""

import contextlib
import fcntl
import os
import pty
import re
import shlex
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest

from lab.checker.check import check_run
from tests.system.drills import LATENCY, ROOT, events, report, stack_processes, start, write_drill

pytestmark = [pytest.mark.system, pytest.mark.timeout(180)]

# Nothing listens there, so that a loopback call caught by a proxy fails at once.
NO_PROXY_HERE = "http://127.0.0.1:9"
ODD = {
    **dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy"), NO_PROXY_HERE),
    "LANG": "C",
    "LC_ALL": "C",
    "COLUMNS": "40",
    "TZ": "Pacific/Kiritimati",
    "PYTHONWARNINGS": "error",
    "COMPOSE_FILE": "/nowhere.yaml",
    "COMPOSE_PROJECT_NAME": "somebody_elses",
    "COMPOSE_PROFILES": "nonsense",
    "PORT": "1",
}


def test_a_drill_plays_whatever_the_environment_and_the_path_are(tmp_path: Path) -> None:
    """Which of them broke it stands in what it said: a port, a warning, a codec, a proxy, a path."""
    folder = tmp_path / 'it\'s a "path" with $HOME and spaces'
    folder.mkdir()
    run = start(write_drill(folder, duration="4s", faults=LATENCY), folder / "reports", variables=ODD)
    code, said = run.finish()
    assert code == 0, said
    assert "Traceback" not in said
    assert report(run.run_dir)["arms"][0]["ledger"]["balanced"]
    assert check_run(run.run_dir.resolve()).problems == ()
    assert stack_processes(run.run_dir) == []


def test_a_drill_plays_on_a_terminal_of_40_columns_that_knows_no_unicode(tmp_path: Path) -> None:
    """A real one: the live table, which only a terminal gets, must fit and speak its codec."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 40, 0, 0))
    surroundings = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
    surroundings |= {"LANG": "C", "LC_ALL": "C", "TERM": "xterm", "SHEDLAB_REPORTS": str(tmp_path / "reports")}
    drill = subprocess.Popen(
        [sys.executable, "-m", "lab", "run", str(write_drill(tmp_path, duration="4s")), "--runtime", "local"],
        cwd=ROOT,
        env=surroundings,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    )
    os.close(theirs)
    said = shown_on(ours)
    assert drill.wait(timeout=120) == 0, said
    assert "A-1" in said
    assert "Traceback" not in said
    assert check_run((tmp_path / "reports" / "latest").resolve()).problems == ()


def shown_on(terminal: int) -> str:
    """All that was written to it until its last writer closed it."""
    shown = b""
    # Linux tells of a terminal that nobody holds any more by an input/output error.
    with os.fdopen(terminal, "rb", buffering=0) as screen, contextlib.suppress(OSError):
        while part := screen.read(4096):
            shown += part
    return shown.decode("utf-8", "replace")


def test_a_drill_plays_with_64_open_files(tmp_path: Path) -> None:
    drill = write_drill(tmp_path, duration="4s")
    command = shlex.join([sys.executable, "-m", "lab", "run", str(drill), "--runtime", "local"])
    done = subprocess.run(
        ["bash", "-c", f"ulimit -n 64; SHEDLAB_REPORTS={shlex.quote(str(tmp_path / 'reports'))} exec {command}"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert check_run((tmp_path / "reports" / "latest").resolve()).problems == ()


def test_other_work_on_the_machine_is_a_doubt_with_its_figure(tmp_path: Path) -> None:
    run = start(write_drill(tmp_path, duration="6s"), tmp_path / "reports")
    other = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        code, said = run.finish()
    finally:
        other.kill()
        other.wait()
    assert code == 0, said
    doubts = [doubt["sentence"] for doubt in report(run.run_dir)["doubts"] if doubt["code"] == "other_work"]
    assert len(doubts) == 1
    assert re.match(r"other work took \d+\.\d of \d+ cores between second \d and \d", doubts[0])


def test_jobs_of_a_worker_paused_past_its_lease_run_twice_and_count_once(tmp_path: Path) -> None:
    fault = "[{kind: process, at: 1s, for: 3s, service: worker, action: pause, index: 1}]"
    drill = write_drill(tmp_path, duration="6s", faults=fault)
    text = drill.read_text(encoding="utf-8")
    text = text.replace("drain: 10s", "drain: 10s, reclaim_after: 1s").replace("time: 100ms", "time: 400ms")
    drill.write_text(text.replace("rate: 8/s", "rate: 6/s"), encoding="utf-8")
    run = start(drill, tmp_path / "reports")
    code, said = run.finish()
    assert code == 0, said
    duplicates = [event for event in events(run, "A-1", "outcome") if event["duplicate"]]
    # Its two slots were full, or nearly: what it held was run by the other, and by itself when it went on.
    assert 1 <= len(duplicates) <= 2
    assert report(run.run_dir)["arms"][0]["ledger"]["duplicates"] == len(duplicates)
    found = check_run(run.run_dir.resolve())
    assert found.problems == ()
    assert any("ran more than once" in note for note in found.arms[0].notes)
