"""What the gate says on standard output: one line per decision, per request refused in error, and per signals sample.

Knows the journal's fields. Must not know who reads them.
"""

from typing import TextIO

from gate.refused import RefusedError
from lab.contract.journal import emit
from lab.contract.messages import JobRequest
from lab.contract.policy_spec import Mode
from lab.policies.decision import Decision
from lab.policies.snapshot import SIGNALS, Snapshot


class EventWriter:
    """Writes events, each at once and whole, so that a line stands in the journal before its answer is sent."""

    def __init__(self, stream: TextIO) -> None:
        """Writes to `stream`."""
        self._stream = stream

    def decision(
        self,
        at: float,
        request: JobRequest,
        *,
        job_id: str | None,
        decision: Decision,
        policy: str,
        mode: Mode,
        decide_s: float,
    ) -> None:
        """One request decided."""
        emit(
            self._stream,
            "decision",
            at,
            request_id=request.request_id,
            job_id=job_id,
            job_class=request.job_class,
            tenant=request.tenant,
            decision=decision.decision,
            would=decision.would,
            reason=decision.reason,
            policy=policy,
            mode=mode,
            numbers=decision.numbers,
            retry_after_s=decision.retry_after_s,
            decide_s=round(decide_s, 6),
        )

    def refusal(self, at: float, request_id: str | None, refused: RefusedError) -> None:
        """A request refused in error."""
        said = {"status": refused.status, "reason": refused.reason, "message": str(refused)}
        emit(self._stream, "refusal", at, request_id=request_id, **said)

    def signals(self, snapshot: Snapshot) -> None:
        """A sample of the signals."""
        emit(self._stream, "signals", snapshot.now_at, **{signal: getattr(snapshot, signal) for signal in SIGNALS})
