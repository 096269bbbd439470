"""The admission script on real servers: its signals, its rules, what it writes, and that both evaluators agree."""

import asyncio
import json
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, TypeVar

import pytest
import redis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gate.script import QueueUnreachableError
from gate.stream import JobStream
from gate.waiting import ActivePolicy
from gate.wire import Candidate, Reply
from lab.contract import names
from lab.contract.messages import Job
from lab.contract.policy_spec import POLICY_ADAPTER
from lab.policies.estimate import work_ahead_s
from lab.policies.rule import Action, Condition, Rule, first_holding
from lab.policies.snapshot import SIGNALS, AdmissionRequest, ServiceSample, Snapshot
from tests.service.redis_servers import BOTH_SERVERS, LOOPBACK, RedisServer

both_servers = pytest.mark.parametrize("redis_url", BOTH_SERVERS, indirect=True)
Result = TypeVar("Result")
SMOOTHING_S = 1.0
HEARTBEAT_S = 0.5
NOTHING: Mapping[str, float] = {}


def no_hint(_: Snapshot) -> float:
    return 0.0


def shed_if(*conditions: Condition) -> Rule:
    return Rule("shed", "full", conditions, no_hint)


def candidate(number: int, *rules: Rule, effect: Action | None = "shed", job_class: str = "chat") -> Candidate:
    job: dict[str, object] = {
        "job_id": f"j-{number}",
        "request_id": f"r-{number}",
        "job_class": job_class,
        "tenant": "default",
    }
    job |= {"input_tokens": 1, "max_output_tokens": 9}
    degraded = json.dumps(job | {"max_output_tokens": 2, "degraded": True})
    guarded = tuple((rule, effect) for rule in rules)
    return Candidate(f"j-{number}", json.dumps(job), f"r-{number}", job_class, 2.5, guarded, degraded)


def with_stream(redis_url: str, play: Callable[[JobStream], Awaitable[Result]]) -> Result:
    async def played() -> Result:
        stream = JobStream(redis_url, SMOOTHING_S, HEARTBEAT_S)
        try:
            return await play(stream)
        finally:
            await stream.close()

    return asyncio.run(played())


def admit(
    redis_url: str,
    *candidates: Candidate,
    late_s: float = 60.0,
    save: bool = False,
    expected_s: Mapping[str, float] = NOTHING,
) -> Reply:
    async def play(stream: JobStream) -> Reply:
        now = await stream.admit([], 0.0, save_utilization=False, expected_s=NOTHING)
        latest_at = now.snapshot.now_at + late_s
        return await stream.admit(candidates, latest_at, save_utilization=save, expected_s=expected_s)

    return with_stream(redis_url, play)


@contextmanager
def client_of(redis_url: str) -> Iterator[Any]:
    client = redis.Redis.from_url(redis_url, decode_responses=True)
    yield client
    client.close()


def deliver(client: Any, count: int) -> list[str]:
    ((_, entries),) = client.xreadgroup(names.GROUP, "w", {names.STREAM: ">"}, count=count)
    return [entry for entry, _ in entries]


def worker_beats(client: Any, worker_id: str, slots: int, ago_s: float = 0.0) -> None:
    seconds, microseconds = client.time()
    client.hset(names.WORKERS_KEY, worker_id, slots)
    client.zadd(names.HEARTBEATS_KEY, {worker_id: (seconds - ago_s) * 1000 + microseconds / 1000})


@both_servers
def test_an_admitted_request_is_a_job_in_the_stream_and_a_hash_that_expires(redis_url: str) -> None:
    reply = admit(redis_url, candidate(1))
    now_at = reply.verdicts[0].snapshot.now_at
    with client_of(redis_url) as client:
        ((_, fields),) = client.xrange(names.STREAM)
        job = Job.model_validate_json(fields[names.FIELD_JOB])
        key = names.JOB_KEY_PREFIX + "j-1"
        assert fields[names.FIELD_VERSION] == names.ENTRY_VERSION
        assert (job.job_id, job.created_at) == ("j-1", now_at)
        assert job.deadline_at == pytest.approx(now_at + 2.5, abs=1e-5)
        assert client.hget(key, "status") == "queued"
        assert 0 < client.ttl(key) <= names.JOB_RETENTION_S


