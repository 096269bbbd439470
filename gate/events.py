"""What the gate says on standard output: one line per decision, per request refused in error, and per signals sample.

Each is counted as it is said, so that /metrics and the journal agree. Knows the journal's fields. Must not know who
reads them.
"""

import math
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, TextIO

from gate.metrics import GateMetrics
from gate.refused import RefusedError
from gate.waiting import Decided
from lab.contract.journal import emit
from lab.contract.messages import JobRequest
from lab.policies.decision import Decision
from lab.policies.drift import Drift
from lab.policies.estimate import Estimate
from lab.policies.snapshot import SIGNALS, Snapshot

FORECAST_FIELDS = ("slack_ms", "slack_floor_ms", "est_service_ms", "queue_ahead_ms", "estimator_n")


class EventWriter:
    """Writes events, each at once and whole, so that a line stands in the journal before its answer is sent."""

    def __init__(self, stream: TextIO, metrics: GateMetrics) -> None:
        """Writes to `stream`, and counts in `metrics`."""
        self._stream = stream
        self._metrics = metrics

    def decision(self, at: float, request: JobRequest, decided: Decided, policy: str, decide_s: float) -> None:
        """One request decided; `policy` is how decisions name it."""
        decision = decided.decision
        emit(
            self._stream,
            "decision",
            at,
            request_id=request.request_id,
            job_id=decided.job_id,
            job_class=request.job_class,
            tenant=request.tenant,
            decision=decision.decision,
            would=decision.would,
            reason=decision.reason,
            policy=policy,
            mode=decision.mode,
            numbers=decision.numbers,
            retry_after_s=decision.retry_after_s,
            decide_s=round(decide_s, 6),
            **declared_fields(decision),
            hard_backoff=decided.hard_backoff,
        )
        self._metrics.decision(request, decided, policy, decide_s)

    def refusal(self, at: float, request_id: str | None, refused: RefusedError) -> None:
        """A request refused in error."""
        said = {"status": refused.status, "reason": refused.reason, "message": str(refused)}
        emit(self._stream, "refusal", at, request_id=request_id, **said)
        self._metrics.refusal(request_id, refused.reason)

    def bypass(self, at: float, request_id: str, status: int) -> None:
        """A request forwarded past the queue, and the status that came back."""
        emit(self._stream, "bypass", at, request_id=request_id, status=status)
        self._metrics.bypass()

    def signals(self, snapshot: Snapshot) -> None:
        """A sample of the signals."""
        emit(self._stream, "signals", snapshot.now_at, **{signal: getattr(snapshot, signal) for signal in SIGNALS})
        self._metrics.signals(snapshot)

    def drift(self, at: float, drift: Drift) -> None:
        """A class's estimate more than doubled in short time."""
        emit(self._stream, "drift", at, **asdict(drift))
        self._metrics.drift(drift.job_class)

    def estimates(self, estimates: Mapping[str, Estimate]) -> None:
        """The estimates in force; they are no events, each decision says its own."""
        self._metrics.estimates(estimates)

    def negative_slack(self, ratio: float) -> None:
        """The share of the queue that is not expected to be done in time; the report rebuilds it from the outcomes."""
        self._metrics.negative_slack(ratio)


def declared_fields(decision: Decision) -> dict[str, Any]:
    """The fields of a decision that the drills name, in ms as they do."""
    age = {"age_s": decision.numbers.get("queue_age_s"), "retry_after_ms": whole_ms(decision.retry_after_s)}
    forecast = decision.forecast
    if forecast is None:
        return age | dict.fromkeys(FORECAST_FIELDS)
    # From nothing nothing is expected, which is not the same as a service that takes no time.
    est_service_s = forecast.est_service_s if forecast.estimator_n or forecast.est_service_s else None
    numbers_ms = map(_ms, (forecast.slack_s, forecast.slack_floor_s, est_service_s, forecast.queue_ahead_s))
    return age | dict(zip(FORECAST_FIELDS, (*numbers_ms, forecast.estimator_n), strict=True))


def whole_ms(seconds: float | None) -> int | None:
    """Seconds as whole milliseconds, never less than they are."""
    return None if seconds is None else math.ceil(round(seconds * 1000, 3))


def _ms(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds * 1000, 3)
