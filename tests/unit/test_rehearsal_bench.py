"""How a bench is known: the engine's words, the keeper's note, and which of two is meant."""

import json
import os
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from lab.drill.rehearsal import RehearsalError, find
from lab.drill.rehearsal.bench import Bench
from lab.drill.rehearsal.compose import refusal_of
from lab.drill.rehearsal.containers import addresses_of, read_containers
from lab.drill.rehearsal.local import LocalBench, Note
from lab.drill.rehearsal.processes import mark_of, process_of
from lab.drill.rehearsal.state import State, write_json
from lab.drill.rehearsal.tail import FileTail, LineCutter
from lab.drill.testbed import Addresses
from lab.drill.testbed.leftovers import owner_mark
from tests.unit.rehearsal_bench import FakeBench

LINKS = {"model": ("127.0.0.1:5", "127.0.0.1:6")}
NOTE = Note(
    keeper="1:0",
    run_id="rehearsal-x",
    scenario="/somewhere/x.yaml",
    letter="B",
    socket="/tmp/x/keeper.sock",  # noqa: S108 - the name of a socket that is never opened
    services=("redis", "worker-1"),
    began_at=1.0,
    addresses=Addresses("redis://127.0.0.1:1/0", "http://127.0.0.1:2", "http://127.0.0.1:3", "127.0.0.1", 4, LINKS),
)


def told(name: str, service: str, state: str = "running", inside: int = 0, outside: int = 0) -> str:
    ports = [{"TargetPort": inside, "PublishedPort": outside}] if inside else None
    return json.dumps({"Name": name, "Service": service, "State": state, "ExitCode": 0, "Publishers": ports})


@pytest.fixture
def state(tmp_path: Path) -> State:
    made = State(tmp_path)
    made.make()
    return made


def test_containers_are_read_as_lines_and_as_a_list() -> None:
    lines = [told("shedlab-worker-2", "worker"), told("shedlab-mock-model-1", "mock-model", inside=8090, outside=9)]
    as_lines = read_containers("\n".join(lines) + "\n")
    assert as_lines == read_containers(f"[{','.join(lines)}]")
    assert [one.source for one in as_lines] == ["model-1", "worker-2"]
    assert read_containers("") == ()


def test_what_there_is_one_of_has_no_number_in_a_journal() -> None:
    containers = read_containers(told("shedlab-redis-1", "redis") + "\n" + told("shedlab-loadgen-1", "loadgen"))
    assert [one.source for one in containers] == ["loadgen", "redis"]


def test_doors_are_where_the_engine_published_them() -> None:
    containers = read_containers(told("shedlab-gate-1", "gate", inside=8080, outside=18080))
    doors = addresses_of(containers)
    assert doors.gate_url == "http://127.0.0.1:18080"
    assert (doors.proxy_port, doors.redis_url) == (8474, "redis://127.0.0.1:16379/0")
    assert set(doors.proxied) == {"model", "redis"}


@pytest.mark.parametrize(
    "said",
    [
        "driver failed (e5e4): Error starting userland proxy: listen tcp4 127.0.0.1:8080: bind: address already in use",
        "driver failed: Bind for 127.0.0.1:8080 failed: port is already allocated",
    ],
)
def test_a_taken_port_is_told_without_the_engines_many_words(said: str) -> None:
    assert refusal_of(said).startswith("127.0.0.1:8080 is taken by another program; free it, or set GATE_PORT")


def test_whatever_else_the_engine_says_is_passed_on_with_a_way_out() -> None:
    assert refusal_of("no docker") == "no docker; mend that, or use `shedlab up --runtime local`"


def test_the_keepers_note_survives_being_written_down() -> None:
    assert Note.from_json(json.loads(json.dumps(NOTE.to_json()))) == NOTE
    with pytest.raises(RehearsalError, match="not what this version writes"):
        Note.from_json({**asdict(NOTE), "addresses": {}})


@pytest.mark.parametrize(
    ("noted", "alive", "compose", "runtime", "said"),
    [
        (False, False, False, "auto", "no rehearsal bench is up; start one with `shedlab up`"),
        (False, False, False, "compose", "start one with `shedlab up --runtime compose`"),
        (True, False, False, "auto", "the local bench's keeper is gone; `shedlab down` removes what it left"),
        (True, True, True, "auto", "two benches are up; say which: --runtime local, or --runtime compose"),
        (True, True, True, "local", "local"),
        (True, True, True, "compose", "compose"),
        (True, False, True, "auto", "compose"),
        (True, True, False, "auto", "local"),
    ],
)
def test_the_bench_that_is_up_is_meant(
    state: State,
    monkeypatch: pytest.MonkeyPatch,
    *,
    noted: bool,
    alive: bool,
    compose: bool,
    runtime: str,
    said: str,
) -> None:
    def find_compose() -> Bench | None:
        return FakeBench(runtime="compose") if compose else None

    monkeypatch.setattr(find, "find_compose", find_compose)
    monkeypatch.setattr(find, "process_of", lambda _mark: object() if alive else None)
    if noted:
        write_json(state.bench_file, NOTE.to_json())
    if said in ("local", "compose"):
        assert find.find_bench(state, runtime).runtime == said
    else:
        with pytest.raises(RehearsalError) as refused:
            find.find_bench(state, runtime)
        assert said in str(refused.value)
        assert "\n" not in str(refused.value)


def test_lines_are_cut_as_they_come() -> None:
    cutter = LineCutter()
    assert cutter.cut(b"one\ntw") == ["one"]
    assert cutter.cut(b"o\n\nthree\n") == ["two", "three"]
    assert cutter.cut(b"") == []


def test_a_file_is_followed_from_its_last_bytes_on(tmp_path: Path) -> None:
    path = tmp_path / "gate-1.out"
    path.write_bytes(b"first\nsecond\nthird\n")
    tail = FileTail(path, most_bytes=9)
    with path.open("ab") as more:
        more.write(b"fourth\nfif")
    assert tail.new_lines() == ["third", "fourth"]
    tail.close()


def test_a_local_bench_reads_what_its_services_print(state: State) -> None:
    logs = state.stack_dir / "logs"
    logs.mkdir(parents=True)
    for name in ("gate-1.out", "redis.out", "loadgen.out", "gate-1.err"):
        (logs / name).write_text(f"{name}\n", encoding="utf-8")
    bench = LocalBench(state, NOTE)
    assert bench.sources() == ["gate-1", "loadgen"]
    assert bench.read("loadgen", 0.0) == ["loadgen.out"]


def test_a_local_bench_is_its_keeper_as_long_as_that_lives(state: State) -> None:
    alive = mark_of(os.getpid())
    assert LocalBench(state, replace(NOTE, keeper=alive)).identity() == alive
    assert LocalBench(state, NOTE).identity() is None


@pytest.mark.parametrize("mark", ["", "x:y", "0:0", "1:0"])
def test_a_mark_that_is_no_living_process_is_none(mark: str) -> None:
    assert process_of(mark) is None


def test_a_process_started_here_has_the_mark_that_it_calls_itself_by() -> None:
    assert mark_of(os.getpid()) == owner_mark()


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    write_json(path, {"a": 1})
    with pytest.raises(TypeError):
        write_json(path, {"a": object()})
    assert json.loads(path.read_text(encoding="utf-8")) == {"a": 1}
    assert list(tmp_path.iterdir()) == [path]