@both_servers
def test_the_signals_are_those_of_the_stream_as_entries_are_delivered_and_settled(redis_url: str) -> None:
    admit(redis_url, *map(candidate, range(5)))
    with client_of(redis_url) as client:
        assert _depth_and_in_flight(redis_url) == (5, 0)
        first, *_ = deliver(client, 3)
        assert _depth_and_in_flight(redis_url) == (2, 3)
        client.xack(names.STREAM, names.GROUP, first)
        client.xdel(names.STREAM, first)
        assert _depth_and_in_flight(redis_url) == (2, 2)
        # A deleted entry that was never delivered makes the group's own lag unknown.
        client.xdel(names.STREAM, client.xrevrange(names.STREAM, count=1)[0][0])
        assert _depth_and_in_flight(redis_url) == (1, 2)


def _depth_and_in_flight(redis_url: str) -> tuple[int, int]:
    snapshot = admit(redis_url).snapshot
    return snapshot.queue_depth, snapshot.in_flight


@both_servers
def test_queue_age_is_that_of_the_oldest_entry_not_yet_delivered(redis_url: str) -> None:
    with client_of(redis_url) as client:
        admit(redis_url)
        now_ms = client.time()[0] * 1000
        for age_s in (30, 20, 10):
            client.xadd(names.STREAM, {"v": "1"}, id=f"{now_ms - age_s * 1000}-0")
        ages_s = [admit(redis_url).snapshot.queue_age_s]
        for _ in range(3):
            deliver(client, 1)
            ages_s.append(admit(redis_url).snapshot.queue_age_s)
    assert ages_s[-1] == 0
    # The stream's ids were made of whole seconds, and the test itself takes a moment.
    assert [pytest.approx(age_s, abs=5) for age_s in (30, 20, 10)] == ages_s[:3]


@both_servers
def test_slots_are_those_of_workers_that_still_beat(redis_url: str) -> None:
    with client_of(redis_url) as client:
        worker_beats(client, "alive-1", 4)
        worker_beats(client, "alive-2", 3)
        worker_beats(client, "dead", 64, ago_s=names.LIVE_HEARTBEATS * HEARTBEAT_S + 1)
        assert admit(redis_url).snapshot.slots == 7


@both_servers
def test_utilization_moves_from_what_was_saved_towards_occupied_over_slots(redis_url: str) -> None:
    admit(redis_url, *map(candidate, range(4)))
    with client_of(redis_url) as client:
        worker_beats(client, "w", 8)
        assert admit(redis_url).snapshot.utilization_ratio == 0
        deliver(client, 4)
        seconds, _ = client.time()
        client.hset(names.UTILIZATION_KEY, mapping={"value": "0.1", "at_ms": str((seconds - 60) * 1000)})
        assert admit(redis_url).snapshot.utilization_ratio == pytest.approx(0.5, abs=1e-9)
        client.hset(names.UTILIZATION_KEY, mapping={"value": "0.1", "at_ms": str((seconds + 60) * 1000)})
        assert admit(redis_url).snapshot.utilization_ratio == pytest.approx(0.1)


@both_servers
def test_utilization_keeps_its_last_value_while_no_worker_lives(redis_url: str) -> None:
    with client_of(redis_url) as client:
        client.hset(names.UTILIZATION_KEY, mapping={"value": "0.75", "at_ms": "0"})
        assert admit(redis_url, save=True).snapshot.utilization_ratio == 0.75
        assert client.hget(names.UTILIZATION_KEY, "at_ms") == "0"


@both_servers
def test_only_a_sample_saves_the_smoothed_utilization(redis_url: str) -> None:
    with client_of(redis_url) as client:
        worker_beats(client, "w", 8)
        admit(redis_url)
        assert client.exists(names.UTILIZATION_KEY) == 0
        reply = admit(redis_url, save=True)
        assert float(client.hget(names.UTILIZATION_KEY, "value")) == reply.snapshot.utilization_ratio


@both_servers
def test_each_request_of_a_batch_is_decided_on_the_signals_that_those_before_it_left(redis_url: str) -> None:
    rule = shed_if(Condition("queue_depth", ">", 1))
    reply = admit(redis_url, *(candidate(number, rule) for number in range(4)))
    assert [verdict.enqueued for verdict in reply.verdicts] == [True, True, False, False]
    assert [verdict.snapshot.queue_depth for verdict in reply.verdicts] == [0, 1, 2, 2]
    assert [verdict.rule for verdict in reply.verdicts] == [None, None, 0, 0]
    assert reply.snapshot.queue_depth == 2


