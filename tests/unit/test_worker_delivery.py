import json

import pytest

from lab.contract.messages import Job
from lab.contract.names import ENTRY_VERSION, FIELD_JOB, FIELD_VERSION
from worker.delivery import MOST_BEGUN, Delivery, MalformedEntryError, identity_of, read_job
from worker.job_line import outcome_fields
from worker.outcome import Ending

JOB = Job(
    job_id="job-1",
    request_id="request-1",
    job_class="chat",
    tenant="acme",
    created_at=1000.0,
    deadline_at=1004.0,
    input_tokens=1,
    max_output_tokens=5,
)


def delivery_of(text: str, version: str = ENTRY_VERSION, times_begun: int = 1) -> Delivery:
    return Delivery("1000250-3", {FIELD_VERSION: version, FIELD_JOB: text}, 1000.75, times_begun=times_begun)


def refused(delivery: Delivery) -> MalformedEntryError:
    with pytest.raises(MalformedEntryError) as refusal:
        read_job(delivery)
    return refusal.value


def test_a_job_of_this_version_is_read() -> None:
    assert read_job(delivery_of(JOB.model_dump_json())) == JOB


def test_a_job_of_another_version_keeps_its_identity() -> None:
    refusal = refused(delivery_of(JOB.model_dump_json(), version="9"))
    assert str(refusal) == "the entry's version is '9'; this worker reads '1'"
    assert refusal.identity == identity_of(JOB)


def test_what_a_malformed_job_does_not_say_is_called_unknown() -> None:
    identity = refused(delivery_of('{"job_id":"job-1","deadline_at":"soon"}')).identity
    assert identity is not None
    assert (identity.job_id, identity.request_id, identity.deadline_at) == ("job-1", "unknown", 1000.25)


@pytest.mark.parametrize("deadline_at", ["1e999", "-5", "NaN", "true"])
def test_a_deadline_that_is_no_time_never_reaches_the_journal(deadline_at: str) -> None:
    identity = refused(delivery_of(f'{{"job_id":"job-1","deadline_at":{deadline_at}}}')).identity
    assert identity is not None
    json.dumps(identity.deadline_at, allow_nan=False)


def test_a_reason_is_short_and_holds_none_of_the_entry() -> None:
    long_ago = json.loads(JOB.model_dump_json()) | {"tenant": "secret words " * 100}
    assert str(refused(delivery_of(json.dumps(long_ago)))).startswith("the entry's job is malformed: tenant: ")
    assert "secret" not in str(refused(delivery_of(json.dumps(long_ago))))


def test_the_last_delivery_allowed_is_served_and_the_next_is_not() -> None:
    text = JOB.model_dump_json()
    assert read_job(delivery_of(text, times_begun=MOST_BEGUN)) == JOB
    assert refused(delivery_of(text, times_begun=MOST_BEGUN + 1)).identity == identity_of(JOB)


def test_an_outcome_tells_the_age_in_the_queue_and_the_time_in_the_slot() -> None:
    ending = Ending(delivery_of(JOB.model_dump_json()), identity_of(JOB), "ok", "", 1001.5)
    said = outcome_fields(ending, identity_of(JOB), "worker-1", first=False, settled_at=1002.0)
    assert (said["enqueued_at"], said["dequeued_at"], said["queue_age_s"], said["slot_s"]) == (
        1000.25,
        1000.75,
        0.5,
        1.25,
    )
    assert (said["duplicate"], said["finished_at"]) == (True, 1001.5)
