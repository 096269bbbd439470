"""Refusals as clients read them: OpenAI's error body, a code per reason, when to come back, and when not to."""

import json
from typing import Any

import pytest
from fastapi import Response

from gate.answers import decided_answer
from gate.waiting import Decided
from lab.contract.messages import JobRequest, Refusal
from lab.policies.decision import Decision, Forecast

REQUEST = JobRequest(request_id="r-1", deadline_s=2.0)
NUMBERS = {"queue_age_s": 1.2344, "queued_per_slot": 6.0, "limit_queued_per_slot": 4.0}
FORECAST = Forecast(2.0, 0.35, 200, 2.1, 0.25)


def shed(**fields: Any) -> Decision:
    decided: dict[str, Any] = {"reason": "deadline_slack", "numbers": NUMBERS, "retry_after_s": 2.345}
    return Decision("shed", "shed", **(decided | {"forecast": FORECAST} | fields))


def answered(decision: Decision, *, hard: bool = False) -> tuple[Response, Refusal]:
    answer = decided_answer(REQUEST, Decided(decision, None, None, None, hard))
    return answer, Refusal.model_validate_json(bytes(answer.body))


def test_a_shed_is_openais_rate_limit_error_with_its_reason_and_numbers() -> None:
    answer, refusal = answered(shed())
    assert answer.status_code == 429
    assert set(json.loads(bytes(answer.body))["error"]) == {"message", "type", "param", "code"}
    assert (refusal.error.type, refusal.error.code, refusal.reason) == (
        "rate_limit_error",
        "deadline_slack",
        "deadline_slack",
    )
    assert (refusal.numbers, refusal.queue_age_ms, refusal.retry_after_s) == (NUMBERS, 1235, 2.345)


def test_the_headers_say_whole_seconds_rounded_up_and_milliseconds() -> None:
    answer, _ = answered(shed())
    assert (answer.headers["retry-after"], answer.headers["retry-after-ms"]) == ("3", "2345")
    assert "x-should-retry" not in answer.headers


def test_the_sentence_names_the_limit_crossed_and_the_slack() -> None:
    _, refusal = answered(shed())
    assert refusal.error.message == (
        "Shed by deadline_slack: queued_per_slot is 6, limit 4, "
        "projected slack is -0.450 s, at least 0.25 s are needed; try again in 2.3 s."
    )


def test_what_can_never_be_met_is_not_to_be_retried() -> None:
    answer, refusal = answered(shed(reason="deadline_unmeetable", futile=True))
    assert answer.headers["x-should-retry"] == "false"
    assert refusal.error.code == "deadline_unmeetable"
    assert "do not retry" in refusal.error.message


def test_a_client_that_keeps_coming_back_gets_a_code_of_its_own_and_keeps_its_reason() -> None:
    answer, refusal = answered(shed(retry_after_s=9.38), hard=True)
    assert (refusal.error.code, refusal.reason) == ("hard_backoff", "deadline_slack")
    assert answer.headers["retry-after"] == "10"
    assert "stay away for 9.4 s" in refusal.error.message


@pytest.mark.parametrize(("decision", "degraded"), [("admit", False), ("degrade", True)])
def test_an_acceptance_says_whether_it_is_degraded(decision: Any, *, degraded: bool) -> None:
    decided = Decided(Decision(decision, decision, "admitted", {}, None), "j-1", 1_000.0, 1_002.0)
    answer = decided_answer(REQUEST, decided)
    assert (answer.status_code, answer.headers["location"]) == (202, "/v1/jobs/j-1")
    assert json.loads(bytes(answer.body))["degraded"] is degraded
