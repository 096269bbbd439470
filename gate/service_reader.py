"""Reads, a few times a second, what the workers left about finished services, and tells the admission core.

Once a second it also looks at the queue itself, for the share of it that is not expected to be done in time.

The state is Redis', so that it outlives a gate and is the same for all replicas. A drift is said as an event. Knows
when to read; must not know what is made of it.
"""

import asyncio
import logging
from typing import Protocol

from gate.admission import Admission
from gate.cancellation import heed_cancellation
from gate.events import EventWriter
from gate.script import QueueUnreachableError
from gate.stream import Services
from lab.policies.drift import DriftWatch
from lab.policies.negative_slack import QueuedJob, negative_slack_ratio

logger = logging.getLogger(__name__)

# An estimate is that much older than the last service at most; each read moves all samples.
READ_INTERVAL_S = 0.25
# Each look moves the whole queue, and an alert on it holds for minutes.
READS_PER_LOOK = 4


class ServiceSource(Protocol):
    """Where finished services are read; see gate.stream.JobStream."""

    async def services(self) -> Services:
        """What is known of finished work."""

    async def queued(self) -> tuple[float, list[QueuedJob]]:
        """The Redis time, and the oldest jobs not yet delivered."""


class ServiceReader:
    """One gate's reader of finished services."""

    def __init__(self, source: ServiceSource, admission: Admission, events: EventWriter) -> None:
        """Nothing is read yet."""
        self._source = source
        self._admission = admission
        self._events = events
        self._reads = 0
        self._watched = admission.policy.spec.estimate
        self._watch = DriftWatch(self._watched.drift_within)

    async def run(self) -> None:
        """Reads until cancelled; what cannot be read is read again later."""
        try:
            while True:
                await self.step()
                heed_cancellation()
                await asyncio.sleep(READ_INTERVAL_S)
        except BrokenPipeError:
            # Nobody reads the events any more, which the admission core says.
            self._admission.failed = True
        except Exception:
            logger.exception("the reader of services failed")
            self._admission.failed = True

    async def step(self) -> None:
        """One read."""
        try:
            services = await self._source.services()
            self._admission.learn(services.samples, services.waits_s)
            self._look_for_drift(services.read_at)
            if self._reads % READS_PER_LOOK == 0:
                await self._look_at_queue()
        except QueueUnreachableError:
            return
        self._reads += 1

    async def _look_at_queue(self) -> None:
        at, queued = await self._source.queued()
        sighting = self._admission.sighting
        if sighting is None:
            return
        book, snapshot = self._admission.policy.moded.policy.book, sighting.snapshot
        expected_s = {job.job_class: book.expected(job.job_class).service_s for job in queued}
        queued_s = sum(expected_s[job.job_class] for job in queued)
        in_flight_s = max(0.0, snapshot.work_ahead_s * max(1, snapshot.slots) - queued_s)
        ratio = negative_slack_ratio(at, queued, in_flight_s, expected_s, snapshot.slots)
        self._events.negative_slack(ratio)

    def _look_for_drift(self, at: float) -> None:
        policy = self._admission.policy
        if policy.spec.estimate != self._watched:
            # Other parameters are another estimate, not a drift.
            self._watched = policy.spec.estimate
            self._watch = DriftWatch(policy.spec.estimate.drift_within)
        estimates = policy.moded.policy.book.estimates
        self._watch, drifts = self._watch.after(at, estimates)
        for drift in drifts:
            self._events.drift(at, drift)
        self._events.estimates(estimates)
