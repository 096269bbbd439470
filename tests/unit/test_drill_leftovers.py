"""Whose process is an orphan: one that carries the mark of a runner that is not there any more."""

import pytest

from lab.drill.testbed.leftovers import is_alive, owner_mark


@pytest.mark.parametrize(
    ("mark", "alive"),
    [
        pytest.param(None, True, id="no mark: nobody's orphan"),
        pytest.param("999999999:1.00", False, id="no such pid"),
        pytest.param("1:1.00", False, id="the pid was given to another process"),
        pytest.param("nonsense", False, id="a mark that nobody wrote"),
    ],
)
def test_a_runner_is_known_by_its_pid_and_its_start(mark: str | None, alive: bool) -> None:
    assert is_alive(mark) is alive


def test_this_process_is_alive_by_its_own_mark() -> None:
    assert is_alive(owner_mark())
