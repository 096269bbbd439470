"""The admission core over a queue played by the test: batching, sheds at sight, doubts, and one line per request."""

import asyncio
import contextlib
import io
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import pytest

from gate.admission import FRESH_S, MAX_BATCH, Admission
from gate.events import EventWriter
from gate.metrics import GateMetrics
from gate.refused import RefusedError
from gate.script import QueueUnreachableError
from gate.stream import RefusedClient
from gate.waiting import ActivePolicy, Decided
from gate.wire import Candidate, Reply, Verdict
from lab.contract.messages import Job, JobRequest
from lab.contract.policy_spec import POLICY_ADAPTER
from lab.policies.retry_after import HARD_COUNT
from lab.policies.snapshot import ServiceSample, Snapshot

NOW_AT = 1_000.0


class PlayedQueue:
    """Evaluates nothing: admits up to `room`, and answers, fails or loses the reply as told."""

    def __init__(self, room: int = 1_000) -> None:
        self.room = room
        self.calls: list[int] = []
        self.admitted: list[str] = []
        self.delivered: set[str] = set()
        self.fails = False
        self.loses_reply = False
        self.too_late = False
        self.expected_s: dict[str, float] = {}
        self.refusals: dict[str, int] = {}

    async def admit(
        self, candidates: list[Candidate], latest_at: float, *, save_utilization: bool, expected_s: Mapping[str, float]
    ) -> Reply:
        del latest_at, save_utilization
        self.expected_s = dict(expected_s)
        await asyncio.sleep(0)
        if self.fails:
            raise QueueUnreachableError("down")
        self.calls.append(len(candidates))
        verdicts = tuple(map(self._verdict, candidates))
        if self.loses_reply:
            self.loses_reply = False
            raise QueueUnreachableError("lost")
        return Reply(verdicts, self._snapshot())

    async def withdraw(self, job_id: str) -> float | None:
        if self.fails:
            raise QueueUnreachableError("down")
        if job_id in self.delivered:
            return NOW_AT
        if job_id in self.admitted:
            self.admitted.remove(job_id)
        return None

    async def count_refusals(self, refused: Sequence[RefusedClient], limit: int) -> list[int]:
        assert limit == HARD_COUNT
        if self.fails:
            raise QueueUnreachableError("down")
        for one in refused:
            self.refusals[one.client] = self.refusals.get(one.client, 0) + 1
        return [self.refusals[one.client] for one in refused]

    def _verdict(self, candidate: Candidate) -> Verdict:
        if self.too_late:
            return Verdict(None, None, self._snapshot())
        snapshot = self._snapshot()
        if len(self.admitted) >= self.room:
            return Verdict(enqueued=False, rule=0, snapshot=snapshot)
        self.admitted.append(candidate.job_id)
        return Verdict(enqueued=True, rule=None, snapshot=snapshot)

    def _snapshot(self) -> Snapshot:
        return Snapshot(NOW_AT, 0.0, len(self.admitted), 0, 8, 0.0)


class Bench:
    """An admission core with its queue, its clock and its journal."""

    def __init__(self, queue: PlayedQueue, policy: dict[str, Any] | None = None) -> None:
        self.queue = queue
        self.now_s = 0.0
        self.journal = io.StringIO()
        spec = POLICY_ADAPTER.validate_python(policy or {"kind": "none"})
        active = ActivePolicy.of(spec, "X")
        self.core = Admission(queue, active, EventWriter(self.journal, GateMetrics()), lambda: self.now_s)

    def lines(self, kind: str) -> list[dict[str, Any]]:
        events = [json.loads(line) for line in self.journal.getvalue().splitlines()]
        return [event for event in events if event["event"] == kind]

    async def asked(self, count: int, start: int = 0) -> list["asyncio.Task[Decided]"]:
        """Requests on their way, up to where they wait."""
        tasks = [asyncio.create_task(self.core.admit(request(start + number))) for number in range(count)]
        await asyncio.sleep(0)
        return tasks

    def grow_stale(self) -> None:
        self.now_s += FRESH_S * 2


