"""The load generator as a process against a stub gate: nothing due is ever left out, whatever the gate does."""

import threading
import time
from pathlib import Path

import pytest

from tests.service.loadgen_rig import Reply, StubGate, accepted, loadgen_running, settings_for

STALL_S = 3.0


def every(step_s: float, count: int) -> list[float]:
    return [number * step_s for number in range(count)]


def names(count: int) -> list[str]:
    return [f"r-{number}" for number in range(count)]


def test_every_due_request_is_sent_once_in_order_under_its_id(tmp_path: Path) -> None:
    with (
        StubGate().running() as gate,
        loadgen_running(tmp_path, settings_for(tmp_path, gate.url, every(0.02, 50))) as loadgen,
    ):
        assert loadgen.wait() == 0, loadgen.said()
        requests = sorted(loadgen.events("request"), key=lambda event: float(event["sent_at"]))
        assert [event["request_id"] for event in requests] == names(50)
        assert [event["job_id"] for event in requests] == [f"job-{name}" for name in names(50)]
        assert {event["status"] for event in requests} == {202}
        assert sorted(gate.header_ids) == sorted(body["request_id"] for body in gate.bodies) == sorted(names(50))
        assert loadgen.said() == ""


def test_the_start_is_announced_ahead_and_due_times_follow_from_it(tmp_path: Path) -> None:
    with (
        StubGate().running() as gate,
        loadgen_running(tmp_path, settings_for(tmp_path, gate.url, [0.0, 0.3])) as loadgen,
    ):
        assert loadgen.wait() == 0
        (start,) = loadgen.events("schedule_start")
        assert '"schedule_start"' in loadgen.lines()[0]
        assert start["due_count"] == 2
        assert start["start_at"] - start["at"] == pytest.approx(0.2, abs=0.15)
        first, second = loadgen.events("request")
        assert first["due_at"] == pytest.approx(start["start_at"])
        assert second["due_at"] == pytest.approx(start["start_at"] + 0.3)
        assert all(
            event["at"] >= event["answered_at"] >= event["sent_at"] >= event["due_at"] for event in (first, second)
        )
        (end,) = loadgen.events("load_end")
        assert '"load_end"' in loadgen.lines()[-1]
        assert [end[f"{what}_count"] for what in ("due", "sent", "answered", "unsent")] == [2, 2, 2, 0]


def test_the_deadline_sent_is_what_is_left_of_it_when_the_request_goes_out(tmp_path: Path) -> None:
    with (
        StubGate().running() as gate,
        loadgen_running(tmp_path, settings_for(tmp_path, gate.url, every(0.01, 20))) as loadgen,
    ):
        assert loadgen.wait() == 0
        lags_s = {event["request_id"]: event["sent_at"] - event["due_at"] for event in loadgen.events("request")}
        for body in gate.bodies:
            assert body["deadline_s"] == pytest.approx(5.0 - lags_s[body["request_id"]], abs=0.001)


def test_connections_are_reused(tmp_path: Path) -> None:
    with (
        StubGate().running() as gate,
        loadgen_running(tmp_path, settings_for(tmp_path, gate.url, every(0.05, 40))) as loadgen,
    ):
        assert loadgen.wait() == 0
        assert len(gate.connections) < 20


def test_a_gate_that_stalls_does_not_slow_the_schedule(tmp_path: Path) -> None:
    stalled_until = [0.0]
    came_in_stall: list[str] = []

    def reply(request_id: str) -> Reply:
        if request_id == "r-50":
            stalled_until[0] = time.monotonic() + STALL_S
        if (left_s := stalled_until[0] - time.monotonic()) > 0:
            came_in_stall.append(request_id)
            time.sleep(left_s)
        return accepted(request_id)

    # Fifty a second for five seconds; the gate answers nobody from the second second to the fourth.
    with (
        StubGate(reply).running() as gate,
        loadgen_running(tmp_path, settings_for(tmp_path, gate.url, every(0.02, 250))) as loadgen,
    ):
        assert loadgen.wait() == 0
        requests = loadgen.events("request")
    assert sorted(event["request_id"] for event in requests) == sorted(names(250))
    assert len(gate.bodies) == 250
    lags_s = sorted(event["sent_at"] - event["due_at"] for event in requests)
    assert lags_s[int(0.95 * len(lags_s))] < 0.5
    # 150 were due in the stall, and the gate saw them then: none waited in the client for a free connection.
    assert len(came_in_stall) > 120
    # The stall is in the answers, and only there: a closed loop would have made it vanish from them.
    slow = [event for event in requests if event["answered_at"] - event["due_at"] > STALL_S / 2]
    assert len(slow) > 50
    assert {event["status"] for event in requests} == {202}


