"""What the enqueue endpoint says on standard output, in the gate's own kinds of lines, so that the book balances."""

from typing import TextIO

from gate.refused import RefusedError
from lab.contract.journal import emit
from lab.contract.messages import JobRequest
from lab.contract.names import POLICY_BYPASS, REASON_BYPASS

# What there is none of where nothing is decided.
UNKNOWN = (
    *("age_s", "slack_ms", "slack_floor_ms", "est_service_ms", "queue_ahead_ms", "estimator_n"),
    *("retry_after_s", "retry_after_ms"),
)


class JournalLines:
    """Writes each line at once and whole."""

    def __init__(self, stream: TextIO) -> None:
        """Writes to `stream`."""
        self._stream = stream

    def admitted(self, at: float, request: JobRequest, job_id: str, took_s: float) -> None:
        """A request that became a job: admitted, past every policy."""
        emit(
            self._stream,
            "decision",
            at,
            request_id=request.request_id,
            job_id=job_id,
            job_class=request.job_class,
            tenant=request.tenant,
            decision="admit",
            would="admit",
            reason=REASON_BYPASS,
            policy=POLICY_BYPASS,
            mode="off",
            numbers={},
            decide_s=round(took_s, 6),
            hard_backoff=False,
            **dict.fromkeys(UNKNOWN),
        )

    def refused(self, at: float, request_id: str | None, refused: RefusedError) -> None:
        """A request refused in error."""
        said = {"status": refused.status, "reason": refused.reason, "message": str(refused)}
        emit(self._stream, "refusal", at, request_id=request_id, **said)
