"""What is said over HTTP and through the stream: the request to the gate, its answers, the job in the queue."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from lab.contract.names import DEFAULT_TENANT

Identifier = Annotated[str, Field(pattern=r"^[A-Za-z0-9._:-]{1,80}$")]
Label = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,40}$")]
Seconds = Annotated[float, Field(ge=0, le=86_400, allow_inf_nan=False)]
# To the end of the year 9999: a time that every clock, sum and journal line can hold.
UnixTime = Annotated[float, Field(ge=0, le=253_402_300_799, allow_inf_nan=False)]
ModelName = Annotated[str, Field(pattern=r"^[A-Za-z0-9._:/-]{1,80}$")]
TokenCount = Annotated[int, Field(ge=1, le=10_000_000)]

MAX_BODY_BYTES = 65_536


class Message(BaseModel):
    """Anything on the wire: frozen, and unknown keys are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class JobRequest(Message):
    """Body of `POST /v1/jobs`. Times are seconds; `deadline_s` counts from the gate's receipt.

    `work_s` and `first_token_s` are the declared service time of the lab's jobs: all of it, and the part before the
    first token. `user` is OpenAI's: which of the tenant's clients asks; it stays at the gate.
    """

    request_id: Identifier
    job_class: Label = "default"
    tenant: Label = DEFAULT_TENANT
    user: Identifier | None = None
    deadline_s: Seconds
    input_tokens: TokenCount = 1
    max_output_tokens: TokenCount = 64
    work_s: Seconds | None = None
    first_token_s: Seconds | None = None


class Job(Message):
    """One stream entry's FIELD_JOB, as JSON. Times are Redis time in unix seconds.

    Of a degraded job `max_output_tokens`, `work_s` and `first_token_s` are what is left of what was asked for; `model`
    is the fallback it goes to, None for the worker's own.
    """

    job_id: Identifier
    request_id: Identifier
    job_class: Label
    tenant: Label
    created_at: UnixTime
    deadline_at: UnixTime
    input_tokens: TokenCount
    max_output_tokens: TokenCount
    work_s: Seconds | None = None
    first_token_s: Seconds | None = None
    degraded: bool = False
    model: ModelName | None = None


class JobAccepted(Message):
    """202 of `POST /v1/jobs`; `Location` holds `/v1/jobs/{id}`."""

    id: str
    object: Literal["job"] = "job"
    status: Literal["queued"] = "queued"
    request_id: str
    created_at: float
    deadline_at: float
    degraded: bool = False


class JobStatus(Message):
    """200 of `GET /v1/jobs/{id}`. `status` is queued until the job settles; then `outcome` says how it ended."""

    id: str
    object: Literal["job"] = "job"
    status: Literal["queued", "completed", "failed", "expired"]
    request_id: str
    job_class: str
    created_at: float
    deadline_at: float
    outcome: str | None = None
    finished_at: float | None = None
    attempts: int = 0
    tokens_out: int = 0


class ErrorDetail(Message):
    """The OpenAI error object; all four keys are always there."""

    message: str
    type: str
    param: str | None = None
    code: str | None = None


class Refusal(Message):
    """Every answer of the gate that is no success. For a shed, `reason` and `numbers` say why, in base units.

    `queue_age_ms` is the age of the oldest waiting job at a shed. `error.code` is `hard_backoff` instead of the reason
    where the client came back too early too often.
    """

    error: ErrorDetail
    reason: str
    numbers: dict[str, float] = {}
    retry_after_s: float | None = None
    queue_age_ms: int | None = None


class ScheduledRequest(Message):
    """One line of schedule.jsonl: one request, due `due_s` seconds after the schedule's start.

    Its deadline counts from then.
    """

    request_id: Identifier
    due_s: Annotated[float, Field(ge=0)]
    job_class: Label
    tenant: Label
    input_tokens: TokenCount
    output_tokens: TokenCount
    work_s: Seconds
    first_token_s: Seconds
    deadline_s: Seconds