@both_servers
def test_a_shed_writes_nothing(redis_url: str) -> None:
    admit(redis_url, candidate(0))
    rule = shed_if(Condition("queue_depth", ">=", 1))
    with client_of(redis_url) as client:
        before = client.info("persistence")["rdb_changes_since_last_save"]
        reply = admit(redis_url, *(candidate(number, rule) for number in range(1, 50)))
        assert {verdict.enqueued for verdict in reply.verdicts} == {False}
        assert client.info("persistence")["rdb_changes_since_last_save"] == before


@both_servers
def test_a_rule_that_does_not_turn_away_is_named_and_the_request_enqueued(redis_url: str) -> None:
    rules = (shed_if(Condition("queue_depth", ">", 5)), shed_if(Condition("queue_depth", ">=", 0)))
    (verdict,) = admit(redis_url, candidate(0, *rules, effect=None)).verdicts
    assert (verdict.enqueued, verdict.rule) == (True, 1)


@both_servers
def test_a_call_that_comes_too_late_enqueues_nothing(redis_url: str) -> None:
    (verdict,) = admit(redis_url, candidate(0), late_s=-1.0).verdicts
    assert verdict.enqueued is None
    assert _depth_and_in_flight(redis_url) == (0, 0)


@both_servers
def test_a_job_nobody_has_yet_is_withdrawn_and_cannot_be_enqueued_by_a_call_still_on_its_way(redis_url: str) -> None:
    admit(redis_url, candidate(0))
    assert with_stream(redis_url, lambda stream: stream.withdraw("j-0")) is None
    assert admit(redis_url, candidate(0)).verdicts[0].enqueued is None
    assert _depth_and_in_flight(redis_url) == (0, 0)


@both_servers
@pytest.mark.parametrize("settled", [False, True])
def test_a_job_a_worker_has_or_had_is_not_withdrawn(redis_url: str, settled: bool) -> None:
    created_at = admit(redis_url, candidate(0)).verdicts[0].snapshot.now_at
    with client_of(redis_url) as client:
        (entry,) = deliver(client, 1)
        if settled:
            client.xack(names.STREAM, names.GROUP, entry)
            client.xdel(names.STREAM, entry)
        assert with_stream(redis_url, lambda stream: stream.withdraw("j-0")) == created_at


@both_servers
def test_a_flushed_server_is_served_again_by_the_next_call(redis_url: str) -> None:
    async def play(stream: JobStream) -> Reply:
        await stream.admit([candidate(0)], 1e12, save_utilization=True, expected_s=NOTHING)
        with client_of(redis_url) as client:
            client.flushall()
            client.script_flush()
        return await stream.admit([candidate(1)], 1e12, save_utilization=True, expected_s=NOTHING)

    assert with_stream(redis_url, play).verdicts[0].snapshot.queue_depth == 0
    with client_of(redis_url) as client:
        assert [group["name"] for group in client.xinfo_groups(names.STREAM)] == [names.GROUP]


def test_a_server_that_is_gone_is_unreachable_and_serves_again_when_it_is_back(own_redis: RedisServer) -> None:
    async def play(stream: JobStream) -> None:
        await stream.admit([], 0.0, save_utilization=False, expected_s=NOTHING)
        own_redis.kill()
        for _ in range(2):
            with pytest.raises(QueueUnreachableError):
                await stream.admit([candidate(0)], 1e12, save_utilization=False, expected_s=NOTHING)
        own_redis.start()
        reply = await stream.admit([candidate(0)], 1e12, save_utilization=False, expected_s=NOTHING)
        assert reply.verdicts[0].enqueued

    with_stream(own_redis.url, play)


def test_a_call_whose_connection_breaks_is_not_sent_again() -> None:
    async def play() -> int:
        tries = 0

        async def hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            nonlocal tries
            tries += 1
            await reader.read(1)
            writer.close()

        async with await asyncio.start_server(hang_up, LOOPBACK, 0) as server:
            stream = JobStream(f"redis://{LOOPBACK}:{server.sockets[0].getsockname()[1]}/0", SMOOTHING_S, HEARTBEAT_S)
            with pytest.raises(QueueUnreachableError):
                await stream.admit([candidate(0)], 1e12, save_utilization=False, expected_s=NOTHING)
            await stream.close()
        return tries

    assert asyncio.run(play()) == 1


