"""What a stream entry says, read and checked. Pure: knows its fields; must not know Redis, a clock or the model."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from pydantic import TypeAdapter, ValidationError

from lab.contract.messages import Identifier, Job
from lab.contract.names import ENTRY_VERSION, FIELD_JOB, FIELD_VERSION

# An entry delivered more often than this has outlived as many workers, and is taken for what killed them.
MOST_DELIVERIES: Final = 5
UNKNOWN: Final = "unknown"
# The end of the year 9999.
LAST_UNIX_TIME: Final = 253_402_300_799.0
_IDENTIFIER: TypeAdapter[str] = TypeAdapter(Identifier)


@dataclass(frozen=True, slots=True)
class Delivery:
    """One entry in this worker's hands. `dequeued_at` is Redis time in unix seconds; `delivery_count` counts it too."""

    entry_id: str
    fields: Mapping[str, str]
    dequeued_at: float
    delivery_count: int = 1

    @property
    def enqueued_at(self) -> float:
        """When Redis took the entry, in unix seconds: the first half of its id, in ms."""
        return int(self.entry_id.partition("-")[0]) / 1000


@dataclass(frozen=True, slots=True)
class JobIdentity:
    """Whose job it is, as far as the entry says."""

    job_id: str
    request_id: str
    job_class: str
    tenant: str
    deadline_at: float


class MalformedEntryError(Exception):
    """An entry that is no job of this version. `identity` is None where it does not even name the job."""

    def __init__(self, reason: str, identity: JobIdentity | None) -> None:
        super().__init__(reason)
        self.identity = identity


def identity_of(job: Job) -> JobIdentity:
    """The part of a job that its outcome repeats."""
    return JobIdentity(job.job_id, job.request_id, job.job_class, job.tenant, job.deadline_at)


def read_job(delivery: Delivery) -> Job:
    """The job in an entry.

    Raises:
        MalformedEntryError: it is of another version, no valid job, or was delivered too often.
    """
    text = delivery.fields.get(FIELD_JOB, "")
    version = delivery.fields.get(FIELD_VERSION)
    if version != ENTRY_VERSION:
        reason = f"the entry's version is {str(version)[:40]!r}; this worker reads {ENTRY_VERSION!r}"
        raise MalformedEntryError(reason, _claimed_identity(text, delivery))
    try:
        job = Job.model_validate_json(text)
    except ValidationError as error:
        raise MalformedEntryError(_first_reason(error), _claimed_identity(text, delivery)) from None
    if delivery.delivery_count > MOST_DELIVERIES:
        raise MalformedEntryError(
            f"the entry was delivered {delivery.delivery_count} times and never settled", identity_of(job)
        )
    return job


def _first_reason(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_input=False)[0]
    where = ".".join(str(part) for part in first["loc"])
    return f"the entry's job is malformed: {where + ': ' if where else ''}{first['msg']}"[:300]


def _claimed_identity(text: str, delivery: Delivery) -> JobIdentity | None:
    """What a malformed job says of itself, so that it can still be settled under its own name."""
    try:
        said = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(said, dict) or (job_id := _identifier(said, "job_id")) is None:
        return None
    request_id, job_class, tenant = (_identifier(said, key) or UNKNOWN for key in ("request_id", "job_class", "tenant"))
    deadline_at = said.get("deadline_at")
    if not isinstance(deadline_at, float | int) or not 0 <= deadline_at <= LAST_UNIX_TIME:
        deadline_at = delivery.enqueued_at
    return JobIdentity(job_id, request_id, job_class, tenant, float(deadline_at))


def _identifier(said: dict[str, Any], name: str) -> str | None:
    try:
        return _IDENTIFIER.validate_python(said.get(name))
    except ValidationError:
        return None
