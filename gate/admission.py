"""The admission core: decides requests and enqueues the admitted ones, whichever route they came by.

    admit() --+                        +--> decision line, answer
    admit() --+--> waiting --> one call of the script, in Redis time
    sampler --+                        +--> signals, 20 times a second

Requests that come while a call is in flight go together in the next one, so none costs more than one round trip.
Knows policies, the stream and the journal. Must not know HTTP.
"""

import asyncio
import logging
import time
from collections.abc import Callable
from typing import Protocol
from uuid import uuid4

from gate.events import EventWriter
from gate.refused import RefusedError, draining, queue_unreachable
from gate.stream import ANSWER_TIMEOUT_S, Candidate, QueueUnreachableError, Reply, Verdict
from gate.waiting import ActivePolicy, Decided, Sighting, Waiting
from lab.contract.messages import JobRequest
from lab.contract.names import REASON_ADMITTED
from lab.policies.decision import Decision
from lab.policies.rule import first_holding
from lab.policies.snapshot import AdmissionRequest, Snapshot

logger = logging.getLogger(__name__)

SAMPLE_INTERVAL_S = 0.05
SAMPLES_PER_SIGNALS_LINE = 2
# A shed may be decided on signals this old; an admission never is.
FRESH_S = 0.010
# Bounds how long one call keeps the server from everything else.
MAX_BATCH = 128


class Queue(Protocol):
    """What the admission needs of the stream; see gate.stream.JobStream."""

    async def admit(self, candidates: list[Candidate], latest_at: float, *, save_utilization: bool) -> Reply:
        """Decides and enqueues in one step."""

    async def withdraw(self, job_id: str) -> float | None:
        """Takes a job back that no worker has yet."""


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
        self._queue = queue
        self._events = events
        self._monotonic = monotonic
        self._waiting: list[Waiting] = []
        self._in_call: list[Waiting] = []
        self._in_doubt: list[Waiting] = []
        self._wake = asyncio.Event()
        self._next_sample_at = monotonic()
        self._samples = 0

    def now_at(self) -> float:
        """Redis time in unix seconds, as well as it is known; this machine's before the first answer."""
        if self.sighting is None:
            return time.time()
        return self.sighting.snapshot.now_at + (self._monotonic() - self.sighting.received_at)

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

    async def run(self) -> None:
        """Decides and samples until cancelled; `failed` is true where it ended by itself."""
        try:
            while True:
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
                _refuse(waiting, draining())
            self.give_up_doubts()

    async def step(self) -> None:
        """One call of the script: everything that waits, and the sample where one is due."""
        self._wake.clear()
        self._in_call, self._waiting = self._waiting[:MAX_BATCH], self._waiting[MAX_BATCH:]
        candidates = [waiting.candidate() for waiting in self._in_call]
        samples = self._sample_is_due()
        try:
            latest_at = self.now_at() + ANSWER_TIMEOUT_S
            reply = await self._queue.admit(candidates, latest_at, save_utilization=samples)
        except QueueUnreachableError:
            self._lose_queue()
            return
        self.reachable = True
        self.sighting = Sighting(reply.snapshot, self._monotonic())
        for waiting, verdict in zip(self._in_call, reply.verdicts, strict=True):
            self._conclude(waiting, verdict)
        self._in_call = []
        if samples:
            self._write_signals(reply.snapshot)
        await self._settle_doubts()

    def give_up_doubts(self) -> None:
        """Writes as refused what could not be settled: the queue is gone, and what it held with it."""
        in_doubt, self._in_doubt = self._in_doubt, []
        for waiting in in_doubt:
            self._write_unreachable(waiting)

    async def _wait_for_work(self) -> None:
        if self._waiting:
            return
        try:
            async with asyncio.timeout(max(0.0, self._next_sample_at - self._monotonic())):
                await self._wake.wait()
        except TimeoutError:
            return

    def _sample_is_due(self) -> bool:
        now_s = self._monotonic()
        if now_s < self._next_sample_at:
            return False
        self._next_sample_at = max(self._next_sample_at + SAMPLE_INTERVAL_S, now_s)
        return True

    def _write_signals(self, snapshot: Snapshot) -> None:
        self._samples += 1
        if self._samples % SAMPLES_PER_SIGNALS_LINE == 0:
            self._events.signals(snapshot)

    def _received(self, request: JobRequest) -> Waiting:
        policy = self.policy
        asked = AdmissionRequest(
            request.job_class, request.tenant, request.deadline_s, request.input_tokens, request.max_output_tokens
        )
        answer = asyncio.get_running_loop().create_future()
        return Waiting(request, uuid4().hex, self._monotonic(), policy, policy.moded.rules(asked), answer)

    def _shed_at_sight(self, waiting: Waiting) -> Decided | None:
        sighting = self.sighting
        if sighting is None or self._monotonic() - sighting.received_at > FRESH_S:
            return None
        rule = first_holding(waiting.rules, sighting.snapshot)
        if rule is None or not waiting.policy.moded.takes_effect(rule):
            return None
        decision = waiting.policy.moded.decision_by(rule, sighting.snapshot)
        self._write(waiting, decision, None, self.now_at())
        return Decided(decision, None, None, None)

    def _conclude(self, waiting: Waiting, verdict: Verdict) -> None:
        if verdict.enqueued is None:
            self._write_unreachable(waiting)
            _refuse(waiting, queue_unreachable(admission_writes_line=True))
            return
        rule = None if verdict.rule is None else waiting.rules[verdict.rule]
        decision = waiting.policy.moded.decision_by(rule, verdict.snapshot)
        now_at = verdict.snapshot.now_at
        job_id = waiting.job_id if verdict.enqueued else None
        self._write(waiting, decision, job_id, now_at)
        if not waiting.answer.done():
            created_at, deadline_at = (now_at, now_at + waiting.request.deadline_s) if job_id else (None, None)
            waiting.answer.set_result(Decided(decision, job_id, created_at, deadline_at))

    def _lose_queue(self) -> None:
        """Fails closed. Whether the batch was enqueued is settled once the queue answers again."""
        self.reachable = False
        self._in_doubt += self._in_call
        for waiting in self._waiting:
            self._write_unreachable(waiting)
        for waiting in self._in_call + self._waiting:
            _refuse(waiting, queue_unreachable(admission_writes_line=True))
        self._in_call, self._waiting = [], []

    async def _settle_doubts(self) -> None:
        """Takes back what no worker has, so that the refusal its client got is true; the rest was admitted."""
        while self._in_doubt:
            waiting = self._in_doubt[0]
            try:
                created_at = await self._queue.withdraw(waiting.job_id)
            except QueueUnreachableError:
                self.reachable = False
                return
            self._in_doubt.pop(0)
            if created_at is None:
                self._write_unreachable(waiting)
            else:
                # The signals it was admitted on are lost with the reply.
                decision = Decision("admit", "admit", REASON_ADMITTED, {}, None)
                self._write(waiting, decision, waiting.job_id, created_at)

    def _write(self, waiting: Waiting, decision: Decision, job_id: str | None, at: float) -> None:
        policy, decide_s = waiting.policy, self._monotonic() - waiting.received_at
        self._events.decision(
            at,
            waiting.request,
            job_id=job_id,
            decision=decision,
            policy=policy.label,
            mode=policy.spec.mode,
            decide_s=decide_s,
        )

    def _write_unreachable(self, waiting: Waiting) -> None:
        self._events.refusal(self.now_at(), waiting.request.request_id, queue_unreachable())


def _refuse(waiting: Waiting, refused: RefusedError) -> None:
    if not waiting.answer.done():
        waiting.answer.set_exception(refused)