def test_a_gate_that_dies_leaves_every_later_request_on_record_as_unanswered(tmp_path: Path) -> None:
    with (
        StubGate().running() as gate,
        loadgen_running(tmp_path, settings_for(tmp_path, gate.url, every(0.02, 100))) as loadgen,
    ):
        loadgen.await_that("the first requests", lambda: len(gate.bodies) >= 20)
        gate.stop()
        assert loadgen.wait() == 0, loadgen.said()
        requests = loadgen.events("request")
        (end,) = loadgen.events("load_end")
    assert sorted(event["request_id"] for event in requests) == sorted(names(100))
    assert all(event["sent_at"] is not None for event in requests)
    by_id = {event["request_id"]: event for event in requests}
    assert by_id["r-0"]["status"] == 202
    assert by_id["r-99"]["status"] is None
    assert "refused" in by_id["r-99"]["error"]
    lost = [event for event in requests if event["status"] is None]
    assert all(event["error"] and event["answered_at"] is None for event in lost)
    assert (end["sent_count"], end["answered_count"]) == (100, 100 - len(lost))


def test_refusals_are_answers_with_reason_and_retry_after(tmp_path: Path) -> None:
    replies: dict[str, Reply] = {
        "r-0": (429, {"reason": "queue_age", "retry_after_s": 1.5, "numbers": {}}),
        "r-1": (503, {"reason": "queue_unreachable", "retry_after_s": None}),
        "r-2": (500, {"reason": "internal_error"}),
        "r-3": (301, {}),
    }
    with (
        StubGate(replies.__getitem__).running() as gate,
        loadgen_running(tmp_path, settings_for(tmp_path, gate.url, every(0.02, 4))) as loadgen,
    ):
        assert loadgen.wait() == 0
        seen = {
            event["request_id"]: (event["status"], event["reason"], event["retry_after_s"], event["error"])
            for event in loadgen.events("request")
        }
    assert seen == {
        "r-0": (429, "queue_age", 1.5, None),
        "r-1": (503, "queue_unreachable", None, None),
        "r-2": (500, "internal_error", None, None),
        "r-3": (301, None, None, None),
    }
    assert sorted(gate.header_ids) == names(4)


def test_an_answer_that_does_not_come_is_given_up_and_nobody_else_waits_for_it(tmp_path: Path) -> None:
    release = threading.Event()

    def reply(request_id: str) -> Reply:
        if request_id == "r-3":
            release.wait(20)
        return accepted(request_id)

    settings = {"ANSWER_TIMEOUT_S": "2"}
    with (
        StubGate(reply).running() as gate,
        loadgen_running(tmp_path, settings_for(tmp_path, gate.url, every(0.02, 10), **settings)) as loadgen,
    ):
        assert loadgen.wait() == 0
        release.set()
        by_id = {event["request_id"]: event for event in loadgen.events("request")}
    assert (by_id["r-3"]["status"], by_id["r-3"]["error"]) == (None, "no answer within 2 s")
    assert [name for name in names(10) if by_id[name]["status"] == 202] == [name for name in names(10) if name != "r-3"]
    assert gate.header_ids.count("r-3") == 1


def test_sigterm_stops_the_sending_and_records_the_rest_as_unsent(tmp_path: Path) -> None:
    release = threading.Event()

    def reply(request_id: str) -> Reply:
        if request_id == "r-9":
            release.wait(20)
        return accepted(request_id)

    due_s = [*every(0.02, 10), 300.0, 301.0]
    with (
        StubGate(reply).running() as gate,
        loadgen_running(tmp_path, settings_for(tmp_path, gate.url, due_s)) as loadgen,
    ):
        loadgen.await_that("the first ten", lambda: len(loadgen.events("request")) == 9 and len(gate.bodies) == 10)
        loadgen.process.terminate()
        loadgen.await_that("the unsent", lambda: len(loadgen.events("request")) == 11)
        assert loadgen.events("load_end") == []
        release.set()
        assert loadgen.wait() == 0
        by_id = {event["request_id"]: event for event in loadgen.events("request")}
        (end,) = loadgen.events("load_end")
    assert sorted(by_id) == sorted(names(12))
    assert by_id["r-9"]["status"] == 202
    assert [by_id[name]["sent_at"] for name in ("r-10", "r-11")] == [None, None]
    assert [end[f"{what}_count"] for what in ("due", "sent", "answered", "unsent")] == [12, 10, 10, 2]


def test_sigterm_waits_for_answers_no_longer_than_their_time_out(tmp_path: Path) -> None:
    release = threading.Event()

    def reply(request_id: str) -> Reply:
        release.wait(60)
        return accepted(request_id)

    settings = {"ANSWER_TIMEOUT_S": "2"}
    with (
        StubGate(reply).running() as gate,
        loadgen_running(tmp_path, settings_for(tmp_path, gate.url, [0.0, 300.0], **settings)) as loadgen,
    ):
        loadgen.await_that("the first", lambda: len(gate.bodies) == 1)
        assert loadgen.stop() == 0
        release.set()
        (end,) = loadgen.events("load_end")
    assert [end[f"{what}_count"] for what in ("due", "sent", "answered", "unsent")] == [2, 1, 0, 1]
