"""The rolling window, in virtual time."""

import math
from typing import Any

import pytest

from lab.drill.rehearsal.window import PERCENTILE_SPAN_S, RATE_SPAN_S, Window, percentile

T = 1_800_000_000.0


def decision(number: int, at: float, decision: str = "admit") -> dict[str, Any]:
    job_id = None if decision == "shed" else f"j-{number}"
    return {"event": "decision", "at": at, "request_id": f"r-{number}", "job_id": job_id, "decision": decision}


def request(number: int, due_at: float, *, sent: bool = True) -> dict[str, Any]:
    sent_at = due_at if sent else None
    return {"event": "request", "at": due_at, "request_id": f"r-{number}", "due_at": due_at, "sent_at": sent_at}


def outcome(number: int, finished_at: float, first_token_at: float | None = None, **more: Any) -> dict[str, Any]:
    return {
        "event": "outcome",
        "at": finished_at,
        "request_id": f"r-{number}",
        "job_id": f"j-{number}",
        "outcome": "ok",
        "duplicate": False,
        "enqueued_at": finished_at - 1,
        "first_token_at": first_token_at,
        "finished_at": finished_at,
        **more,
    }


def heartbeat(worker: str, at: float) -> dict[str, Any]:
    return {"event": "heartbeat", "at": at, "worker_id": worker, "busy_slots": 0, "slots": 4}


def observed(*events: dict[str, Any]) -> Window:
    window = Window()
    for event in events:
        window.observe(event)
    return window


def test_a_request_is_offered_once_whoever_saw_it() -> None:
    refusal = {"event": "refusal", "at": T, "request_id": "r-4", "status": 503, "reason": "queue_unreachable"}
    window = observed(
        *(request(1, T), decision(1, T), request(2, T), decision(2, T, "shed")),
        *(request(3, T), refusal, request(5, T, sent=False)),
    )
    rates = window.rates(T + 1)
    assert rates.offered_per_s == pytest.approx(4 / RATE_SPAN_S)
    assert rates.admitted_per_s == rates.shed_per_s == rates.refused_per_s == pytest.approx(1 / RATE_SPAN_S)


def test_what_is_older_than_the_span_is_no_rate_any_more() -> None:
    window = observed(decision(1, T), outcome(1, T + 1, T + 0.5))
    assert window.rates(T + RATE_SPAN_S).admitted_per_s > 0
    late = window.rates(T + RATE_SPAN_S + 1.5)
    assert (late.offered_per_s, late.admitted_per_s, late.done_per_s) == (0, 0, 0)
    assert late.p95_ttft_s is not None
    assert window.rates(T + PERCENTILE_SPAN_S + 2).p95_ttft_s is None


def test_lines_seen_twice_count_once() -> None:
    events = [request(1, T), decision(1, T), outcome(1, T + 1, T + 0.5)]
    assert observed(*events, *events).rates(T + 2) == observed(*events).rates(T + 2)


def test_latency_counts_from_the_due_time_in_whatever_order_the_lines_come() -> None:
    rates = observed(outcome(1, T + 4, T + 3), request(1, T)).rates(T + 5)
    assert rates.p95_ttft_s == pytest.approx(3)
    assert rates.p95_turnaround_s == pytest.approx(4)


def test_without_a_client_latency_counts_from_the_queue() -> None:
    assert observed(outcome(1, T + 4, T + 3.5)).rates(T + 5).p95_ttft_s == pytest.approx(0.5)


def test_a_failed_job_is_infinitely_late_and_not_done() -> None:
    rates = observed(outcome(1, T, outcome="expired"), outcome(2, T, T - 0.5, outcome="late")).rates(T + 1)
    assert rates.p95_ttft_s == math.inf
    assert rates.done_per_s == pytest.approx(1 / RATE_SPAN_S)


def test_duplicates_and_probes_do_not_count() -> None:
    probe = {**decision(9, T), "request_id": "probe-1"}
    rates = observed(outcome(1, T, T, duplicate=True), probe).rates(T + 1)
    assert (rates.done_per_s, rates.offered_per_s) == (0, 0)


@pytest.mark.parametrize(("silent_s", "live"), [(1.9, 1), (2.1, 0)])
def test_a_worker_lives_for_four_heartbeats_of_half_a_second(silent_s: float, live: int) -> None:
    window = observed(heartbeat("w", T), heartbeat("w", T + 0.5))
    assert window.rates(T + 0.5 + silent_s).workers_live == live


def test_a_slow_heartbeat_is_learnt_and_a_pause_is_not() -> None:
    slow = observed(*(heartbeat("w", T + 2.0 * beat) for beat in range(5)))
    assert slow.rates(T + 8 + 7).workers_live == 1
    paused = observed(heartbeat("w", T), heartbeat("w", T + 0.5), heartbeat("w", T + 60))
    assert paused.rates(T + 60 + 4.5).workers_live == 0


@pytest.mark.parametrize(
    ("values", "expected"), [([], None), ([3.0], 3.0), (list(range(1, 21)), 19), (list(range(1, 101)), 95)]
)
def test_the_percentile_is_the_nearest_rank(values: list[float], expected: float | None) -> None:
    assert percentile(values, 95) == expected