def request(number: int = 0) -> JobRequest:
    return JobRequest(request_id=f"r-{number}", deadline_s=2.0, work_s=0.4)


def played(play: Callable[[], Awaitable[None]]) -> None:
    asyncio.run(asyncio.wait_for(_as_coroutine(play), 10))


async def _as_coroutine(play: Callable[[], Awaitable[None]]) -> None:
    await play()


def test_requests_that_wait_together_share_one_round_trip() -> None:
    async def play() -> None:
        bench = Bench(PlayedQueue())
        await bench.core.step()
        tasks = await bench.asked(100)
        await bench.core.step()
        await asyncio.gather(*tasks)
        assert bench.queue.calls == [0, 100]

    played(play)


def test_a_large_crowd_is_cut_into_bounded_batches_in_order_of_arrival() -> None:
    async def play() -> None:
        bench = Bench(PlayedQueue())
        await bench.core.step()
        tasks = await bench.asked(MAX_BATCH + 10)
        await bench.core.step()
        await bench.core.step()
        await asyncio.gather(*tasks)
        assert bench.queue.calls == [0, MAX_BATCH, 10]
        assert [line["request_id"] for line in bench.lines("decision")] == [f"r-{n}" for n in range(MAX_BATCH + 10)]

    played(play)


def test_nothing_is_admitted_before_the_queue_has_answered_once() -> None:
    async def play() -> None:
        bench = Bench(PlayedQueue())
        with pytest.raises(RefusedError) as refused:
            await bench.core.admit(request())
        assert (refused.value.status, refused.value.reason) == (503, "queue_unreachable")

    played(play)


def test_a_draining_core_refuses() -> None:
    async def play() -> None:
        bench = Bench(PlayedQueue())
        await bench.core.step()
        bench.core.draining = True
        with pytest.raises(RefusedError) as refused:
            await bench.core.admit(request())
        assert (refused.value.status, refused.value.reason) == (503, "draining")

    played(play)


def test_fresh_signals_shed_without_a_round_trip_and_stale_ones_do_not() -> None:
    async def play() -> None:
        bench = Bench(PlayedQueue(room=0), {"kind": "queue_depth", "max_depth": 0})
        bench.queue.admitted = ["one"]
        await bench.core.step()
        decided = await bench.core.admit(request())
        assert (decided.decision.decision, bench.queue.calls) == ("shed", [0])
        bench.grow_stale()
        tasks = await bench.asked(1)
        assert not tasks[0].done()
        await bench.core.step()
        assert (await tasks[0]).decision.decision == "shed"
        assert bench.queue.calls == [0, 1]

    played(play)


@pytest.mark.parametrize("mode", ["off", "log_only"])
def test_fresh_signals_shed_nothing_unless_the_policy_is_enforced(mode: str) -> None:
    async def play() -> None:
        bench = Bench(PlayedQueue(), {"kind": "queue_depth", "max_depth": 0, "mode": mode})
        bench.queue.admitted = ["one"]
        await bench.core.step()
        tasks = await bench.asked(1)
        await bench.core.step()
        assert (await tasks[0]).decision.decision == "admit"
        assert bench.queue.calls == [0, 1]

    played(play)


def test_the_decision_line_holds_the_contracts_fields_and_the_answers_job() -> None:
    async def play() -> None:
        bench = Bench(PlayedQueue())
        await bench.core.step()
        tasks = await bench.asked(1)
        await bench.core.step()
        decided = await tasks[0]
        (line,) = bench.lines("decision")
        assert line.pop("decide_s") >= 0
        assert line.pop("numbers")["queue_depth"] == 0
        assert line == {
            "event": "decision",
            "at": NOW_AT,
            "request_id": "r-0",
            "job_id": decided.job_id,
            "job_class": "default",
            "tenant": "default",
            "decision": "admit",
            "would": "admit",
            "reason": "admitted",
            "policy": "X",
            "mode": "enforce",
            "retry_after_s": None,
            "age_s": 0.0,
            "slack_ms": 2_000.0,
            "slack_floor_ms": None,
            "est_service_ms": None,
            "queue_ahead_ms": 0.0,
            "estimator_n": 0,
            "retry_after_ms": None,
            "hard_backoff": False,
        }
        assert (decided.created_at, decided.deadline_at) == (NOW_AT, NOW_AT + 2.0)

    played(play)


