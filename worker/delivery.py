"""What a stream entry says, read and checked. Pure: knows its fields; must not know Redis, a clock or the model."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, TypeVar

from pydantic import TypeAdapter, ValidationError

from lab.contract.messages import MAX_BODY_BYTES, Identifier, Job, UnixTime
from lab.contract.names import ENTRY_VERSION, FIELD_JOB, FIELD_VERSION

# An entry begun more often than this has outlived as many workers, and is taken for what killed them.
MOST_BEGUN: Final = 5
T = TypeVar("T")
UNKNOWN: Final = "unknown"
# A job says less than the request it was made of.
MOST_JOB_CHARACTERS: Final = MAX_BODY_BYTES
LONGEST_KEY_SHOWN: Final = 60
_IDENTIFIER: TypeAdapter[str] = TypeAdapter(Identifier)
_UNIX_TIME: TypeAdapter[float] = TypeAdapter(UnixTime)


@dataclass(frozen=True, slots=True)
class Delivery:
    """One entry in this worker's hands. `dequeued_at` is Redis time in unix seconds; both counts include this delivery.

    `delivery_count` is Redis' own, and counts replies that were cut off too. `times_begun` counts those that began.
    """

    entry_id: str
    fields: Mapping[str, str]
    dequeued_at: float
    delivery_count: int = 1
    times_begun: int = 1

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
        MalformedEntryError: it is of another version, no valid job, or was begun too often.
    """
    text = delivery.fields.get(FIELD_JOB, "")
    if (reason := _reason_unread(text, delivery.fields)) is not None:
        raise MalformedEntryError(reason, _claimed_identity(text, delivery))
    try:
        # The gate writes no number as a text: what would have to be guessed at is of another make.
        job = Job.model_validate_json(text, strict=True)
    except ValidationError as error:
        raise MalformedEntryError(_first_reason(error), _claimed_identity(text, delivery)) from None
    if delivery.times_begun > MOST_BEGUN:
        raise MalformedEntryError(
            f"the entry was begun {delivery.times_begun} times and never settled", identity_of(job)
        )
    return job


def _reason_unread(text: str, fields: Mapping[str, str]) -> str | None:
    """Why the job is not even parsed, None where it is."""
    version = fields.get(FIELD_VERSION)
    if version is None:
        return f"the entry has no version; this worker reads {ENTRY_VERSION!r}"
    if version != ENTRY_VERSION:
        return f"the entry's version is {version[:40]!r}; this worker reads {ENTRY_VERSION!r}"
    if FIELD_JOB not in fields:
        return f"the entry has no field {FIELD_JOB!r}"
    if len(text) > MOST_JOB_CHARACTERS:
        return f"the entry's job has {len(text)} characters; a job has at most {MOST_JOB_CHARACTERS}"
    return None


def _first_reason(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_input=False)[0]
    # A key that no job has is the entry's own word: it is shown, not repeated.
    where = ".".join(str(part) for part in first["loc"])[:LONGEST_KEY_SHOWN].encode("unicode_escape").decode()
    return f"the entry's job is malformed: {where + ': ' if where else ''}{first['msg']}"[:300]


def _claimed_identity(text: str, delivery: Delivery) -> JobIdentity | None:
    """What a malformed job says of itself, so that it can still be settled under its own name."""
    try:
        said = json.loads(text) if len(text) <= MOST_JOB_CHARACTERS else None
    except (ValueError, RecursionError):
        return None
    if not isinstance(said, dict) or (job_id := _valid(_IDENTIFIER, said.get("job_id"))) is None:
        return None
    request_id, job_class, tenant = (
        _valid(_IDENTIFIER, said.get(key)) or UNKNOWN for key in ("request_id", "job_class", "tenant")
    )
    deadline_at = _valid(_UNIX_TIME, said.get("deadline_at"))
    return JobIdentity(
        job_id, request_id, job_class, tenant, delivery.enqueued_at if deadline_at is None else deadline_at
    )


def _valid(kind: TypeAdapter[T], value: object) -> T | None:
    try:
        return kind.validate_python(value, strict=True)
    except ValidationError:
        return None
