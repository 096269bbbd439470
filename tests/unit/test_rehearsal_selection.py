"""Which events are the last play's."""

from typing import Any

from lab.drill.rehearsal.play import last_play
from lab.drill.rehearsal.selection import AFTERGLOW_S, select

T = 1_800_000_000.0
SCHEDULED = frozenset(("r-1", "r-2"))


def decided(name: str, at: float, job_id: str | None) -> dict[str, Any]:
    return {"event": "decision", "at": at, "source": "gate-1", "request_id": name, "job_id": job_id}


def settled(job_id: str, at: float, enqueued_at: float) -> dict[str, Any]:
    return {
        "event": "outcome",
        "at": at,
        "source": "worker-1",
        "request_id": "r-1",
        "job_id": job_id,
        "enqueued_at": enqueued_at,
    }


def test_only_what_came_since_the_announcement_counts_in_order_of_time() -> None:
    events = [settled("j-1", T + 3, T + 1), decided("r-1", T + 1, "j-1"), decided("r-1", T - 9, "j-0")]
    assert [event["at"] for event in select(events, T, SCHEDULED).events] == [T + 1, T + 3]


def test_jobs_of_an_earlier_play_that_were_still_queued_are_left_out() -> None:
    seen = decided("r-1", T - 2, "j-old")
    unseen = settled("j-older", T + 1, T - 300)
    attempt = {"event": "attempt", "at": T + 1, "source": "worker-1", "request_id": "r-1", "job_id": "j-old"}
    ours = [decided("r-1", T + 1, "j-1"), settled("j-1", T + 2, T + 1)]
    selected = select([seen, settled("j-old", T + 1, T - 2), unseen, attempt, *ours], T, SCHEDULED)
    assert list(selected.events) == ours
    assert selected.admitted == {"j-1"}


def test_an_outcome_of_a_job_that_nobody_admitted_stays_for_the_book_to_find() -> None:
    stray = settled("j-stray", T + 2, T + 1)
    assert stray in select([decided("r-1", T + 1, "j-1"), stray], T, SCHEDULED).events


def test_requests_that_are_not_of_the_schedule_are_counted_and_left_out_with_their_jobs() -> None:
    curl = [decided("by-hand", T + 1, "j-hand"), settled("j-hand", T + 2, T + 1)]
    probe = decided("probe-1", T + 1, "j-probe")
    selected = select([*curl, probe, decided("r-2", T + 1, None)], T, SCHEDULED)
    assert [event["request_id"] for event in selected.events] == ["r-2"]
    assert selected.foreign_count == 1


def test_what_the_stack_says_of_itself_ends_shortly_after_the_play() -> None:
    samples = [{"event": "signals", "at": T + second, "source": "gate-1"} for second in (1, 5, 60)]
    beats = [{"event": "heartbeat", "at": T + 2, "source": f"worker-{n}", "slots": 4} for n in (1, 2)]
    selected = select([*samples, *beats, settled("j-1", T + 5, T + 1)], T, SCHEDULED)
    assert selected.until_at == T + 5 + AFTERGLOW_S
    assert [event["at"] for event in selected.events if event["event"] == "signals"] == [T + 1, T + 5]
    assert selected.worker_slots == {"worker-1": 4, "worker-2": 4}


def test_the_last_play_is_the_one_that_began_last() -> None:
    def start(at: float) -> dict[str, Any]:
        return {"event": "schedule_start", "at": at, "start_at": at + 1, "due_count": 2}

    request = {"event": "request", "at": T, "request_id": "r-1", "sent_at": T}
    end = {"event": "load_end", "at": T}
    assert last_play([]) is None
    play = last_play([start(T), request, end, start(T + 60), request, request])
    assert play is not None
    assert (play.announced_at, play.start_at, play.sent_count, play.ended) == (T + 60, T + 61, 1, False)
    over = last_play([start(T), request, end])
    assert over is not None
    assert over.ended


def test_a_request_that_was_never_sent_is_not_among_those_sent() -> None:
    start = {"event": "schedule_start", "at": T, "start_at": T + 1, "due_count": 2}
    requests = [
        {"event": "request", "at": T, "request_id": "r-1", "sent_at": T},
        {"event": "request", "at": T, "request_id": "r-2", "sent_at": None},
    ]
    play = last_play([start, *requests, {"event": "load_end", "at": T + 2}])
    assert play is not None
    assert (play.sent_count, play.due_count, play.ended) == (1, 2, True)
