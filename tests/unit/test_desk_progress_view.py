"""Live progress without a terminal: a line per arm when its phase changes, and now and then while it plays."""

import time

import pytest

from lab.desk import progress_view
from lab.desk.progress_view import ProgressView
from lab.drill.progress import STALE_S, ArmProgress


@pytest.fixture(name="clock")
def stopped_clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time that the view sees, to be moved by hand."""
    now = [100.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    return now


def arms() -> list[ArmProgress]:
    playing = ArmProgress("A-1", "none", 60.0, phase="baseline", offered=12, admitted=11, shed=1)
    playing.observe({"event": "signals", "queue_age_s": 0.25, "queue_depth": 3})
    playing.active_faults.add("1-latency")
    return [playing, ArmProgress("B-1", "queue_age", 60.0)]


def lines(view: ProgressView, drawn: list[ArmProgress], capsys: pytest.CaptureFixture[str]) -> list[str]:
    view.show(drawn)
    shown = capsys.readouterr()
    assert shown.out == ""
    return shown.err.splitlines()


@pytest.mark.usefixtures("clock")
def test_a_line_says_everything_about_its_arm(capsys: pytest.CaptureFixture[str]) -> None:
    with ProgressView() as view:
        first, second = lines(view, arms(), capsys)
    assert first == (
        "A-1  none  baseline  elapsed 0/60 s  offered 12  admitted 11  shed 1  "
        "queue age 0.2 s  depth 3  faults 1-latency"
    )
    assert second.startswith("B-1  queue_age  waiting  ")


def test_nothing_new_is_not_said_again_at_once(clock: list[float], capsys: pytest.CaptureFixture[str]) -> None:
    with ProgressView() as view:
        lines(view, arms(), capsys)
        clock[0] += 0.5
        assert lines(view, arms(), capsys) == []


def test_a_new_phase_is_said_at_once(clock: list[float], capsys: pytest.CaptureFixture[str]) -> None:
    drawn = arms()
    with ProgressView() as view:
        lines(view, drawn, capsys)
        clock[0] += 0.5
        drawn[1].phase = "bring_up"
        assert [line[:3] for line in lines(view, drawn, capsys)] == ["B-1"]


def test_now_and_then_every_arm_at_play_has_a_line(clock: list[float], capsys: pytest.CaptureFixture[str]) -> None:
    with ProgressView() as view:
        lines(view, arms(), capsys)
        clock[0] += progress_view.PLAIN_EVERY_S + 0.1
        assert [line[:3] for line in lines(view, arms(), capsys)] == ["A-1"]


@pytest.mark.usefixtures("clock")
def test_a_queue_that_nobody_sees_is_unknown_and_not_empty(capsys: pytest.CaptureFixture[str]) -> None:
    drawn = arms()
    drawn[0].observe({"event": "signals", "queue_age_s": None, "queue_depth": None})
    with ProgressView() as view:
        assert ["queue age unknown  depth unknown" in line for line in lines(view, drawn, capsys)] == [True, True]


def test_a_sample_that_is_old_says_nothing_of_now(monkeypatch: pytest.MonkeyPatch) -> None:
    playing = arms()[0]
    assert playing.queue_now == (0.25, 3)
    later = time.time() + STALE_S
    monkeypatch.setattr("time.time", lambda: later)
    assert playing.queue_now is None


@pytest.mark.usefixtures("clock")
def test_an_arm_that_failed_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    drawn = arms()
    drawn[0].failure = "gate-1 ended by itself"
    with ProgressView() as view:
        assert lines(view, drawn, capsys)[0].startswith("A-1  none  failed  ")
