from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lab.reporter.ledger import Book, balance
from lab.reporter.read import FIELDS, Tables, read_arm
from tests.journals import Event, arm_events, header, small, write_arm

JOB: dict[str, dict[str, Any]] = {
    "request": {"job_class": "chat", "due_at": 1.0, "sent_at": 1.0, "status": 202, "job_id": "j1", "reason": None},
    "decision": {
        "job_id": "j1",
        "job_class": "chat",
        "decision": "admit",
        "would": "admit",
        "reason": "admitted",
        "mode": "enforce",
    },
    "refusal": {"status": 503, "reason": "queue_unreachable"},
    "outcome": {
        "job_id": "j1",
        "outcome": "ok",
        "duplicate": False,
        "job_class": "chat",
        "enqueued_at": 1.0,
        "dequeued_at": 1.1,
        "deadline_at": 9.0,
        "first_token_at": 1.2,
        "finished_at": 1.5,
        "slot_s": 0.4,
    },
    "unfinished": {"job_id": "j1"},
}
SHED: dict[str, Any] = {"status": 429, "job_id": None, "reason": "queue_age"}


def line(event: str, request_id: str | None = "r1", **fields: Any) -> Event:
    return {"event": event, "at": 1.0, "source": "test", "request_id": request_id, **JOB[event], **fields}


@pytest.fixture
def book_of(tmp_path: Path) -> Callable[..., Book]:
    def draw_up(*lines: Event, schedule_count: int = 1) -> Book:
        scenario, text = small()
        write_arm(tmp_path, "A-1", [header(scenario, text, "A", 1, schedule_count), *lines])
        journal = read_arm(tmp_path / "A-1")
        assert journal.damage is None
        return balance(journal.tables, schedule_count)

    return draw_up


BALANCED: dict[str, tuple[list[Event], dict[str, int]]] = {
    "an admitted job that was done": ([line("request"), line("decision"), line("outcome")], {"admitted": 1}),
    "a degraded job counts within the admitted": (
        [line("request"), line("decision", decision="degrade"), line("outcome")],
        {"admitted": 1, "degraded": 1},
    ),
    "a job left over at the end of the drain": (
        [line("request"), line("decision"), line("unfinished")],
        {"admitted": 1},
    ),
    "a job that settled after all": (
        [line("request"), line("decision"), line("unfinished"), line("outcome")],
        {"admitted": 1},
    ),
    "a shed request": (
        [line("request", **SHED), line("decision", decision="shed", job_id=None, reason="queue_age")],
        {"shed": 1},
    ),
    "a request refused in error": (
        [line("request", status=503, job_id=None), line("refusal")],
        {"refused_in_error": 1},
    ),
    "a request that met a dead gate": ([line("request", status=None, job_id=None)], {"unanswered": 1}),
    "a request never sent": (
        [line("request", sent_at=None, status=None, job_id=None)],
        {"unanswered": 1, "unsent": 1},
    ),
    "an admission whose answer was lost": (
        [line("request", status=None, job_id=None), line("decision"), line("outcome")],
        {"admitted": 1, "answer_lost": 1},
    ),
    "a refusal whose answer was lost": (
        [line("request", status=None, job_id=None), line("refusal")],
        {"refused_in_error": 1, "answer_lost": 1},
    ),
    "a job settled once and again": (
        [line("request"), line("decision"), line("outcome"), line("outcome", duplicate=True)],
        {"admitted": 1, "duplicates": 1},
    ),
    "a probe stays out": (
        [
            line("request"),
            line("decision"),
            line("outcome"),
            line("decision", "probe-1", job_id="p"),
            line("outcome", "probe-1", job_id="p"),
        ],
        {"admitted": 1},
    ),
}


@pytest.mark.parametrize("what", BALANCED)
def test_the_book_balances_for(what: str, book_of: Callable[..., Book]) -> None:
    lines, counts = BALANCED[what]
    ledger = book_of(*lines).ledger
    assert ledger.discrepancies == ()
    names = ("admitted", "shed", "refused_in_error", "unanswered", "unsent", "degraded", "answer_lost", "duplicates")
    assert {name: getattr(ledger, name) for name in names} == dict.fromkeys(names, 0) | counts
    assert ledger.offered == 1 == ledger.admitted + ledger.shed + ledger.refused_in_error + ledger.unanswered
    assert ledger.admitted == sum(ledger.outcomes.values())


