"""Entries that are no job, through a real queue: set aside with their reason, bounded, no worker ends of them."""

from collections.abc import Iterator

import pytest

from lab.contract.names import ENTRY_VERSION, FIELD_JOB, FIELD_VERSION
from tests.service.model_thread import running_model
from tests.service.redis_servers import BOTH_SERVERS
from tests.service.worker_bench import Queue, burst
from worker.settlement import DEAD_STREAM, MOST_DEAD_LETTER_BYTES, MOST_DEAD_LETTERS


@pytest.fixture(scope="module")
def model_url() -> Iterator[str]:
    with running_model() as url:
        yield url


MALFORMED = {
    "another_version": {FIELD_VERSION: "0", FIELD_JOB: '{"job_id":"job-x","request_id":"request-x","deadline_at":5}'},
    "a_field_missing": {FIELD_VERSION: ENTRY_VERSION, FIELD_JOB: '{"job_id":"job-x","request_id":"request-x"}'},
    "a_time_that_is_none": {
        FIELD_VERSION: ENTRY_VERSION,
        FIELD_JOB: '{"job_id":"job-x","request_id":"request-x","deadline_at":NaN}',
    },
    "a_wrong_type": {
        FIELD_VERSION: ENTRY_VERSION,
        FIELD_JOB: '{"job_id":"job-x","request_id":"request-x","tenant":[]}',
    },
}


@pytest.mark.parametrize("fields", MALFORMED.values(), ids=MALFORMED)
def test_a_malformed_entry_that_names_its_job_is_dead_lettered(
    redis_url: str, model_url: str, queue: Queue, fields: dict[str, str]
) -> None:
    queue.put_fields(fields)
    after = queue.put()
    worked = burst(redis_url, model_url, WORKER_SLOTS="1")
    first, second = worked.of("outcome")
    assert (first["outcome"], first["job_id"], first["request_id"]) == ("dead_lettered", "job-x", "request-x")
    assert (second["outcome"], second["job_id"]) == ("ok", after.job_id)
    (dead,) = queue.dead_letters()
    (said,) = worked.of("dead_letter")
    assert dead["reason"] == said["reason"] == first["detail"]
    assert (dead["entry_id"], dead["whole"]) == (said["entry_id"], "yes")
    assert (said["job_id"], said["request_id"], said["worker_id"]) == ("job-x", "request-x", "worker-1")
    assert dead[FIELD_JOB] == fields[FIELD_JOB]
    assert queue.redis.hget("shedlab:job:job-x", "outcome") == "dead_lettered"
    assert queue.length() == 0


NAMELESS = {
    "no_fields_of_ours": {b"x": b"y"},
    "no_json": {FIELD_VERSION.encode(): b"1", FIELD_JOB.encode(): b"{"},
    "no_object": {FIELD_VERSION.encode(): b"1", FIELD_JOB.encode(): b"[1]"},
    "no_text": {FIELD_VERSION.encode(): b"1", FIELD_JOB.encode(): b"\xff\xfe\x00"},
    "a_job_id_that_is_none": {FIELD_VERSION.encode(): b"1", FIELD_JOB.encode(): b'{"job_id":"a b"}'},
    "nested_without_end": {FIELD_VERSION.encode(): b"1", FIELD_JOB.encode(): b"[" * 100_000},
    "a_megabyte": {FIELD_VERSION.encode(): b"1", FIELD_JOB.encode(): b'{"job_id":"' + b"x" * 1_000_000},
    "reasons_of_its_own": {b"reason": b"none", b"whole": b"maybe", b"entry_id": b"0-0"},
    "thousands_of_fields": {f"f{number}".encode(): b"" for number in range(9000)},
}


@pytest.mark.parametrize("fields", NAMELESS.values(), ids=NAMELESS)
def test_an_entry_without_a_name_leaves_the_stream_and_is_logged(
    redis_url: str, model_url: str, queue: Queue, fields: dict[bytes, bytes], caplog: pytest.LogCaptureFixture
) -> None:
    queue.put_fields(fields)
    worked = burst(redis_url, model_url)
    assert worked.of("outcome") == []
    assert queue.length() == 0
    assert queue.pending() == []
    (dead,), (said,) = queue.dead_letters(), worked.of("dead_letter")
    assert dead["reason"] == said["reason"] != ""
    assert (said["job_id"], said["request_id"]) == (None, None)
    assert "left the stream without a job" in caplog.text


@pytest.mark.parametrize("redis_url", BOTH_SERVERS, indirect=True)
def test_dead_letters_are_bounded_in_size_and_number(redis_url: str, model_url: str, queue: Queue) -> None:
    for number in range(MOST_DEAD_LETTERS + 3):
        queue.redis.xadd(DEAD_STREAM, {"number": number})
    queue.put_fields({b"\xff" * 10: b"\xfe" * 1_000_000, b"second": b""})
    burst(redis_url, model_url)
    assert queue.redis.xlen(DEAD_STREAM) == MOST_DEAD_LETTERS
    dead = queue.dead_letters()[-1]
    kept = {name: value for name, value in dead.items() if name not in {"entry_id", "reason", "whole"}}
    assert sum(len(name) + len(value) for name, value in kept.items()) == MOST_DEAD_LETTER_BYTES
    assert dead["whole"] == "no"


def test_a_field_that_is_named_after_ours_does_not_replace_it(redis_url: str, model_url: str, queue: Queue) -> None:
    queue.put_fields({"reason": "none", "entry_id": "0-0"})
    (said,) = burst(redis_url, model_url).of("dead_letter")
    (dead,) = queue.dead_letters()
    assert (dead["entry_id"], dead["reason"]) == (said["entry_id"], "the entry has no version; this worker reads '1'")