def test_a_request_whose_client_left_still_gets_its_decision_line() -> None:
    async def play() -> None:
        bench = Bench(PlayedQueue())
        await bench.core.step()
        tasks = await bench.asked(2)
        tasks[0].cancel()
        await asyncio.sleep(0)
        await bench.core.step()
        await tasks[1]
        assert [line["request_id"] for line in bench.lines("decision")] == ["r-0", "r-1"]

    played(play)


def test_a_job_whose_reply_was_lost_is_taken_back_and_written_as_refused() -> None:
    async def play() -> None:
        bench = Bench(PlayedQueue())
        await bench.core.step()
        bench.queue.loses_reply = True
        tasks = await bench.asked(1)
        await bench.core.step()
        with pytest.raises(RefusedError) as refused:
            await tasks[0]
        assert refused.value.admission_writes_line
        assert bench.lines("refusal") == []
        await bench.core.step()
        assert [line["reason"] for line in bench.lines("refusal")] == ["queue_unreachable"]
        assert (bench.queue.admitted, bench.lines("decision")) == ([], [])

    played(play)


def test_a_job_whose_reply_was_lost_and_which_a_worker_has_is_written_as_admitted() -> None:
    async def play() -> None:
        bench = Bench(PlayedQueue())
        await bench.core.step()
        bench.queue.loses_reply = True
        tasks = await bench.asked(1)
        await bench.core.step()
        bench.queue.delivered = set(bench.queue.admitted)
        await bench.core.step()
        await asyncio.gather(*tasks, return_exceptions=True)
        (line,) = bench.lines("decision")
        assert (line["decision"], line["job_id"]) == ("admit", bench.queue.admitted[0])
        assert bench.lines("refusal") == []

    played(play)


def test_a_doubt_that_shutdown_finds_open_is_written_as_refused() -> None:
    async def play() -> None:
        bench = Bench(PlayedQueue())
        await bench.core.step()
        bench.queue.fails = True
        tasks = await bench.asked(1)
        await bench.core.step()
        await bench.core.step()
        assert bench.lines("refusal") == []
        bench.core.doubts.give_up()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert [line["request_id"] for line in bench.lines("refusal")] == ["r-0"]

    played(play)


def test_those_who_wait_behind_a_failed_call_are_refused_at_once_and_left_to_the_route() -> None:
    async def play() -> None:
        bench = Bench(PlayedQueue())
        await bench.core.step()
        bench.queue.fails = True
        first = await bench.asked(1)
        step = asyncio.create_task(bench.core.step())
        behind = await bench.asked(3, start=1)
        await step
        results = await asyncio.gather(*first, *behind, return_exceptions=True)
        assert [type(result) for result in results] == [RefusedError] * 4
        # What becomes of those behind is for the route to say, for they are not in the queue for certain.
        assert [getattr(result, "admission_writes_line", None) for result in results] == [True, False, False, False]
        assert bench.lines("refusal") == []

    played(play)


def test_a_call_that_reached_the_queue_too_late_is_refused_for_good() -> None:
    async def play() -> None:
        bench = Bench(PlayedQueue())
        await bench.core.step()
        bench.queue.too_late = True
        tasks = await bench.asked(1)
        await bench.core.step()
        with pytest.raises(RefusedError):
            await tasks[0]
        assert [line["status"] for line in bench.lines("refusal")] == [503]

    played(play)


def test_a_policy_switched_live_decides_the_next_request() -> None:
    async def play() -> None:
        bench = Bench(PlayedQueue())
        bench.queue.admitted = ["one"]
        await bench.core.step()
        spec = POLICY_ADAPTER.validate_python({"kind": "queue_depth", "max_depth": 0})
        bench.core.switch_to(ActivePolicy.of(spec, None))
        assert (await bench.core.admit(request())).decision.reason == "queue_depth"
        assert bench.lines("decision")[0]["policy"] == "queue_depth"

    played(play)


