"""Faults by hand: what is written down, when, and who ends them."""

import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lab.contract.fault_spec import AnyFault
from lab.contract.flags import read_fault
from lab.drill.faults import BoundTo, FaultError, Injector, Target
from lab.drill.probes import StackProbe
from lab.drill.rehearsal import RehearsalError, forgetting, injection, minder
from lab.drill.rehearsal.bench import Bench
from lab.drill.rehearsal.faults import (
    FaultRecord,
    fault_words,
    injected,
    load_fault,
    load_faults,
    new_record,
    next_number,
    rival_of,
    save_fault,
)
from lab.drill.rehearsal.state import State
from tests.unit.rehearsal_bench import FakeBench

# Long ago by any clock.
T = 1_700_000_000.0
LATENCY: dict[str, Any] = {"kind": "latency", "latency": "800ms"}
UPSTREAM = {**LATENCY, "stream": "upstream"}
MODEL: dict[str, Any] = {"kind": "model", "slow_factor": "3"}
SCALE: dict[str, Any] = {"kind": "process", "service": "worker", "action": "scale", "replicas": "5"}


def fault(**said: Any) -> AnyFault:
    return read_fault({"at": "0s", "for": "20s", **said})


def recorded(number: int, *, has_end: bool = True, runtime: str = "local", **said: Any) -> FaultRecord:
    return injected(new_record(fault(**said), number, runtime, T, has_end=has_end, workers=None), T + 1)


@pytest.fixture
def state(tmp_path: Path) -> State:
    made = State(tmp_path)
    made.make()
    return made


@pytest.fixture
def acts(monkeypatch: pytest.MonkeyPatch, state: State) -> list[str]:
    """What injectors do, with what was written down then; no minder is started."""
    done: list[str] = []

    class Noted(BoundTo):
        async def inject(self) -> None:
            kept = load_fault(state, self.name)
            done.append(f"inject {self.name}, {'written' if kept and kept.acts else 'not written'}")
            if "slow_close" in self.name:
                raise FaultError("it will not")

        async def revert(self) -> None:
            done.append(f"revert {self.name}")
            if "timeout" in self.name:
                raise FaultError("it will not stop")

    def make(declared: AnyFault, number: int, stack: Target, probe: StackProbe) -> Injector:
        return Noted(f"{number}-{declared.kind}", stack, probe)

    monkeypatch.setattr(injection, "make_injector", make)
    monkeypatch.setattr(injection, "_start_minder", lambda _state, record: f"minder of {record.name}")
    return done


def test_a_fault_is_written_down_before_it_acts(state: State, acts: list[str]) -> None:
    record = injection.add_fault(state, FakeBench(), fault(**LATENCY), has_end=True)
    assert acts == ["inject 1-latency, written"]
    assert load_fault(state, "1-latency") == record
    assert record.minder == "minder of 1-latency"
    assert record.ends_at is not None
    assert record.injected_at is not None
    assert record.ends_at - record.injected_at == pytest.approx(20)


def test_a_fault_without_an_end_has_no_minder(state: State, acts: list[str]) -> None:
    record = injection.add_fault(state, FakeBench(), fault(**LATENCY), has_end=False)
    assert (record.ends_at, record.minder, len(acts)) == (None, None, 1)


def test_what_cannot_be_injected_is_taken_back_and_forgotten(state: State, acts: list[str]) -> None:
    with pytest.raises(RehearsalError, match="1-slow_close could not be injected: it will not"):
        injection.add_fault(state, FakeBench(), fault(kind="slow_close", delay="1s"), has_end=False)
    assert acts[1:] == ["revert 1-slow_close"]
    assert load_faults(state, "local") == []


def test_clear_ends_the_newest_first_and_goes_on_past_one_that_fails(state: State, acts: list[str]) -> None:
    for said in (LATENCY, {"kind": "timeout", "timeout": "0s"}, UPSTREAM):
        injection.add_fault(state, FakeBench(), fault(**said), has_end=False)
    reverted, failures = injection.clear_faults(state, FakeBench())
    assert acts[3:] == ["revert 3-latency", "revert 2-timeout", "revert 1-latency"]
    assert [record.name for record in reverted] == ["3-latency", "1-latency"]
    assert failures == ["2-timeout could not be reverted: it will not stop"]
    (left,) = injection.acting(load_faults(state, "local"))
    assert left.failure == "it will not stop"


