"""Whatever an entry holds, it is a job or is refused with a reason, and what is said of it fits one journal line."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.contract.journal import DeadLetterEvent, line_of
from lab.contract.messages import Job
from lab.contract.names import ENTRY_VERSION, FIELD_JOB, FIELD_VERSION
from worker.delivery import MOST_JOB_CHARACTERS, Delivery, MalformedEntryError, read_job
from worker.job_line import dead_letter_fields, outcome_fields
from worker.outcome import Ending
from worker.settlement import settle_arguments, settle_keys

GOOD = Job(
    job_id="job-1",
    request_id="request-1",
    job_class="chat",
    tenant="acme",
    created_at=1000.0,
    deadline_at=1004.0,
    input_tokens=1,
    max_output_tokens=5,
).model_dump(mode="json")
REQUIRED = tuple(name for name, field in Job.model_fields.items() if field.is_required())


def refusal(fields: dict[str, str]) -> MalformedEntryError:
    with pytest.raises(MalformedEntryError) as refused:
        read_job(Delivery("1000250-3", fields, 1000.75))
    return refused.value


def refusal_of(job: dict[str, Any]) -> str:
    return str(refusal({FIELD_VERSION: ENTRY_VERSION, FIELD_JOB: json.dumps(job)}))


@pytest.mark.parametrize("name", REQUIRED)
def test_a_job_that_lacks_a_field_is_refused_by_its_name(name: str) -> None:
    without = {key: value for key, value in GOOD.items() if key != name}
    assert refusal_of(without) == f"the entry's job is malformed: {name}: Field required"


WRONG: dict[str, tuple[Any, ...]] = {
    "job_id": (7, None, "", "a b", "x" * 81),
    "request_id": ([], "é"),
    "job_class": ("a.b", {}),
    "tenant": (True, ""),
    "created_at": ("1000", None, float("nan"), float("inf"), -1, 1e12),
    "deadline_at": ("soon", True, float("nan"), float("-inf"), 1e300),
    "input_tokens": (0, 1.5, "1", 10**9),
    "max_output_tokens": (-1, None, [5]),
    "work_s": (float("nan"), -0.1, "1"),
    "first_token_s": (90_000, {}),
    "a_key_of_tomorrow": (1,),
}


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in WRONG.items() for value in values])
def test_a_field_of_the_wrong_type_or_value_is_refused_by_its_name(name: str, value: object) -> None:
    assert refusal_of(GOOD | {name: value}).startswith(f"the entry's job is malformed: {name}: ")


def test_an_entry_without_version_or_job_says_so() -> None:
    assert str(refusal({FIELD_JOB: json.dumps(GOOD)})) == "the entry has no version; this worker reads '1'"
    assert str(refusal({FIELD_VERSION: ENTRY_VERSION})) == "the entry has no field 'job'"


def test_an_oversized_job_is_refused_unread() -> None:
    huge = json.dumps(GOOD | {"tenant": "x" * MOST_JOB_CHARACTERS})
    refused = refusal({FIELD_VERSION: ENTRY_VERSION, FIELD_JOB: huge})
    assert str(refused) == f"the entry's job has {len(huge)} characters; a job has at most {MOST_JOB_CHARACTERS}"
    assert refused.identity is None


def test_a_key_of_the_entrys_own_reaches_no_terminal_as_it_is() -> None:
    reason = refusal_of(GOOD | {"\x1b[31mred\n" + "x" * 500: 1})
    assert reason.startswith("the entry's job is malformed: \\x1b[31mred\\nxxx")
    assert reason.endswith("xxx: Extra inputs are not permitted")
    assert len(reason) < 200


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from([*GOOD, "x"]), inner, max_size=6),
    max_leaves=10,
)
NEARLY_A_JOB = st.dictionaries(st.sampled_from([*GOOD, "x"]), JSON, max_size=4).map(lambda other: GOOD | other)
JOB_TEXT = st.text(max_size=200) | JSON.map(json.dumps) | NEARLY_A_JOB.map(json.dumps)
FIELDS = st.fixed_dictionaries({}, optional={FIELD_VERSION: st.just(ENTRY_VERSION) | st.text(), FIELD_JOB: JOB_TEXT})


@given(FIELDS)
def test_nothing_an_entry_holds_does_more_than_refuse_it(fields: dict[str, str]) -> None:
    delivery = Delivery("1000250-3", fields, 1000.75)
    try:
        job = read_job(delivery)
    except MalformedEntryError as error:
        ending = Ending(delivery, error.identity, "dead_lettered", str(error), 1001.0)
        assert ending.dead_letter_reason
        said = line_of(dead_letter_fields(ending, "worker-1"))
        if error.identity is not None:
            said += line_of(outcome_fields(ending, error.identity, "worker-1", first=True, settled_at=1001.0))
        # Redis takes bytes, and the journal is a file.
        "".join(map(str, (*settle_keys(ending), *settle_arguments(ending, "life"), said))).encode()
    else:
        line_of(job.model_dump(mode="json"))


def test_a_dead_letters_event_has_the_journals_fields() -> None:
    ending = Ending(Delivery("1-1", {}, 1.0), None, "dead_lettered", "why", 1.0)
    assert set(dead_letter_fields(ending, "worker-1")) == set(DeadLetterEvent.__annotations__) - {
        "event",
        "at",
        "source",
    }