def test_signals_are_written_with_every_second_sample() -> None:
    async def play() -> None:
        bench = Bench(PlayedQueue())
        for _ in range(8):
            await bench.core.step()
            bench.now_s += 0.05
        assert len(bench.lines("signals")) == 4

    played(play)


def test_the_job_that_the_script_completes_is_the_contracts_job() -> None:
    async def play() -> None:
        bench = Bench(PlayedQueue())
        await bench.core.step()
        waiting = bench.core._received(request())
        head = waiting.candidate().job_json[:-1]
        job = Job.model_validate_json(head + ',"created_at":1.5,"deadline_at":3.5}')
        assert (job.job_id, job.request_id, job.work_s) == (waiting.job_id, "r-0", 0.4)

    played(play)


def test_a_core_that_fails_says_so_and_leaves_nobody_waiting(caplog: pytest.LogCaptureFixture) -> None:
    async def play() -> None:
        bench = Bench(PlayedQueue())
        await bench.core.step()
        tasks = await bench.asked(2)
        bench.journal.close()
        await bench.core.run()
        results = await asyncio.gather(*tasks, return_exceptions=True)
        assert [type(result) for result in results] == [RefusedError] * 2
        assert bench.core.failed

    played(play)
    assert "the admission core failed" in caplog.text


class SwallowingQueue(PlayedQueue):
    """Loses the first cancellation that comes while it sends, as the Redis client can on Python 3.11."""

    async def admit(
        self, candidates: list[Candidate], latest_at: float, *, save_utilization: bool, expected_s: Mapping[str, float]
    ) -> Reply:
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.sleep(0.01)
        return await super().admit(candidates, latest_at, save_utilization=save_utilization, expected_s=expected_s)


def test_a_core_ends_though_its_cancellation_was_lost_in_a_call() -> None:
    async def play() -> None:
        bench = Bench(SwallowingQueue())
        core = asyncio.create_task(bench.core.run())
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        core.cancel()
        await asyncio.wait([core], timeout=5)
        assert core.cancelled()

    played(play)


def test_requests_go_with_the_expected_service_of_every_class_known_and_asked_for() -> None:
    async def play() -> None:
        bench = Bench(PlayedQueue())
        await bench.core.step()
        samples = {"b": (ServiceSample("b", 4.0, 1.0),), "a": (ServiceSample("a", 2.0, 1.0),)}
        bench.core.learn(samples, ())
        tasks = await bench.asked(1)
        await bench.core.step()
        await asyncio.gather(*tasks)
        assert list(bench.queue.expected_s.items()) == [("a", 2.0), ("b", 4.0), ("default", 0.0)]

    played(play)


def test_a_policy_switched_to_knows_what_the_one_before_it_knew() -> None:
    async def play() -> None:
        bench = Bench(PlayedQueue())
        bench.core.learn({"default": tuple(ServiceSample("default", 1.9, n) for n in range(60))}, ())
        await bench.core.step()
        bench.core.switch_to(ActivePolicy.of(POLICY_ADAPTER.validate_python({"kind": "deadline_slack"}), None))
        decided = await bench.core.admit(request())
        assert decided.decision.reason == "deadline_unmeetable"
        (line,) = bench.lines("decision")
        assert (line["est_service_ms"], line["slack_floor_ms"], line["estimator_n"]) == (1_900.0, 250.0, 60)
        assert line["slack_ms"] == 100.0

    played(play)


def named(number: int, **fields: Any) -> JobRequest:
    return request(number).model_copy(update=fields)


