"""Deadlines, attempts and outcomes in virtual time: the clock is a number, the model a list of results."""

import asyncio
from typing import Any

import pytest

from lab.contract.messages import Job
from lab.contract.names import ENTRY_VERSION, FIELD_JOB, FIELD_VERSION
from worker.breaker import Breaker, BreakerRule
from worker.clock import Reading, RedisClock
from worker.delivery import Delivery
from worker.model_client import Attempt, Result
from worker.outage import LONGEST_PAUSE_S, pause_s
from worker.outcome import Ending
from worker.retry_budget import RetryBudget
from worker.serving import LONGEST_BACKOFF_S, Serving, backoff_s, last_attempt

# Redis time is 1,000 s ahead of the virtual monotonic clock.
AHEAD_S = 1000.0


class VirtualTime:
    def __init__(self) -> None:
        self.now = 0.0
        self.clock = RedisClock(lambda: self.now)
        self.clock.observe(Reading(0.0, 0.0, AHEAD_S))

    async def sleep(self, seconds: float) -> None:
        self.now += seconds


class ScriptedModel:
    """Gives its results one after another, each after a second; remembers the attempts' numbers."""

    def __init__(self, time: VirtualTime, *results: tuple[Result, int | None]) -> None:
        self._time = time
        self._results = list(results)
        self.numbers: list[int] = []

    async def call(self, _job: Job, attempt: int) -> Attempt:
        self.numbers.append(attempt)
        result, status = self._results.pop(0)
        started_at = self._time.now
        self._time.now += 1.0
        first_at = started_at + 0.5 if result == "ok" else None
        return Attempt(result, started_at, first_at, self._time.now, 5, status, f"it was {result}")


def delivery_of(deadline_at: float, times_begun: int = 1) -> Delivery:
    job = Job(
        job_id="job-1",
        request_id="request-1",
        job_class="chat",
        tenant="acme",
        created_at=AHEAD_S,
        deadline_at=deadline_at,
        input_tokens=1,
        max_output_tokens=5,
    )
    fields = {FIELD_VERSION: ENTRY_VERSION, FIELD_JOB: job.model_dump_json()}
    return Delivery("999500-0", fields, AHEAD_S, times_begun=times_begun)


def serve(
    *results: tuple[Result, int | None],
    deadline_s: float = 60.0,
    times_begun: int = 1,
    max_attempts: int = 3,
    breaker: Breaker | None = None,
    retry_budget: float | None = None,
) -> tuple[Ending, list[int], list[dict[str, Any]]]:
    time, events = VirtualTime(), []
    model = ScriptedModel(time, *results)

    def say(event: str, at: float, **fields: Any) -> None:
        events.append({"event": event, "at": at, **fields})

    breaker, budget = breaker or Breaker(None, lambda *_: None), RetryBudget(retry_budget)
    serving = Serving(
        "worker-1", max_attempts, model, time.clock, say, breaker=breaker, budget=budget, sleep=time.sleep
    )
    ending = asyncio.run(serving.serve(delivery_of(AHEAD_S + deadline_s, times_begun)))
    return ending, model.numbers, events


def test_the_first_success_ends_the_attempts() -> None:
    ending, numbers, events = serve(("error", 503), ("timeout", None), ("ok", 200))
    assert (ending.outcome, ending.attempt, numbers) == ("ok", 3, [1, 2, 3])
    assert [event["result"] for event in events] == ["error", "timeout", "ok"]
    started_at = AHEAD_S + 2 + backoff_s(1) + backoff_s(2)
    assert ending.first_token_at == pytest.approx(started_at + 0.5)
    assert ending.finished_at == pytest.approx(started_at + 1.0)
    assert ending.ttft_s == pytest.approx(0.5)
    assert ending.endpoint_latency_s == pytest.approx(1.0)


def test_the_last_failure_is_the_outcome() -> None:
    ending, numbers, _ = serve(("timeout", None), ("timeout", None), ("error", 500))
    assert (ending.outcome, ending.detail, numbers) == ("error", "it was error", [1, 2, 3])


