"""How a job ended. Pure: knows outcomes; must not know Redis, the model or a clock."""

import json
from dataclasses import dataclass
from typing import Final, Literal

from lab.contract.names import PROBE_PREFIX
from worker.delivery import Delivery, JobIdentity

RetryDenial = Literal["breaker", "retry_budget"]
STATUS_OF_OUTCOME: Final = {
    "ok": "completed",
    "late": "completed",
    "expired": "expired",
    "timeout": "failed",
    "error": "failed",
    "dead_lettered": "failed",
}
COMPLETED: Final = ("ok", "late")


@dataclass(frozen=True, slots=True)
class Ending:
    """A job's outcome, not settled yet. `finished_at` and `first_token_at` are Redis time, in unix seconds.

    `attempt` is the number of the last one, 0 for none. `identity` is None for an entry that does not name its job: it
    can only leave the stream.
    """

    delivery: Delivery
    identity: JobIdentity | None
    outcome: str
    detail: str
    finished_at: float
    first_token_at: float | None = None
    endpoint_latency_s: float | None = None
    ttft_s: float | None = None
    tokens_out: int = 0
    attempt: int = 0
    retry_denied: RetryDenial | None = None

    @property
    def completed(self) -> bool:
        """Whether the model's call was completed, in time or not."""
        return self.outcome in COMPLETED

    @property
    def dead_letter_reason(self) -> str:
        """Why the entry is kept as a dead letter, empty where it is not."""
        return self.detail if self.outcome == "dead_lettered" else ""

    @property
    def service_sample(self) -> str:
        """The job's service as the estimators read it, "<finished_unix_ms>:<service_us>"; empty where it is none.

        Service is all that a slot spends on a job, from its delivery to the answer's end: attempts that failed and the
        waits between them keep the next job waiting too.
        """
        probe = self.identity is None or self.identity.request_id.startswith(PROBE_PREFIX)
        if probe or not self.completed:
            return ""
        service_s = max(0.0, self.finished_at - self.delivery.dequeued_at)
        return f"{round(self.finished_at * 1000)}:{round(service_s * 1e6)}"

    def last_chunk(self) -> str:
        """The chunk that ends the job's answer channel."""
        said = {"done": True, "outcome": self.outcome, "tokens_out": self.tokens_out, "detail": self.detail}
        return json.dumps(said, separators=(",", ":"))
