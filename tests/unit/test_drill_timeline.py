"""Faults are undone, newest first, whatever fails."""

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest

from lab.contract.fault_spec import NoopFault
from lab.drill import timeline as timeline_module
from lab.drill.faults import FaultError
from lab.drill.journal_writer import JournalWriter
from lab.drill.timeline import Timeline


class RecordedInjector:
    """Writes down what is done to it; fails where told to."""

    def __init__(self, name: str, done: list[str], failing: set[str]) -> None:
        self.name, self.done, self.failing = name, done, failing

    async def inject(self) -> None:
        self._do("inject")

    async def revert(self) -> None:
        self._do("revert")

    async def touched_connections(self) -> int | None:
        return 3

    def _do(self, verb: str) -> None:
        deed = f"{verb} {self.name}"
        self.done.append(deed)
        if deed in self.failing:
            raise FaultError(f"{deed} failed")


def play(
    monkeypatch: pytest.MonkeyPatch, folder: Path, faults: list[NoopFault], *, failing: set[str], cancel: bool
) -> tuple[list[str], list[str], list[dict[str, Any]]]:
    done: list[str] = []
    events: list[dict[str, Any]] = []
    monkeypatch.setattr(
        timeline_module, "make_injector", lambda _fault, number, *_: RecordedInjector(str(number), done, failing)
    )

    async def run() -> list[str]:
        journal = JournalWriter(folder, events.append)
        timeline = Timeline(faults, None, None, journal)  # type: ignore[arg-type] # the injectors need neither
        playing = asyncio.create_task(timeline.play(time.time()))
        if cancel:
            # The injections are all due at once: a few turns of the loop and they are done.
            for _ in range(20):
                await asyncio.sleep(0)
            playing.cancel()
        await asyncio.gather(playing, return_exceptions=True)
        failures = await timeline.revert_all()
        journal.close()
        return failures

    return done, asyncio.run(run()), events


def fault(lasts: str, at: str = "0s") -> NoopFault:
    return NoopFault.model_validate({"kind": "noop", "at": at, "for": lasts})


def test_an_interrupted_timeline_reverts_newest_first(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    done, failures, _ = play(monkeypatch, tmp_path, [fault("1h"), fault("1h")], failing=set(), cancel=True)
    assert done == ["inject 1", "inject 2", "revert 2", "revert 1"]
    assert failures == []


def test_a_revert_that_fails_does_not_keep_the_others_from_theirs(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    done, failures, _ = play(monkeypatch, tmp_path, [fault("1h"), fault("1h")], failing={"revert 2"}, cancel=True)
    assert done[-1] == "revert 1"
    assert failures == ["2-noop could not be reverted: revert 2 failed"]


def test_an_injection_that_fails_is_reverted_too(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    done, _, events = play(monkeypatch, tmp_path, [fault("1h")], failing={"inject 1"}, cancel=False)
    assert done == ["inject 1", "revert 1"]
    assert [(event["action"], event["ok"]) for event in events] == [("inject", False), ("revert", True)]


def test_a_fault_that_ran_its_time_is_reverted_once_and_journaled(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    done, _, events = play(monkeypatch, tmp_path, [fault("1us")], failing=set(), cancel=False)
    assert done == ["inject 1", "revert 1"]
    assert [event["touched_connections"] for event in events] == [None, 3]
    assert all(event["applied_at"] >= event["intended_at"] for event in events)


def test_an_end_comes_before_a_begin_of_the_same_second(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    second, first = fault("1h", at="10ms"), fault("10ms")
    done, _, _ = play(monkeypatch, tmp_path, [second, first], failing={"inject 1"}, cancel=False)
    assert done == ["inject 2", "revert 2", "inject 1", "revert 1"]