UNBALANCED: dict[str, tuple[list[Event], str]] = {
    "an accepted request without a decision": (
        [line("request"), line("outcome")],
        "1 request is accepted (202) by its client's record and not admitted by the gate's: r1",
    ),
    "two job ids for one job": (
        [line("request", job_id="j2"), line("decision"), line("outcome")],
        "1 request is known to client and gate by different job ids: r1",
    ),
    "a refused request without a shed": (
        [line("request", **SHED)],
        "1 request is refused (429) by its client's record and not shed by the gate's: r1",
    ),
    "a refused request that was admitted": (
        [line("request", **SHED), line("decision"), line("outcome")],
        "1 request is refused (429) by its client's record and not shed by the gate's: r1",
    ),
    "an error that the gate never told of": (
        [line("request", status=500, job_id=None)],
        "1 request is answered with an error that no line of the gate explains: r1",
    ),
    "an error answered to an admitted request": (
        [line("request", status=500, job_id=None), line("decision"), line("outcome")],
        "1 request is answered with an error by its client's record and decided by the gate's: r1",
    ),
    "a status the gate never gives": (
        [line("request", status=200, job_id=None)],
        "1 request is answered with a status that the gate never gives: r1",
    ),
    "a decision on a request never sent": (
        [line("request", sent_at=None, status=None, job_id=None), line("decision"), line("outcome")],
        "1 request is decided by the gate though its client never sent it: r1",
    ),
    "a decision nobody asked for": (
        [line("request"), line("decision"), line("outcome"), line("decision", "r9", decision="shed", job_id=None)],
        "1 decision has no client record: r9",
    ),
    "a request decided twice": (
        [line("request"), line("decision"), line("decision"), line("outcome")],
        "1 request was decided twice: r1",
    ),
    "a request both decided and refused": (
        [line("request"), line("decision"), line("refusal"), line("outcome")],
        "1 request is both decided and refused in error by the gate: r1",
    ),
    "two client records": (
        [line("request"), line("request"), line("decision"), line("outcome")],
        "1 request has two client records: r1",
    ),
    "a job without an outcome": (
        [line("request"), line("decision")],
        "1 admitted job has no outcome from a worker and was not reported unfinished: j1",
    ),
    "a job with only a duplicate outcome": (
        [line("request"), line("decision"), line("outcome", duplicate=True)],
        "1 admitted job has no outcome from a worker and was not reported unfinished: j1",
    ),
    "two first outcomes": (
        [line("request"), line("decision"), line("outcome"), line("outcome")],
        "1 job has two first outcomes: j1",
    ),
    "an outcome of a job never admitted": (
        [line("request"), line("decision"), line("outcome"), line("outcome", "r9", job_id="j9")],
        "1 outcome is of a job never admitted: j9",
    ),
    "an unfinished job never admitted": (
        [line("request"), line("decision"), line("outcome"), line("unfinished", "r9", job_id="j9")],
        "1 unfinished line is of a job never admitted: j9",
    ),
    "an outcome of no known name": (
        [line("request"), line("decision"), line("outcome", outcome="lost")],
        "1 job has an outcome of no known name: j1",
    ),
    "an admission without a job id": (
        [line("request", job_id=None), line("decision", job_id=None)],
        "1 request is admitted by the gate without a job id: r1",
    ),
    "a scheduled request without a client record": ([], "the schedule holds 1 requests and the client recorded 0"),
}


@pytest.mark.parametrize("what", UNBALANCED)
def test_the_book_does_not_balance_for(what: str, book_of: Callable[..., Book]) -> None:
    lines, sentence = UNBALANCED[what]
    ledger = book_of(*lines).ledger
    assert not ledger.balanced
    assert sentence in ledger.discrepancies


def test_a_sentence_names_the_first_few_jobs_and_counts_the_rest(book_of: Callable[..., Book]) -> None:
    lines = [line("request", f"r{number}", job_id=f"j{number}") for number in range(5)]
    (sentence,) = book_of(*lines, schedule_count=5).ledger.discrepancies[:1]
    assert sentence.startswith("5 requests are accepted")
    assert sentence.endswith(": r0, r1, r2 and 2 more")


def test_the_slot_time_of_a_duplicate_is_kept_apart(book_of: Callable[..., Book]) -> None:
    jobs = book_of(line("request"), line("decision"), line("outcome"), line("outcome", duplicate=True, slot_s=0.7)).jobs
    assert jobs["slot_s"].tolist() == [0.4]
    assert jobs["duplicate_slot_s"].tolist() == [0.7]


def test_degraded_jobs_are_counted_apart_with_their_outcomes(book_of: Callable[..., Book]) -> None:
    plain = [line("request"), line("decision"), line("outcome")]
    degraded = [
        line("request", "r2", job_id="j2"),
        line("decision", "r2", job_id="j2", decision="degrade", would="degrade", reason="queue_age"),
        line("outcome", "r2", job_id="j2", outcome="late"),
    ]
    ledger = book_of(*plain, *degraded, schedule_count=2).ledger
    assert ledger.balanced
    assert {name: count for name, count in ledger.outcomes.items() if count} == {"ok": 1, "late": 1}
    assert {name: count for name, count in ledger.degraded_outcomes.items() if count} == {"late": 1}


def test_what_a_policy_that_only_logs_would_have_shed_is_a_projection_within_the_admitted(
    book_of: Callable[..., Book],
) -> None:
    logged = line("decision", would="shed", reason="queue_age", mode="log_only")
    ledger = book_of(line("request"), logged, line("outcome")).ledger
    assert (ledger.admitted, ledger.shed, ledger.projected_shed) == (1, 0, 1)


def test_hard_back_offs_are_counted_by_the_reason_of_their_sheds(book_of: Callable[..., Book]) -> None:
    lines = [
        each
        for number, told in enumerate((True, True, False))
        for each in (
            line("request", f"r{number}", **SHED),
            line(
                "decision",
                f"r{number}",
                decision="shed",
                would="shed",
                job_id=None,
                reason="queue_age",
                hard_backoff=told,
            ),
        )
    ]
    assert book_of(*lines, schedule_count=3).ledger.hard_backoffs == {"queue_age": 2}


def test_a_synthetic_journal_balances_and_so_does_an_empty_one(tmp_path: Path) -> None:
    scenario, text = small()
    write_arm(tmp_path, "B-1", arm_events(scenario, text, "B", rate_per_s=3.0))
    journal = read_arm(tmp_path / "B-1")
    assert journal.header is not None
    ledger = balance(journal.tables, journal.header.schedule_count).ledger
    assert ledger.balanced
    assert ledger.shed > 0
    assert balance(_empty(journal.tables), 0).ledger.balanced


def _empty(tables: Tables) -> Tables:
    assert set(tables) == set(FIELDS)
    return {event: table.iloc[:0] for event, table in tables.items()}