@pytest.mark.usefixtures("acts")
def test_two_faults_on_one_seat_are_refused_and_toxics_of_two_streams_are_not(state: State) -> None:
    bench = FakeBench()
    injection.add_fault(state, bench, fault(**MODEL), has_end=False)
    with pytest.raises(RehearsalError, match="1-model acts there already; `shedlab fault clear 1-model` first"):
        injection.add_fault(state, bench, fault(**MODEL), has_end=False)
    injection.add_fault(state, bench, fault(**LATENCY), has_end=False)
    injection.add_fault(state, bench, fault(**UPSTREAM), has_end=False)
    with pytest.raises(RehearsalError, match="2-latency acts there already"):
        injection.add_fault(state, bench, fault(**LATENCY), has_end=False)
    assert [record.name for record in load_faults(state, "local")] == ["1-model", "2-latency", "3-latency"]


def test_seats_are_told_apart() -> None:
    killed: dict[str, Any] = {"kind": "process", "service": "worker", "action": "kill"}
    assert rival_of(fault(**killed, index="1"), [recorded(1, **killed, index="2")]) is None
    assert rival_of(fault(**killed), [recorded(1, **{**killed, "action": "pause"})]) is not None
    scaled: dict[str, Any] = {"kind": "process", "service": "worker", "action": "scale", "replicas": "3"}
    assert rival_of(fault(**scaled), [recorded(1, **killed)]) is not None
    down: dict[str, Any] = {"kind": "proxy_down", "link": "redis"}
    assert rival_of(fault(kind="proxy_down"), [recorded(1, **down)]) is None
    assert rival_of(fault(**down), [recorded(1, **down)]) is not None
    assert rival_of(fault(**down), [replace(recorded(1, **down), reverted_at=T + 2)]) is None


def test_a_process_that_is_not_there_is_named_before_anything_is_written(state: State, acts: list[str]) -> None:
    absent = fault(kind="process", service="worker", action="kill", index="9")
    with pytest.raises(RehearsalError, match="the bench has no worker-9; it has gate-1, worker-1, worker-2"):
        injection.add_fault(state, FakeBench(), absent, has_end=False)
    assert (acts, load_faults(state, "local")) == ([], [])


def test_a_scale_is_undone_to_as_many_workers_as_there_were(state: State) -> None:
    bench = FakeBench(workers=2)
    injection.add_fault(state, bench, fault(**SCALE), has_end=False)
    assert bench.workers == 5
    injection.clear_faults(state, bench)
    assert (bench.workers, bench.asked) == (2, ["inject scale", "inject scale"])


def test_only_what_is_past_its_end_is_ended_by_the_next_verb(state: State, acts: list[str]) -> None:
    now_at = time.time()
    over, acting = recorded(1, **LATENCY), replace(recorded(2, **LATENCY), ends_at=now_at + 99)
    endless, unfinished = recorded(3, has_end=False, **LATENCY), replace(recorded(4, **LATENCY), injected_at=None)
    other = recorded(5, runtime="compose", **LATENCY)
    for record in (over, acting, endless, unfinished, other):
        save_fault(state, record)
    said = injection.revert_overdue(state, FakeBench())
    assert acts == ["revert 4-latency", "revert 1-latency"]
    assert said == [
        "4-latency was left by a command cut short, and is reverted now",
        "1-latency was past its end, and is reverted now",
    ]
    assert injection.revert_overdue(state, FakeBench()) == []