@pytest.mark.parametrize("who", [{"tenant": "acme"}, {"user": "u-1"}])
def test_a_client_shed_three_times_within_its_window_gets_the_hard_answer(who: dict[str, str]) -> None:
    async def play() -> None:
        bench = Bench(PlayedQueue(room=0), {"kind": "queue_depth", "max_depth": 0})
        bench.queue.admitted = ["one"]
        await bench.core.step()
        told = []
        for number in range(4):
            task = asyncio.create_task(bench.core.admit(named(number, **who)))
            await asyncio.sleep(0)
            await bench.core.step()
            told.append(await task)
        assert [one.hard_backoff for one in told] == [False, False, True, True]
        assert [one.decision.reason for one in told] == ["queue_depth"] * 4
        waits_s = [one.decision.retry_after_s or 0.0 for one in told]
        assert max(waits_s[:2]) <= 1.5
        assert min(waits_s[2:]) >= 4.0
        assert [line["hard_backoff"] for line in bench.lines("decision")] == [False, False, True, True]

    played(play)


def test_who_names_nobody_is_nobody_and_is_not_counted() -> None:
    async def play() -> None:
        bench = Bench(PlayedQueue(room=0), {"kind": "queue_depth", "max_depth": 0})
        bench.queue.admitted = ["one"]
        await bench.core.step()
        told = [await bench.core.admit(request(number)) for number in range(5)]
        assert [one.hard_backoff for one in told] == [False] * 5
        assert bench.queue.refusals == {}

    played(play)


def test_a_queue_lost_between_shed_and_count_leaves_an_ordinary_shed() -> None:
    class LosesCount(PlayedQueue):
        async def count_refusals(self, refused: Sequence[RefusedClient], limit: int) -> list[int]:
            raise QueueUnreachableError(f"{len(refused)} of {limit} lost")

    async def play() -> None:
        bench = Bench(LosesCount(room=0), {"kind": "queue_depth", "max_depth": 0})
        bench.queue.admitted = ["one"]
        await bench.core.step()
        task = asyncio.create_task(bench.core.admit(named(1, tenant="acme")))
        await asyncio.sleep(0)
        await bench.core.step()
        decided = await task
        assert (decided.decision.decision, decided.hard_backoff) == ("shed", False)

    played(play)


def test_off_and_a_huge_threshold_send_the_script_the_same_request() -> None:
    async def sent(policy: dict[str, Any]) -> list[Any]:
        bench = Bench(PlayedQueue(), policy)
        await bench.core.step()
        candidate = bench.core._received(request()).candidate()
        return [
            (rule.action, rule.reason, effect, [(one.signal, one.comparison) for one in rule.conditions])
            for rule, effect in candidate.rules
        ]

    async def play() -> None:
        kind = {"kind": "age_or_full", "max_in_flight": 4}
        off = await sent(kind | {"max_age": "25s", "mode": "off"})
        huge = await sent(kind | {"max_age": "100000h"})
        effects = [
            (effect_off, effect_huge) for (_, _, effect_off, _), (_, _, effect_huge, _) in zip(off, huge, strict=True)
        ]
        assert [one[:2] + one[3:] for one in off] == [one[:2] + one[3:] for one in huge]
        # No rule of either holds; that one would only be said is all that differs.
        assert effects == [(None, "shed"), (None, "shed")]

    played(play)


def test_a_degraded_job_is_sent_beside_the_whole_one_only_where_it_may_be_needed() -> None:
    async def play() -> None:
        degrade = {"at": "50%", "max_output_tokens": 8, "model": "small", "work_ratio": 0.5}
        policy = {"kind": "queue_depth", "max_depth": 4, "degrade": degrade}
        bench = Bench(PlayedQueue(), policy)
        await bench.core.step()
        candidate = bench.core._received(request()).candidate()
        whole, degraded = (
            Job.model_validate_json(text[:-1] + ',"created_at":1.5,"deadline_at":3.5}')
            for text in (candidate.job_json, candidate.degraded_json)
        )
        assert (whole.max_output_tokens, whole.degraded, whole.model, whole.work_s) == (64, False, None, 0.4)
        assert (degraded.max_output_tokens, degraded.degraded, degraded.model) == (8, True, "small")
        assert degraded.work_s == pytest.approx(0.4 * 8 / 64 * 0.5)
        for mode in ("off", "log_only"):
            quiet = Bench(PlayedQueue(), policy | {"mode": mode})
            assert quiet.core._received(request()).candidate().degraded_json == ""

    played(play)
