"""How requests end at the gate: a line in the journal, then the answer to whoever waits for it.

Knows what the script said of each. Must not know when it is called, nor HTTP.
"""

from collections.abc import Callable, Sequence

from gate.backoff import Counting, Shed, counted
from gate.events import EventWriter
from gate.refused import RefusedError, queue_unreachable
from gate.waiting import Decided, Waiting
from gate.wire import Verdict
from lab.contract.names import REASON_ADMITTED
from lab.policies.decision import Decision


class Conclusions:
    """Writes and answers for one admission core."""

    def __init__(
        self, queue: Counting, events: EventWriter, monotonic: Callable[[], float], now_at: Callable[[], float]
    ) -> None:
        """`monotonic` is in seconds, `now_at` Redis time in unix seconds as well as it is known."""
        self._queue = queue
        self._events = events
        self._monotonic = monotonic
        self._now_at = now_at

    async def of_call(self, in_call: Sequence[Waiting], verdicts: Sequence[Verdict]) -> None:
        """Concludes a whole call; who is to be counted as shed comes last, since that takes another one."""
        sheds = list[Shed]()
        for waiting, verdict in zip(in_call, verdicts, strict=True):
            if verdict.enqueued is None:
                self.write_unreachable(waiting)
                refuse(waiting, queue_unreachable(admission_writes_line=True))
            elif verdict.enqueued is False and waiting.client is not None:
                sheds.append(Shed(waiting, _decision(waiting, verdict), verdict.snapshot.now_at))
            else:
                self._conclude(waiting, verdict)
        for shed in await counted(self._queue, sheds):
            self.answer(shed.waiting, Decided(shed.decision, None, None, None, shed.hard), shed.at)

    def of_doubt(self, waiting: Waiting, created_at: float | None) -> None:
        """Concludes a request in doubt: when it was admitted, None where it was not. Its client has its answer."""
        if created_at is None:
            self.write_unreachable(waiting)
            return
        # The signals it was admitted on are lost with the reply.
        decision = Decision("admit", "admit", REASON_ADMITTED, {}, None, waiting.policy.spec.mode)
        self.answer(waiting, Decided(decision, waiting.job_id, created_at, None), created_at)

    def answer(self, waiting: Waiting, decided: Decided, at: float) -> None:
        """Writes a decision, then answers with it."""
        decide_s = self._monotonic() - waiting.received_at
        self._events.decision(at, waiting.request, decided, waiting.policy.label, decide_s)
        if not waiting.answer.done():
            waiting.answer.set_result(decided)

    def write_unreachable(self, waiting: Waiting) -> None:
        """Writes that a request was refused since the queue does not answer."""
        self._events.refusal(self._now_at(), waiting.request.request_id, queue_unreachable())

    def _conclude(self, waiting: Waiting, verdict: Verdict) -> None:
        now_at = verdict.snapshot.now_at
        decided = Decided(_decision(waiting, verdict), None, None, None)
        if verdict.enqueued:
            decided = Decided(decided.decision, waiting.job_id, now_at, now_at + waiting.request.deadline_s)
        self.answer(waiting, decided, now_at)


def refuse(waiting: Waiting, refused: RefusedError) -> None:
    """Refuses who waits, where somebody still does."""
    if not waiting.answer.done():
        waiting.answer.set_exception(refused)


def _decision(waiting: Waiting, verdict: Verdict) -> Decision:
    rule = None if verdict.rule is None else waiting.rules[verdict.rule]
    return waiting.decision_by(rule, verdict.snapshot)