@both_servers
def test_a_rule_that_degrades_enqueues_the_job_as_degraded_and_the_first_that_holds_has_its_way(redis_url: str) -> None:
    deep, deeper = (shed_if(Condition("queue_depth", ">=", limit)) for limit in (1, 2))
    ladder: tuple[tuple[Rule, Action], ...] = ((deeper, "shed"), (deep, "degrade"))
    candidates = [replace(candidate(number), rules=ladder) for number in range(4)]
    reply = admit(redis_url, *candidates)
    assert [(verdict.enqueued, verdict.rule) for verdict in reply.verdicts] == [
        (True, None),
        (True, 1),
        (False, 0),
        (False, 0),
    ]
    with client_of(redis_url) as client:
        jobs = [Job.model_validate_json(fields[names.FIELD_JOB]) for _, fields in client.xrange(names.STREAM)]
    assert [(job.degraded, job.max_output_tokens) for job in jobs] == [(False, 9), (True, 2)]


@both_servers
def test_the_work_ahead_is_that_of_everything_admitted_and_not_settled_over_slots(redis_url: str) -> None:
    expected_s = {"chat": 2.0, "code": 12.0}
    with client_of(redis_url) as client:
        worker_beats(client, "w", 4)
        reply = admit(redis_url, candidate(0), candidate(1, job_class="code"), candidate(2), expected_s=expected_s)
        assert [verdict.snapshot.work_ahead_s for verdict in reply.verdicts] == [0.0, 0.5, 3.5]
        assert reply.snapshot.work_ahead_s == 4.0
        assert client.hgetall(names.UNSETTLED_KEY) == {"chat": "2", "code": "1"}
        # In flight it is counted as before; settled it is not.
        first, *_ = deliver(client, 3)
        assert admit(redis_url, expected_s=expected_s).snapshot.work_ahead_s == 4.0
        client.xack(names.STREAM, names.GROUP, first)
        client.xdel(names.STREAM, first)
        client.hincrby(names.UNSETTLED_KEY, "chat", -1)
        assert admit(redis_url, expected_s=expected_s).snapshot.work_ahead_s == 3.5


@both_servers
def test_an_empty_stream_has_no_work_ahead_whatever_was_left_in_the_count(redis_url: str) -> None:
    with client_of(redis_url) as client:
        client.hset(names.UNSETTLED_KEY, mapping={"chat": 7, "lost": 3})
        reply = admit(redis_url, candidate(0), expected_s={"chat": 1.0})
        assert reply.verdicts[0].snapshot.work_ahead_s == 0
        assert client.hgetall(names.UNSETTLED_KEY) == {"chat": "1"}


@both_servers
def test_a_withdrawn_job_is_counted_off(redis_url: str) -> None:
    admit(redis_url, candidate(0), candidate(1))
    with_stream(redis_url, lambda stream: stream.withdraw("j-0"))
    with client_of(redis_url) as client:
        assert client.hgetall(names.UNSETTLED_KEY) == {"chat": "1"}
        deliver(client, 1)
        with_stream(redis_url, lambda stream: stream.withdraw("j-1"))
        assert client.hgetall(names.UNSETTLED_KEY) == {"chat": "1"}


limits = st.one_of(st.integers(0, 6).map(float), st.floats(0, 40), st.sampled_from([0.1, 0.3, 0.5, 0.75]))
conditions = st.builds(Condition, st.sampled_from(SIGNALS), st.sampled_from([">", ">="]), limits)
rule_lists = st.lists(st.lists(conditions, max_size=3).map(lambda many: shed_if(*many)), max_size=3)
effects: st.SearchStrategy[Action | None] = st.sampled_from(["shed", "degrade", None])
CLASSES = ("chat", "code", "other")
expectations = st.fixed_dictionaries({job_class: st.floats(0, 30) for job_class in CLASSES})


