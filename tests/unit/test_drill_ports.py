"""Ports of a stack: below the ephemeral range, given once, and never one that is taken."""

import random
from contextlib import ExitStack
from itertools import islice
from pathlib import Path

import pytest

from lab.drill.testbed import ports

LOWEST = ports.LOWEST


def test_no_port_may_become_the_source_of_an_outgoing_connection() -> None:
    given = ports.several_free_ports(20)
    assert len(set(given)) == 20
    assert all(LOWEST <= port < ports.ephemeral_start() for port in given)


def test_a_port_is_given_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ports, "_candidates", lambda *_: iter(range(LOWEST, LOWEST + 50)))
    monkeypatch.setattr(ports, "_given", set())
    assert not set(ports.several_free_ports(8)) & set(ports.several_free_ports(8))


def test_every_port_below_the_range_is_tried_once() -> None:
    candidates = list(ports._candidates(LOWEST + 2000, random.Random(1)))
    assert sorted(candidates) == list(range(LOWEST, LOWEST + 2000))


def test_where_nothing_is_left_below_the_range_the_kernel_chooses() -> None:
    assert list(islice(ports._candidates(1024, random.Random(1)), 3)) == [0, 0, 0]


def test_a_machine_without_a_free_port_is_said() -> None:
    with ExitStack() as held, pytest.raises(OSError, match=r"no port of 127\.0\.0\.1 .* is free"):
        list(ports._bound(held, []))


@pytest.mark.parametrize(("told", "start"), [("49152\t65535\n", 49152), ("", 32768), ("words\n", 32768)])
def test_the_range_is_the_kernels_own(tmp_path: Path, told: str, start: int) -> None:
    file = tmp_path / "range"
    file.write_text(told)
    assert ports.ephemeral_start(file) == start
    assert ports.ephemeral_start(tmp_path / "none") == ports.DEFAULT_EPHEMERAL_START
