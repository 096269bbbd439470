"""The worker's metrics out of the events it says, in virtual time."""

from typing import Any

import pytest
from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from lab.contract.names import PROBE_PREFIX
from worker.delivery import Delivery, JobIdentity
from worker.job_line import outcome_fields
from worker.metrics import MOST_LABELS, OTHER, Metrics
from worker.outcome import Ending


class Counted:
    """Metrics, a clock that stands still, and what was said."""

    def __init__(self) -> None:
        self.now = 100.0
        self.metrics = Metrics(4, lambda: self.now)
        self.said: list[str] = []
        self.say = self.metrics.counting(lambda event, *_, **__: self.said.append(event))

    def outcome(
        self, outcome: str = "ok", finished_at: float = 1003.0, *, first: bool = True, deliveries: int = 1, **known: Any
    ) -> None:
        """A job enqueued at 1000, delivered at 1001 and due at 1004."""
        identity = JobIdentity(
            "job-1", known.pop("request_id", "request-1"), known.pop("job_class", "chat"), "acme", 1004
        )
        ending = Ending(Delivery("1000000-0", {}, 1001.0, deliveries), identity, outcome, "", finished_at, **known)
        self.say("outcome", 0.0, **outcome_fields(ending, identity, "w", first=first, settled_at=finished_at))

    def attempt(self, result: str, status: int | None = 200, tokens_out: int = 0, ttft_s: float | None = None) -> None:
        numbers = {"endpoint_latency_s": 1.5, "ttft_s": ttft_s, "tokens_out": tokens_out}
        self.say("attempt", 0.0, request_id="request-1", result=result, status=status, **numbers)

    def value(self, name: str, **labels: str) -> float | None:
        return self.metrics.registry.get_sample_value(name, labels)


@pytest.fixture
def counted() -> Counted:
    return Counted()


def test_jobs_are_counted_by_result_and_by_outcome(counted: Counted) -> None:
    for outcome, finished_at in (
        ("ok", 1003.0),
        ("ok", 1003.5),
        ("late", 1005.0),
        ("error", 1003.0),
        ("expired", 1004.5),
    ):
        counted.outcome(outcome, finished_at)
    results = {
        (ok, late): counted.value("agent_job_result_total", ok=ok, late=late)
        for ok in ("true", "false")
        for late in ("true", "false")
    }
    assert results == {("true", "false"): 2, ("true", "true"): 1, ("false", "false"): 1, ("false", "true"): 1}
    assert counted.value("jobs_total", **{"class": "chat"}, tenant="acme", outcome="ok") == 2
    assert counted.value("job_queue_wait_seconds_sum", **{"class": "chat"}) == 5.0
    assert counted.value("job_duration_seconds_sum", **{"class": "chat"}) == 2 + 2.5 + 4 + 2 + 3.5
    # All of them had 3 s left; a slack may be negative, so there is no sum of them.
    assert counted.value("job_deadline_slack_seconds_bucket", **{"class": "chat"}, le="5.0") == 5
    assert counted.value("job_deadline_slack_seconds_bucket", **{"class": "chat"}, le="2.5") == 0
    assert (counted.value("agent_deadline_miss_ms_count"), counted.value("agent_deadline_miss_ms_sum")) == (2, 1500)


def test_every_event_is_still_said(counted: Counted) -> None:
    counted.outcome()
    counted.say("something_else", 0.0, detail="")
    assert counted.said == ["outcome", "something_else"]


def test_a_duplicate_is_no_job_but_wasted_tokens(counted: Counted) -> None:
    counted.outcome(first=False, deliveries=2, tokens_out=7, attempt=2)
    counted.outcome("expired", first=False, deliveries=2)
    assert counted.value("jobs_total", **{"class": "chat"}, tenant="acme", outcome="ok") is None
    assert counted.value("worker_deliveries_total", result="duplicate") == 2
    assert counted.value("worker_redeliveries_total") == 2
    assert counted.value("worker_duplicate_executions_total") == 1
    assert counted.value("model_wasted_tokens_total", cause="duplicate") == 7


def test_tokens_are_wasted_once_each(counted: Counted) -> None:
    counted.attempt("timeout", tokens_out=3)
    counted.attempt("ok", tokens_out=20, ttft_s=0.5)
    counted.outcome("late", 1005.0, tokens_out=20)
    counted.attempt("error", 503)
    counted.outcome("error", tokens_out=0)
    wasted = {cause: counted.value("model_wasted_tokens_total", cause=cause) for cause in ("timeout", "late", "error")}
    assert wasted == {"timeout": 3, "late": 20, "error": 0}


def test_calls_are_timed_by_their_kind_of_error(counted: Counted) -> None:
    counted.attempt("ok", ttft_s=0.5)
    counted.attempt("error", 503)
    counted.attempt("error", None)
    counted.attempt("timeout", 200)
    name = "gen_ai_client_operation_duration_seconds_count"
    assert [counted.value(name, error_type=kind) for kind in ("", "503", "error", "timeout")] == [1, 1, 1, 1]
    assert counted.value("gen_ai_client_operation_time_to_first_chunk_seconds_sum") == 0.5


def test_the_heartbeats_age_grows_until_the_next_one(counted: Counted) -> None:
    counted.now = 103.0
    assert counted.value("agent_worker_heartbeat_age_seconds") == 3.0
    counted.say("heartbeat", 0.0, worker_id="w", busy_slots=3, slots=4)
    counted.now = 103.5
    assert counted.value("agent_worker_heartbeat_age_seconds") == 0.5
    assert (counted.value("worker_busy_slots"), counted.value("worker_slots")) == (3, 4)


def test_breaker_denials_and_dead_letters_are_there(counted: Counted) -> None:
    counted.say("breaker", 0.0, worker_id="w", state="open", reason="")
    assert counted.value("worker_breaker_state", worker_breaker_state="open") == 1
    assert counted.value("worker_breaker_state", worker_breaker_state="closed") == 0
    counted.outcome("error", retry_denied="retry_budget")
    assert counted.value("worker_retries_denied_total", by="retry_budget") == 1
    counted.say("dead_letter", 0.0, worker_id="w", entry_id="1-1", job_id=None, request_id=None, reason="no job")
    counted.outcome("dead_lettered")
    assert counted.value("worker_deliveries_total", result="dead_lettered") == 1


def test_probes_stay_out_of_every_measure(counted: Counted) -> None:
    counted.outcome(request_id=f"{PROBE_PREFIX}1")
    assert counted.value("agent_job_result_total", ok="true", late="false") is None


def test_made_up_classes_are_counted_together_past_a_number(counted: Counted) -> None:
    for number in range(MOST_LABELS + 5):
        counted.outcome(job_class=f"class-{number}")
    assert counted.value("jobs_total", **{"class": "class-0"}, tenant="acme", outcome="ok") == 1
    assert counted.value("jobs_total", **{"class": OTHER}, tenant="acme", outcome="ok") == 5


def test_what_is_served_parses_as_prometheus_text(counted: Counted) -> None:
    counted.outcome("late", 1005.0)
    counted.attempt("ok", ttft_s=0.1)
    families = {
        family.name for family in text_string_to_metric_families(generate_latest(counted.metrics.registry).decode())
    }
    assert {"agent_job_result", "agent_deadline_miss_ms", "agent_worker_heartbeat_age_seconds", "jobs"} <= families