@both_servers
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    waiting=st.integers(0, 4),
    delivered=st.integers(0, 4),
    slots=st.integers(0, 4),
    saved=st.floats(0, 1),
    expected_s=expectations,
    batch=st.lists(st.tuples(rule_lists, effects, st.sampled_from(CLASSES)), max_size=6),
)
def test_the_script_and_the_pure_rules_decide_alike_on_any_stack_and_any_rules(
    redis_url: str,
    *,
    waiting: int,
    delivered: int,
    slots: int,
    saved: float,
    expected_s: dict[str, float],
    batch: list[tuple[list[Rule], Action | None, str]],
) -> None:
    with client_of(redis_url) as client:
        client.flushall()
        admit(redis_url, *(candidate(-1 - number) for number in range(delivered + waiting)))
        if delivered:
            deliver(client, delivered)
        worker_beats(client, "w", slots)
        client.hset(names.UTILIZATION_KEY, mapping={"value": repr(saved), "at_ms": "9e12"})
        candidates = [
            candidate(n, *rules, effect=effect, job_class=job_class)
            for n, (rules, effect, job_class) in enumerate(batch)
        ]
        reply = admit(redis_url, *candidates, expected_s=expected_s)
        unsettled = Counter(chat=delivered + waiting)
        for (rules, effect, job_class), verdict in zip(batch, reply.verdicts, strict=True):
            assert verdict.snapshot.work_ahead_s == work_ahead_s(unsettled, expected_s, slots)
            held = first_holding(rules, verdict.snapshot)
            assert (None if verdict.rule is None else rules[verdict.rule]) == held
            assert verdict.enqueued == (held is None or effect != "shed")
            unsettled[job_class] += bool(verdict.enqueued)
        enqueued = sum(verdict.enqueued is True for verdict in reply.verdicts)
        assert client.xlen(names.STREAM) == waiting + delivered + enqueued
        assert reply.snapshot.queue_depth == waiting + enqueued
        assert reply.snapshot.work_ahead_s == work_ahead_s(unsettled, expected_s, slots)


declared_policies = st.sampled_from(
    [
        {"kind": "deadline_slack"},
        {"kind": "deadline_slack", "max_slack": "1500ms", "degrade": {"at": "2s", "max_output_tokens": 2}},
        {"kind": "deadline_slack", "wait": "measured", "margin": "0s"},
        {"kind": "slack_v1", "slack_floor": "500ms"},
        {"kind": "slack_v1", "slack_floor": "500ms", "degrade": {"at": "50%", "max_output_tokens": 2}},
        {"kind": "age_or_full", "max_age": "25s", "max_in_flight": 2},
        {"kind": "age_or_full", "max_age": "25s", "max_in_flight": 2, "degrade": {"at": "50%", "model": "small"}},
    ]
)


@both_servers
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    declared=declared_policies,
    mode=st.sampled_from(["off", "log_only", "enforce"]),
    delivered=st.integers(0, 4),
    slots=st.integers(0, 3),
    services_s=st.lists(st.floats(0.01, 1.0), min_size=0, max_size=60),
    deadlines_s=st.lists(st.floats(0.1, 6.0), min_size=1, max_size=12),
)
def test_every_policy_with_slack_decides_in_the_script_as_it_does_alone(
    redis_url: str,
    *,
    declared: dict[str, object],
    mode: str,
    delivered: int,
    slots: int,
    services_s: list[float],
    deadlines_s: list[float],
) -> None:
    policy = ActivePolicy.of(POLICY_ADAPTER.validate_python(declared | {"mode": mode}), "X")
    samples = {"chat": tuple(ServiceSample("chat", service_s, 1_000.0) for service_s in services_s)}
    policy = policy.informed(samples, services_s)
    book = policy.moded.policy.book
    asked = [AdmissionRequest("chat", "default", deadline_s, 1, 9) for deadline_s in deadlines_s]
    ways = [tuple((rule, policy.moded.effect(rule, one)) for rule in policy.moded.rules(one)) for one in asked]
    with client_of(redis_url) as client:
        client.flushall()
        admit(redis_url, *(candidate(-1 - number) for number in range(delivered)))
        if delivered:
            deliver(client, delivered)
        worker_beats(client, "w", slots)
        candidates = [replace(candidate(n), rules=rules) for n, rules in enumerate(ways)]
        reply = admit(redis_url, *candidates, expected_s={"chat": book.expected("chat").service_s})
        decisions = [
            policy.moded.decide(verdict.snapshot, one).decision
            for one, verdict in zip(asked, reply.verdicts, strict=True)
        ]
        assert [verdict.enqueued for verdict in reply.verdicts] == [decision != "shed" for decision in decisions]
        jobs = [Job.model_validate_json(fields[names.FIELD_JOB]) for _, fields in client.xrange(names.STREAM)]
        assert [job.degraded for job in jobs[delivered:]] == [
            decision == "degrade" for decision in decisions if decision != "shed"
        ]