def test_no_attempt_is_made_that_starts_past_the_deadline() -> None:
    ending, numbers, _ = serve(("timeout", None), ("ok", 200), deadline_s=1.05)
    assert (ending.outcome, numbers) == ("timeout", [1])


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 422])
def test_a_refusal_that_no_repetition_mends_is_not_repeated(status: int) -> None:
    assert serve(("error", status), ("ok", 200))[1] == [1]


@pytest.mark.parametrize("status", [408, 409, 429, 500, 503, None])
def test_a_failure_that_may_pass_is_repeated(status: int | None) -> None:
    assert serve(("error", status), ("ok", 200))[1] == [1, 2]


def test_done_exactly_at_the_deadline_is_ok_and_after_it_late() -> None:
    assert serve(("ok", 200), deadline_s=1.0)[0].outcome == "ok"
    assert serve(("ok", 200), deadline_s=0.9)[0].outcome == "late"


def test_a_job_past_its_deadline_is_not_started() -> None:
    ending, numbers, events = serve(deadline_s=-0.25)
    assert (ending.outcome, ending.attempt, numbers, events) == ("expired", 0, [], [])
    assert ending.detail == "its deadline passed 0.250 s before a slot was free"


def test_attempts_go_on_counting_where_an_earlier_delivery_ended() -> None:
    ending, numbers, _ = serve(("error", 500), ("error", 500), times_begun=2, max_attempts=3)
    assert (ending.attempt, numbers) == (3, [2, 3])


@pytest.mark.parametrize(("times_begun", "max_attempts", "last"), [(1, 1, 1), (1, 3, 3), (2, 1, 2), (2, 3, 3)])
def test_every_delivery_has_an_attempt_of_its_own(times_begun: int, max_attempts: int, last: int) -> None:
    assert last_attempt(times_begun, max_attempts) == last


def test_waits_double_and_are_capped() -> None:
    assert [backoff_s(failed) for failed in (1, 2, 3)] == [0.1, 0.2, 0.4]
    assert backoff_s(10_000) == LONGEST_BACKOFF_S
    assert [pause_s(failures) for failures in (1, 2, 3)] == [0.05, 0.1, 0.2]
    assert pause_s(10_000) == LONGEST_PAUSE_S


def test_an_entrys_id_says_when_it_was_enqueued() -> None:
    assert delivery_of(0.0).enqueued_at == 999.5


def test_a_retry_beyond_the_budget_is_not_made_and_the_ending_says_so() -> None:
    ending, numbers, _ = serve(("error", 503), ("ok", 200), retry_budget=0.0)
    assert (ending.outcome, ending.attempt, ending.retry_denied, numbers) == ("error", 1, "retry_budget", [1])
    assert ending.detail == "it was error; not tried again: the retry budget is spent"


def test_within_the_budget_a_retry_is_made() -> None:
    ending, numbers, _ = serve(("error", 503), ("ok", 200), retry_budget=0.2)
    assert (ending.outcome, ending.retry_denied, numbers) == ("ok", None, [1, 2])


def test_what_was_not_to_be_retried_anyway_spends_nothing_and_is_denied_nothing() -> None:
    assert serve(("error", 503), retry_budget=0.0, max_attempts=1)[0].retry_denied is None
    assert serve(("error", 400), retry_budget=0.0)[0].retry_denied is None
    assert serve(("timeout", None), retry_budget=0.0, deadline_s=1.05)[0].retry_denied is None


def breaker_after(failures: int) -> Breaker:
    return Breaker(BreakerRule(failures, open_for_s=60.0, probes=1), lambda *_: None)


def test_the_call_that_opens_the_breaker_is_not_tried_again() -> None:
    ending, numbers, _ = serve(("error", 503), ("timeout", None), ("ok", 200), breaker=breaker_after(2))
    assert (ending.outcome, ending.retry_denied, numbers) == ("timeout", "breaker", [1, 2])
    assert ending.detail == "it was timeout; not tried again: the breaker is not closed"


def test_a_request_the_provider_refuses_rightly_does_not_open_the_breaker() -> None:
    breaker = breaker_after(1)
    serve(("error", 400), breaker=breaker)
    assert breaker.closed
