"""The rebuilt queue, against projections worked out by hand."""

import math

import pandas as pd
import pytest

from lab.contract.loading import parse_scenario
from lab.reporter.queue_walk import Estimates, QueuedJob, estimates_of, negative_slack, queued_jobs
from lab.reporter.timeline import Timeline
from tests.journals import SMALL

NOTHING = Timeline([], [])
TWO_SLOTS = Timeline([0.0], [2.0])


def waiting(deadline_s: float, *, enqueued_s: float = 0.0, job_class: str = "chat") -> QueuedJob:
    return QueuedJob(job_class, enqueued_s, math.inf, math.inf, deadline_s)


def outcome(job_id: str, finished_at: float, slot_s: float, **fields: object) -> dict[str, object]:
    times = {"enqueued_at": 100.0, "dequeued_at": 101.0, "finished_at": finished_at, "deadline_at": 109.0}
    return {
        "job_id": job_id,
        "job_class": "chat",
        "outcome": "ok",
        "duplicate": False,
        "slot_s": slot_s,
        **times,
        **fields,
    }


def test_each_queued_job_waits_for_those_ahead_of_it_and_for_those_in_flight() -> None:
    # 2 s a job on two slots; one in flight. Projected ends at 0 s: 0 + 2/2 + 2 = 3, then 4, then 5.
    running = QueuedJob("chat", -1.0, -0.5, 9.0, 30.0)
    jobs = [running, waiting(3.0), waiting(3.9), waiting(4.9)]
    known = Estimates({"chat": Timeline([-5.0], [2.0])}, NOTHING)
    assert negative_slack(jobs, known, TWO_SLOTS, [0.0]).readings == [pytest.approx(2 / 3)]


def test_a_job_counts_as_long_as_it_waits_and_an_empty_queue_has_no_negative_slack() -> None:
    job = QueuedJob("chat", 1.0, 3.0, 4.0, 2.0)
    shares = negative_slack([job], Estimates({}, NOTHING), TWO_SLOTS, [0.5, 1.5, 2.5, 3.5, 4.5])
    assert shares.readings == [0.0, 0.0, 1.0, 0.0, 0.0]


def test_without_slots_nothing_is_projected_to_end() -> None:
    known = Estimates({}, Timeline([-1.0], [1.0]))
    assert negative_slack([waiting(99.0), waiting(99.0)], known, Timeline([0.0], [0.0]), [0.0]).readings == [1.0]


def test_what_is_expected_is_the_mean_of_what_was_known_by_then() -> None:
    table = pd.DataFrame(
        [
            outcome("a", 101.0, 1.0),
            outcome("b", 102.0, 3.0),
            outcome("c", 103.0, 9.0, outcome="timeout"),
            outcome("d", 104.0, 8.0, job_class="batch"),
        ]
    )
    known = estimates_of(table, 100.0)
    assert known.at("chat", 0.5) == 0.0
    assert known.at("chat", 1.5) == 1.0
    assert known.at("chat", 3.5) == 2.0
    assert known.at("unseen", 4.5) == 4.0
    assert estimates_of(table, 100.0, least_count=2).by_class["chat"].seconds == [2.0]


def test_a_job_that_never_settled_waits_for_ever_with_the_latest_deadline_of_its_class() -> None:
    tables = {
        "outcome": pd.DataFrame([outcome("a", 103.0, 1.0), outcome("a", 103.5, 1.0, duplicate=True)]),
        "decision": pd.DataFrame({"job_id": ["a", "b", None], "job_class": ["chat"] * 3, "at": [100.0, 100.5, 100.6]}),
    }
    settled, left = queued_jobs(tables, parse_scenario(SMALL, "small"), 100.0)
    assert settled == QueuedJob("chat", 0.0, 1.0, 3.0, 9.0)
    assert left == QueuedJob("chat", 0.5, math.inf, math.inf, 7.5)
