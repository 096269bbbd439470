"""Whose process is an orphan: one that carries the mark of a runner that is not there any more."""

import os
import subprocess
import sys

import psutil
import pytest

from lab.drill.testbed.leftovers import OWNER_VARIABLE, find_orphans, is_alive, owner_mark, this_place


@pytest.mark.parametrize(
    ("mark", "alive"),
    [
        pytest.param(None, True, id="no mark: nobody's orphan"),
        pytest.param(f"999999999:1.00:{this_place()}", False, id="no such pid"),
        pytest.param(f"1:1.00:{this_place()}", False, id="the pid was given to another process"),
        pytest.param("999999999:1.00:elsewhere", True, id="another machine's pid, of which nothing can be told here"),
        pytest.param("bench", True, id="what .env.example sets, exported by a user's shell"),
        pytest.param("nonsense", True, id="a mark that nobody wrote"),
    ],
)
def test_a_runner_is_known_by_its_pid_its_start_and_its_place(mark: str | None, alive: bool) -> None:
    assert is_alive(mark) is alive


def test_this_process_is_alive_by_its_own_mark() -> None:
    assert is_alive(owner_mark())


def test_an_orphan_is_never_this_process_or_one_above_it() -> None:
    """A shell that exports a dead runner's mark must survive the commands that are given in it."""
    dead = f"999999999:1.00:{this_place()}"
    look = (
        "import os\n"
        "from lab.drill.testbed.leftovers import find_orphans\n"
        "print(*(o.process.pid for o in find_orphans()))\n"
        "print(os.getpid(), os.getppid())"
    )
    done = subprocess.run(
        ["sh", "-c", f"{sys.executable} -c '{look}'; true"],
        env={**os.environ, OWNER_VARIABLE: dead},
        capture_output=True,
        text=True,
        check=True,
    )
    orphans, own = (set(line.split()) for line in done.stdout.splitlines())
    assert orphans & own == set()
    assert psutil.Process().pid not in {orphan.process.pid for orphan in find_orphans()}
