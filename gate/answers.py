"""The gate's decisions as HTTP, in the shape of the contract's messages."""

import math

from fastapi import Response

from gate.events import whole_ms
from gate.plain_answers import JOBS_PATH, json_answer
from gate.waiting import Decided
from lab.contract import names
from lab.contract.messages import ErrorDetail, JobAccepted, JobRequest, Refusal
from lab.policies.decision import Decision


def decided_answer(request: JobRequest, decided: Decided) -> Response:
    """202 for a job, 429 for a shed."""
    if decided.job_id is None or decided.created_at is None or decided.deadline_at is None:
        return _shed_answer(decided)
    accepted = JobAccepted(
        id=decided.job_id,
        request_id=request.request_id,
        created_at=decided.created_at,
        deadline_at=decided.deadline_at,
        degraded=decided.decision.decision == "degrade",
    )
    return json_answer(accepted, 202, {"Location": f"{JOBS_PATH}/{decided.job_id}"})


def _shed_answer(decided: Decided) -> Response:
    decision = decided.decision
    told_s = decision.retry_after_s or 0.0
    error = ErrorDetail(
        message=_shed_sentence(decided, told_s),
        type="rate_limit_error",
        code=names.CODE_HARD_BACKOFF if decided.hard_backoff else decision.reason,
    )
    refusal = Refusal(
        error=error,
        reason=decision.reason,
        numbers=decision.numbers,
        retry_after_s=told_s,
        queue_age_ms=whole_ms(decision.numbers.get("queue_age_s")),
    )
    return json_answer(refusal, 429, _retry_headers(decision, told_s))


def _retry_headers(decision: Decision, told_s: float) -> dict[str, str]:
    headers = {
        names.HEADER_RETRY_AFTER: str(math.ceil(told_s)),
        names.HEADER_RETRY_AFTER_MS: str(whole_ms(told_s)),
    }
    return headers | ({names.HEADER_SHOULD_RETRY: "false"} if decision.futile else {})


def _shed_sentence(decided: Decided, told_s: float) -> str:
    decision = decided.decision
    why = f"Shed by {decision.reason}{_numbers(decision)}"
    if decision.futile:
        return f"{why}; not even an idle system is expected to meet this deadline, so do not retry with it."
    if decided.hard_backoff:
        return f"{why}; you keep coming back too early, so stay away for {told_s:.1f} s."
    return f"{why}; try again in {told_s:.1f} s."


def _numbers(decision: Decision) -> str:
    numbers, forecast = decision.numbers, decision.forecast
    bounds = [
        f"{signal} is {value:g}, limit {limit:g}"
        for signal, value in numbers.items()
        if (limit := numbers.get(f"limit_{signal}")) is not None
    ]
    if forecast is not None and forecast.slack_floor_s is not None:
        floor_s = forecast.slack_floor_s
        bounds.append(f"projected slack is {forecast.slack_s:.3f} s, at least {floor_s:g} s are needed")
    return f": {', '.join(bounds)}" if bounds else ""
