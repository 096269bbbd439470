"""Whose CPU time it was: the lab's own, or other work."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from lab.drill import host
from lab.drill.host import HostWatch, Reading, sample
from lab.drill.own_work import Processes, ProcessTable, Seen, own_cpu_s

RUNNER = 100
MINE, THEIRS = "a" * 64, "b" * 64


def processes(*seen: Seen) -> Processes:
    return {(each.pid, 1.0): each for each in seen}


def process(pid: int, parent: int, cpu_s: float, name: str = "python", container: str | None = None) -> Seen:
    return Seen(pid, parent, name, container, cpu_s)


def reading(at_s: float, claimed_s: float, seen: Processes, pressure_s: float | None = None) -> Reading:
    return Reading(at_s, claimed_s, 2 * at_s, claimed_s, pressure_s, seen)


def test_the_runner_and_all_below_it_are_the_labs_own() -> None:
    before = processes(process(RUNNER, 1, 1.0), process(101, RUNNER, 2.0), process(102, 101, 3.0), process(7, 1, 50.0))
    now = processes(process(RUNNER, 1, 1.5), process(101, RUNNER, 2.25), process(102, 101, 3.25), process(7, 1, 60.0))
    assert own_cpu_s(before, now, RUNNER, ()) == 1.0


def test_what_a_child_took_before_it_ended_is_not_counted_twice() -> None:
    """Its time goes to its parent when it has ended."""
    before = processes(process(RUNNER, 1, 1.0), process(101, RUNNER, 5.0))
    now = processes(process(RUNNER, 1, 6.25))
    assert own_cpu_s(before, now, RUNNER, ()) == 0.25


def test_the_runs_containers_and_the_engines_daemons_are_its_own_and_other_containers_are_not() -> None:
    def all_with(cpu_s: float) -> Processes:
        return processes(
            process(RUNNER, 1, 0.0),
            process(200, 1, cpu_s, "dockerd"),
            process(201, 1, cpu_s, "containerd-shim"),
            process(300, 201, cpu_s, "redis-server", MINE),
            process(301, 300, cpu_s, "redis-server", MINE),
            process(400, 201, cpu_s, "postgres", THEIRS),
            process(500, 1, cpu_s, "firefox"),
        )

    assert own_cpu_s(all_with(1.0), all_with(2.0), RUNNER, {MINE}) == 4.0


def test_a_container_that_ended_takes_nothing_from_the_others() -> None:
    before = processes(process(RUNNER, 1, 1.0), process(300, 1, 9.0, container=MINE))
    assert own_cpu_s(before, processes(process(RUNNER, 1, 1.5)), RUNNER, {MINE}) == 0.5


def test_a_sample_tells_other_work_in_cores() -> None:
    before = reading(10.0, 5.0, processes(process(RUNNER, 1, 1.0)), pressure_s=3.0)
    now = reading(12.0, 8.0, processes(process(RUNNER, 1, 2.0)), pressure_s=4.0)
    told = sample(before, now, RUNNER, frozenset())
    assert (told["other_cpu_cores"], told["cpu_pressure_ratio"]) == (1.0, 0.5)


def test_what_cannot_be_told_apart_is_not_known() -> None:
    before, now = reading(10.0, 5.0, {}), reading(11.0, 6.0, {})
    told = sample(before, now, RUNNER, None)
    assert (told["other_cpu_cores"], told["cpu_pressure_ratio"]) == (None, None)


def test_the_container_of_a_process_is_read_from_its_cgroup(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = {
        1: f"0::/system.slice/docker-{MINE}.scope",
        2: f"11:cpuacct:/docker/{THEIRS}\n10:memory:/docker/{THEIRS}",
        3: "0::/user.slice",
    }
    for pid, text in paths.items():
        (tmp_path / str(pid)).mkdir()
        (tmp_path / str(pid) / "cgroup").write_text(text + "\n")
    monkeypatch.setattr("lab.drill.own_work.psutil.process_iter", lambda _fields: [_Told(pid) for pid in (1, 2, 3, 4)])
    found = ProcessTable(tmp_path).read()
    assert [seen.container for seen in found.values()] == [MINE, THEIRS, None, None]


class _Told:
    """What psutil tells of a process."""

    def __init__(self, pid: int) -> None:
        times = type("Times", (), {"user": 1.0, "system": 0.5})()
        self.info: dict[str, Any] = {"pid": pid, "ppid": 0, "name": "x", "cpu_times": times, "create_time": 1.0}


def asked_of(answer: frozenset[str] | None, now: Reading, times: int = 1) -> tuple[frozenset[str] | None, int]:
    """The run's own containers as the watch knows them at last, and how often it asked the engine for them."""
    asked = []

    async def containers() -> frozenset[str] | None:
        asked.append(answer)
        return answer

    async def ask() -> frozenset[str] | None:
        watch = HostWatch(containers)
        return [await watch.own_containers(now) for _ in range(times)][-1]

    return asyncio.run(ask()), len(asked)


def test_the_engine_is_asked_once_for_a_container_that_is_not_known() -> None:
    now = reading(1.0, 1.0, processes(process(1, 0, 1.0, container=MINE), process(2, 0, 1.0, container=THEIRS)))
    assert asked_of(frozenset({MINE}), now, times=3) == (frozenset({MINE}), 1)


def test_containers_out_of_sight_leave_other_work_unknown() -> None:
    """As on a desktop, whose engine runs them in a virtual machine."""
    assert asked_of(frozenset({MINE}), reading(1.0, 1.0, {}))[0] is None


def test_an_engine_that_does_not_answer_leaves_other_work_unknown() -> None:
    assert asked_of(None, reading(1.0, 1.0, {}))[0] is None


def test_a_kernel_without_pressure_tells_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host, "PRESSURE", tmp_path / "cpu")
    assert host.read(ProcessTable()).pressure_s is None
    (tmp_path / "cpu").write_text("some avg10=1.00 avg60=2.00 avg300=3.00 total=2500000\nfull avg10=0.00 total=7\n")
    assert host.read(ProcessTable()).pressure_s == 2.5