def test_a_living_minder_is_given_a_moment(state: State, acts: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(injection, "process_of", lambda _mark: object())
    just_over = replace(recorded(1, **LATENCY), minder="alive", ends_at=time.time() - 0.1)
    long_over = replace(recorded(2, **LATENCY), minder="alive", ends_at=time.time() - 60)
    save_fault(state, just_over)
    save_fault(state, long_over)
    injection.revert_overdue(state, FakeBench())
    assert acts == ["revert 2-latency"]


@pytest.mark.usefixtures("acts")
def test_a_fault_is_written_down_with_its_bench(state: State) -> None:
    assert injection.add_fault(state, FakeBench(made_as="x"), fault(**LATENCY), has_end=False).bench == "x"
    assert injection.add_fault(state, FakeBench(made_as=None), fault(**UPSTREAM), has_end=False).bench is None


def test_what_acted_on_a_bench_that_is_gone_is_forgotten_with_a_sentence(state: State, acts: list[str]) -> None:
    ended = replace(recorded(1, **LATENCY), bench="gone", reverted_at=T + 5)
    acting = replace(recorded(2, has_end=False, **MODEL), bench="gone")
    unknown, ours = recorded(3, **LATENCY), replace(recorded(4, **LATENCY), bench="this bench")
    other = replace(recorded(5, runtime="compose", **LATENCY), bench="gone")
    for record in (ended, acting, unknown, ours, other):
        save_fault(state, record)
    assert forgetting.forget_strangers(state, FakeBench(made_as=None)) == []
    assert forgetting.forget_strangers(state, FakeBench()) == [
        "2-model acted on a bench that is gone, and is forgotten"
    ]
    assert [record.name for record in load_faults(state, "local")] == ["3-latency", "4-latency"]
    assert [record.name for record in load_faults(state, "compose")] == ["5-latency"]
    assert acts == []
    injection.add_fault(state, FakeBench(), fault(**MODEL), has_end=False)
    assert acts == ["inject 6-model, written"]


def test_the_minders_of_a_bench_that_is_gone_are_ended(state: State, monkeypatch: pytest.MonkeyPatch) -> None:
    class Minder:
        pid = 0

    ended: list[Minder] = []
    minders = {"a minder": Minder()}
    monkeypatch.setattr(forgetting, "process_of", minders.get)
    monkeypatch.setattr(forgetting, "end", ended.extend)
    save_fault(state, replace(recorded(1, **LATENCY), bench="gone", minder="a minder"))
    save_fault(state, replace(recorded(2, **LATENCY), bench="gone", minder="one that has ended"))
    forgetting.forget_strangers(state, FakeBench())
    assert ended == [minders["a minder"]]


def test_a_scale_of_a_bench_that_is_gone_is_not_undone_on_another(
    state: State, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = FakeBench(workers=2)

    def find(_state: State, _runtime: str) -> Bench:
        return bench

    monkeypatch.setattr(minder, "find_bench", find)
    stale = replace(recorded(1, **SCALE), bench="gone", workers_before=7)
    save_fault(state, stale)
    assert injection.revert_overdue(state, bench) == ["1-process acted on a bench that is gone, and is forgotten"]
    save_fault(state, stale)
    minder.revert(state, stale.name)
    assert (bench.workers, bench.asked, load_faults(state, "local")) == (2, [], [])


def test_a_new_play_forgets_what_has_ended(state: State) -> None:
    save_fault(state, replace(recorded(1, **LATENCY), reverted_at=T + 5))
    save_fault(state, recorded(2, **LATENCY))
    forgetting.forget_ended(state, "local")
    assert [record.name for record in load_faults(state, "local")] == ["2-latency"]
    assert next_number(state) == 3


def test_a_minder_goes_home_when_others_have_ended_its_fault(state: State) -> None:
    save_fault(state, replace(recorded(1, **LATENCY), reverted_at=T + 5))
    assert not minder.wait_for_end(state, "1-latency")
    assert not minder.wait_for_end(state, "2-latency")


def test_a_minder_ends_what_is_past_its_end(state: State, acts: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def find(_state: State, _runtime: str) -> Bench:
        return FakeBench()

    monkeypatch.setattr(minder, "find_bench", find)
    save_fault(state, recorded(1, **LATENCY))
    assert minder.wait_for_end(state, "1-latency")
    minder.revert(state, "1-latency")
    assert acts == ["revert 1-latency"]
    assert injection.acting(load_faults(state, "local")) == []


def test_a_record_of_another_version_is_a_sentence(state: State) -> None:
    (state.faults_dir / "1-latency.json").write_text(json.dumps({"name": "1-latency"}), encoding="utf-8")
    with pytest.raises(RehearsalError, match="is not what this version writes; remove it"):
        load_faults(state, "local")
    (state.faults_dir / "1-latency.json").write_text("{", encoding="utf-8")
    with pytest.raises(RehearsalError, match="cannot be read"):
        load_faults(state, "local")


def test_words_leave_out_what_has_its_default() -> None:
    assert fault_words(recorded(1, **LATENCY, toxicity="50%")) == "latency on model, toxicity 0.5, latency 800ms"
    assert fault_words(recorded(1, **MODEL, classes=("chat", "code"))) == "model, slow_factor 3.0, classes chat code"
    assert fault_words(recorded(1, **SCALE)) == "process, service worker, action scale, replicas 5"
