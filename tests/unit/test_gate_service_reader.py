"""The reader tells the core what the workers left, says drifts, and lives through an outage and a lost cancellation."""

import asyncio
import contextlib
import io
import json
import re

from gate.admission import Admission
from gate.events import EventWriter
from gate.metrics import GateMetrics
from gate.script import QueueUnreachableError
from gate.service_reader import ServiceReader
from gate.stream import Services
from gate.waiting import ActivePolicy, Sighting
from lab.contract.policy_spec import POLICY_ADAPTER
from lab.policies.negative_slack import QueuedJob
from lab.policies.snapshot import ServiceSample, Snapshot
from tests.unit.test_gate_admission import PlayedQueue


class PlayedServices:
    """Answers with what it is given, one after another; None is an outage."""

    def __init__(self, *answers: Services | None) -> None:
        self.answers = list(answers)
        self.jobs: list[QueuedJob] = []

    async def services(self) -> Services:
        answer = self.answers.pop(0)
        if answer is None:
            raise QueueUnreachableError("down")
        return answer

    async def queued(self) -> tuple[float, list[QueuedJob]]:
        return 100.0, self.jobs


class SwallowingServices(PlayedServices):
    """Loses the first cancellation that comes while it reads."""

    async def services(self) -> Services:
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.sleep(0.01)
        return Services(0.0, {}, ())


def seen(at: float, service_s: float, count: int = 60) -> Services:
    return Services(at, {"large": tuple(ServiceSample("large", service_s, at - n) for n in range(count))}, (0.5,))


def reader_of(source: PlayedServices, kind: str = "slack_v1") -> tuple[ServiceReader, Admission, io.StringIO]:
    journal = io.StringIO()
    events = EventWriter(journal, GateMetrics())
    policy = ActivePolicy.of(POLICY_ADAPTER.validate_python({"kind": kind}), None)
    admission = Admission(PlayedQueue(), policy, events)
    return ServiceReader(source, admission, events), admission, journal


def test_what_is_read_is_what_the_policy_expects_and_an_outage_changes_nothing() -> None:
    async def play() -> None:
        reader, admission, _ = reader_of(PlayedServices(seen(100.0, 4.0), None))
        for _ in range(2):
            await reader.step()
            book = admission.policy.moded.policy.book
            assert (book.expected("large").service_s, book.expected("large").sample_count) == (4.0, 60)
            assert book.wait_s == 0.5

    asyncio.run(play())


def test_a_drift_is_said_once_as_an_event_in_redis_time() -> None:
    async def play() -> None:
        reader, _, journal = reader_of(PlayedServices(seen(100.0, 12.0), seen(110.0, 36.0), seen(111.0, 36.0)))
        for _ in range(3):
            await reader.step()
        assert [json.loads(line) for line in journal.getvalue().splitlines()] == [
            {"event": "drift", "at": 110.0, "job_class": "large", "from_s": 12.0, "to_s": 36.0, "within_s": 60.0}
        ]

    asyncio.run(play())


def test_a_policy_that_estimates_otherwise_is_no_drift() -> None:
    async def play() -> None:
        reader, admission, journal = reader_of(PlayedServices(seen(100.0, 0.1), seen(101.0, 0.1)))
        await reader.step()
        admission.switch_to(ActivePolicy.of(POLICY_ADAPTER.validate_python({"kind": "deadline_slack"}), None))
        await reader.step()
        assert admission.policy.moded.policy.book.expected("large").service_s == 0.35
        assert journal.getvalue() == ""

    asyncio.run(play())


def test_a_reader_ends_though_its_cancellation_was_lost_in_a_call() -> None:
    async def play() -> None:
        reader, _, _ = reader_of(SwallowingServices())
        task = asyncio.create_task(reader.run())
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task], timeout=5)
        assert task.cancelled()

    asyncio.run(play())


def test_a_reader_that_fails_fails_the_gate() -> None:
    async def play() -> None:
        reader, admission, _ = reader_of(PlayedServices())
        await reader.run()
        assert admission.failed

    asyncio.run(play())


def test_the_share_of_the_queue_that_comes_too_late_is_exported_once_a_second() -> None:
    async def play() -> None:
        source = PlayedServices(*[seen(100.0, 4.0)] * 5)
        reader, admission, _ = reader_of(source)
        # Two jobs in flight, four slots: 8 s of work, 2 s of wait; then 4 s each, a second more of wait for each.
        source.jobs = [QueuedJob("large", at) for at in (106.1, 106.9, 108.1, 99.0)]
        snapshot = Snapshot(100.0, 0.0, 4, 2, 4, 0.5, work_ahead_s=6.0)
        admission.sighting = Sighting(snapshot, 0.0)
        ratios = []
        for _ in range(5):
            await reader.step()
            text = reader._events._metrics.render().decode()
            ratios.append(re.search(r"^gate_queue_negative_slack_ratio (\S+)$", text, re.MULTILINE))
            source.jobs = []
        assert [float(match[1]) for match in ratios if match] == [0.5, 0.5, 0.5, 0.5, 0.0]

    asyncio.run(play())
