"""The admission core: decides requests and enqueues the admitted ones, whichever route they came by.

    admit() --+                        +--> decision line, answer
    admit() --+--> waiting --> one call of the script, in Redis time
    sampler --+                        +--> signals, 20 times a second

Requests that come while a call is in flight go together in the next one, so none costs more than one round trip; only
the sheds of clients with a name cost one more together, which counts them. Knows policies, the stream and the journal.
Must not know HTTP.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol
from uuid import uuid4

from gate.backoff import Counting
from gate.cancellation import heed_cancellation
from gate.conclusions import Conclusions, refuse
from gate.doubts import Doubts, Withdrawing
from gate.events import EventWriter
from gate.queue_client import ANSWER_TIMEOUT_S
from gate.refused import draining, queue_unreachable
from gate.sampling import Sampling
from gate.script import QueueUnreachableError
from gate.waiting import ActivePolicy, Decided, Sighting, Waiting
from gate.wire import Candidate, Reply
from lab.contract.messages import JobRequest
from lab.contract.names import REASON_QUEUE_UNREACHABLE
from lab.policies.decision import Decision
from lab.policies.retry_after import SHORTEST_S, spread_retry_after_s
from lab.policies.rule import first_holding
from lab.policies.service_book import Samples
from lab.policies.snapshot import AdmissionRequest

logger = logging.getLogger(__name__)

# A shed may be decided on signals this old; an admission never is.
FRESH_S = 0.010
# Bounds how long one call keeps the server from everything else.
MAX_BATCH = 128


class Queue(Withdrawing, Counting, Protocol):
    """What the admission needs of the stream; see gate.stream.JobStream."""

    async def admit(
        self, candidates: list[Candidate], latest_at: float, *, save_utilization: bool, expected_s: Mapping[str, float]
    ) -> Reply:
        """Decides and enqueues in one step."""


class Admission:
    """One gate's admission core. `run` must be running for `admit` to return."""

    def __init__(
        self, queue: Queue, policy: ActivePolicy, events: EventWriter, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        """Starts unreachable: nothing is admitted before the queue has answered once."""
        self.policy = policy
        self.draining = False
        self.failed = False
        self.reachable = False
        self.sighting: Sighting | None = None
        self._conclusions = Conclusions(queue, events, monotonic, self.now_at)
        self.doubts = Doubts(queue, self._conclusions.of_doubt)
        self._queue = queue
        self._events = events
        self._monotonic = monotonic
        self._sampling = Sampling(monotonic())
        self._known: tuple[Samples, Sequence[float]] = ({}, ())
        self._waiting: list[Waiting] = []
        self._in_call: list[Waiting] = []
        self._wake = asyncio.Event()

    def now_at(self) -> float:
        """Redis time in unix seconds, as well as it is known; this machine's before the first answer."""
        if self.sighting is None:
            return time.time()
        return self.sighting.snapshot.now_at + (self._monotonic() - self.sighting.received_at)

    def learn(self, samples: Samples, waits_s: Sequence[float]) -> None:
        """What is known of finished services and queue waits, newest first; it replaces what was known."""
        if self._known != (samples, waits_s):
            self._known = (samples, waits_s)
            self.policy = self.policy.informed(samples, waits_s)

    def switch_to(self, policy: ActivePolicy) -> None:
        """Another policy, which knows what this one knew; it decides from the next request on."""
        self.policy = policy.informed(*self._known)

    async def admit(self, request: JobRequest) -> Decided:
        """Decides one request, and enqueues it where it is admitted.

        Raises:
            RefusedError: the gate is draining, or the queue does not answer.
        """
        if self.draining:
            raise draining()
        if not self.reachable:
            raise queue_unreachable()
        waiting = self._received(request)
        shed = self._shed_at_sight(waiting)
        if shed is not None:
            return shed
        self._waiting.append(waiting)
        self._wake.set()
        return await waiting.answer

    def reject_without_queue(self, request: JobRequest) -> Decided:
        """Sheds a request that was refused since the queue does not answer, where that is declared."""
        told_s = spread_retry_after_s(SHORTEST_S, request.request_id)
        decision = Decision("shed", "shed", REASON_QUEUE_UNREACHABLE, {}, told_s, self.policy.spec.mode)
        decided = Decided(decision, None, None, None)
        self._conclusions.answer(self._received(request), decided, self.now_at())
        return decided

    async def run(self) -> None:
        """Decides and samples until cancelled; `failed` is true where it ended by itself."""
        try:
            while True:
                heed_cancellation()
                await self._wait_for_work()
                await self.step()
        except BrokenPipeError:
            # Decisions that nobody records must not be taken.
            logger.error("nobody reads this gate's standard output any more; the gate stops")  # noqa: TRY400 - a sentence
            self.failed = True
        except Exception:
            logger.exception("the admission core failed")
            self.failed = True
        finally:
            self.reachable = False
            for waiting in self._in_call + self._waiting:
                refuse(waiting, draining())
            self.doubts.give_up()

    async def step(self) -> None:
        """One call of the script: everything that waits, and the sample where one is due."""
        self._wake.clear()
        self._in_call, self._waiting = self._waiting[:MAX_BATCH], self._waiting[MAX_BATCH:]
        samples = self._sampling.is_due(self._monotonic())
        try:
            reply = await self._call_script(save_utilization=samples)
        except QueueUnreachableError:
            self._lose_queue()
            return
        self.reachable = True
        self.sighting = Sighting(reply.snapshot, self._monotonic())
        await self._conclusions.of_call(self._in_call, reply.verdicts)
        self._in_call = []
        if samples and self._sampling.ends_a_line():
            self._events.signals(reply.snapshot)
        try:
            await self.doubts.settle()
        except QueueUnreachableError:
            self.reachable = False

    async def _call_script(self, *, save_utilization: bool) -> Reply:
        book = self.policy.moded.policy.book
        expected_s = {job_class: estimate.service_s for job_class, estimate in book.estimates.items()}
        for waiting in self._in_call:
            job_class = waiting.request.job_class
            if job_class not in expected_s:
                expected_s[job_class] = book.expected(job_class).service_s
        candidates = [waiting.candidate() for waiting in self._in_call]
        latest_at = self.now_at() + ANSWER_TIMEOUT_S
        return await self._queue.admit(candidates, latest_at, save_utilization=save_utilization, expected_s=expected_s)

    async def _wait_for_work(self) -> None:
        if self._waiting:
            return
        try:
            async with asyncio.timeout(self._sampling.due_in_s(self._monotonic())):
                await self._wake.wait()
        except TimeoutError:
            return

    def _received(self, request: JobRequest) -> Waiting:
        policy = self.policy
        asked = AdmissionRequest(
            request.job_class, request.tenant, request.deadline_s, request.input_tokens, request.max_output_tokens
        )
        answer = asyncio.get_running_loop().create_future()
        return Waiting(request, asked, uuid4().hex, self._monotonic(), policy, policy.moded.rules(asked), answer)

    def _shed_at_sight(self, waiting: Waiting) -> Decided | None:
        sighting = self.sighting
        if sighting is None or self._monotonic() - sighting.received_at > FRESH_S or waiting.client is not None:
            return None
        rule = first_holding(waiting.rules, sighting.snapshot)
        if rule is None or waiting.policy.moded.effect(rule, waiting.asked) != "shed":
            return None
        decided = Decided(waiting.decision_by(rule, sighting.snapshot), None, None, None)
        self._conclusions.answer(waiting, decided, self.now_at())
        return decided

    def _lose_queue(self) -> None:
        """Whether the batch was enqueued is settled once the queue answers again; what waited behind it was not."""
        self.reachable = False
        self.doubts.add(self._in_call)
        for waiting in self._in_call:
            refuse(waiting, queue_unreachable(admission_writes_line=True))
        for waiting in self._waiting:
            if waiting.answer.done():
                self._conclusions.write_unreachable(waiting)
            refuse(waiting, queue_unreachable())
        self._in_call, self._waiting = [], []
