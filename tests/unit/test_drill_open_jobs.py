"""Which admitted jobs Redis has lost: those that waited in its memory when a declared fault emptied it."""

from typing import Any

import pytest

from lab.contract.fault_spec import ProcessFault
from lab.drill.open_jobs import OpenJobs, empties_redis

KILL = "1-process"


def decision(job_id: str | None, at: float, request_id: str = "r-1") -> dict[str, Any]:
    return {"event": "decision", "at": at, "request_id": request_id, "job_id": job_id}


def outcome(job_id: str) -> dict[str, Any]:
    return {"event": "outcome", "job_id": job_id, "request_id": "r-1"}


def fault(applied_at: float, name: str = KILL) -> dict[str, Any]:
    return {"event": "fault", "name": name, "applied_at": applied_at}


def lost_of(*events: dict[str, Any], queued: tuple[str, ...] = ()) -> list[str]:
    jobs = OpenJobs(frozenset({KILL}))
    for event in events:
        jobs.observe(event)
    return [job.job_id for job in jobs.lost(queued)]


def test_an_admitted_job_that_is_neither_settled_nor_queued_is_lost() -> None:
    assert lost_of(decision("a", 1.0), decision("b", 1.5), fault(2.0), fault(3.0), outcome("b")) == ["a"]


def test_an_outcome_may_be_read_before_its_decision() -> None:
    assert lost_of(outcome("a"), decision("a", 1.0), fault(2.0)) == []


def test_what_is_queued_still_or_was_admitted_afterwards_or_never_is_not_lost() -> None:
    assert lost_of(decision("a", 1.0), decision("b", 4.0), decision(None, 1.0), fault(3.0), queued=("a",)) == []


def test_without_a_fault_that_empties_redis_a_missing_job_is_a_fault_of_the_book() -> None:
    assert lost_of(decision("a", 1.0), fault(2.0, name="2-latency")) == []


def test_a_probe_is_nobodys_job() -> None:
    assert lost_of(decision("a", 1.0, request_id="probe-1"), fault(2.0)) == []


@pytest.mark.parametrize(
    ("service", "action", "empties"),
    [("redis", "kill", True), ("redis", "restart", True), ("redis", "pause", False), ("model", "kill", False)],
)
def test_a_redis_that_ended_comes_back_empty(service: str, action: str, empties: bool) -> None:
    declared = {"kind": "process", "at": "1s", "for": "1s", "service": service, "action": action}
    assert empties_redis(ProcessFault.model_validate(declared)) is empties
