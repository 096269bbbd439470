"""Synthetic journals for the report's tests and bench: a small, exact queue simulation writes what a real drill would.

Streams its events, so that a journal of any length can be made. Shares nothing with the rooms that play real drills.
"""

import heapq
import json
import random
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from lab.contract.fault_spec import LatencyFault
from lab.contract.loading import load_scenario, parse_scenario
from lab.contract.policy_spec import QueueAgePolicy, QueueDepthPolicy, UtilizationPolicy
from lab.contract.scenario import Scenario

Event = dict[str, Any]
START_AT = 1_800_000_000.0
SIGNAL_EVERY_S = 0.1
NET_S = 0.002
SCENARIOS = Path(__file__).parent.parent / "scenarios"


@dataclass(frozen=True, slots=True)
class Drawn:
    """One request of the made-up schedule; seconds."""

    number: int
    due_s: float
    job_class: str
    work_s: float
    first_token_s: float
    deadline_s: float

    @property
    def request_id(self) -> str:
        return f"r-{self.number:06d}"

    @property
    def job_id(self) -> str:
        return f"j-{self.number:06d}"


def schedule(scenario: Scenario, rate_per_s: float, seed: int) -> Iterator[Drawn]:
    """Poisson arrivals; 0.1 s to the first token and a log-normal rest of 0.3 s in the mean."""
    chance = random.Random(seed)
    classes = list(scenario.workload.classes)
    due, number = chance.expovariate(rate_per_s), 0
    while due < scenario.workload.duration:
        work = 0.1 + min(chance.lognormvariate(-1.5, 0.75), 2.0)
        yield Drawn(number, due, chance.choice(classes), work, 0.1, 7.0)
        due, number = due + chance.expovariate(rate_per_s), number + 1


@dataclass(slots=True)
class Queue:
    """The simulated stack: a FIFO queue before `slots` slots. Finished jobs are handed out as events."""

    scenario: Scenario
    slots: int
    waiting: deque[tuple[float, Drawn]] = field(default_factory=deque)
    busy: list[tuple[float, int, float, Drawn, float]] = field(default_factory=list)
    utilization: float = 0.0
    updated_s: float = 0.0

    def advance(self, now_s: float) -> Iterator[Event]:
        """Everything that settles until now."""
        while self.busy and self.busy[0][0] <= now_s:
            self._smooth(self.busy[0][0])
            finished_s, _, enqueued_s, job, dequeued_s = heapq.heappop(self.busy)
            yield from self._settled(job, enqueued_s, dequeued_s, finished_s)
            yield from self._start(finished_s)
        self._smooth(now_s)

    def enqueue(self, now_s: float, job: Drawn) -> Iterator[Event]:
        self.waiting.append((now_s, job))
        yield from self._start(now_s)

    def age_s(self, now_s: float) -> float:
        return now_s - self.waiting[0][0] if self.waiting else 0.0

    def _smooth(self, now_s: float) -> None:
        kept = 0.5 ** max(0.0, now_s - self.updated_s)
        self.utilization = kept * self.utilization + (1 - kept) * len(self.busy) / self.slots
        self.updated_s = now_s

    def _start(self, now_s: float) -> Iterator[Event]:
        while self.waiting and len(self.busy) < self.slots:
            enqueued_s, job = self.waiting.popleft()
            if now_s > job.due_s + job.deadline_s:
                yield _outcome(job, "expired", enqueued_s, now_s, now_s, first_s=None)
                continue
            heapq.heappush(self.busy, (now_s + job.work_s + self._delay_s(now_s), job.number, enqueued_s, job, now_s))

    def _delay_s(self, now_s: float) -> float:
        faults = [fault for fault in self.scenario.faults if isinstance(fault, LatencyFault)]
        return sum(fault.latency for fault in faults if fault.start <= now_s < fault.end)

    def _settled(self, job: Drawn, enqueued_s: float, dequeued_s: float, finished_s: float) -> Iterator[Event]:
        first_s = finished_s - (job.work_s - job.first_token_s)
        yield _event(
            "attempt",
            finished_s,
            "worker-1",
            request_id=job.request_id,
            job_id=job.job_id,
            worker_id="worker-1",
            attempt=1,
            started_at=START_AT + dequeued_s,
            ttft_s=round(first_s - dequeued_s, 6),
            endpoint_latency_s=round(finished_s - dequeued_s, 6),
            tokens_out=60,
            status=200,
            result="ok",
            detail="",
        )
        outcome = "ok" if finished_s <= job.due_s + job.deadline_s else "late"
        yield _outcome(job, outcome, enqueued_s, dequeued_s, finished_s, first_s=first_s)


def _event(event: str, second: float, source: str, **fields: Any) -> Event:
    return {"event": event, "at": round(START_AT + second, 6), "source": source, **fields}


def _outcome(
    job: Drawn, outcome: str, enqueued_s: float, dequeued_s: float, finished_s: float, *, first_s: float | None
) -> Event:
    slot_s = finished_s - dequeued_s
    return _event(
        "outcome",
        finished_s,
        "worker-1",
        request_id=job.request_id,
        job_id=job.job_id,
        job_class=job.job_class,
        tenant="default",
        worker_id="worker-1",
        outcome=outcome,
        duplicate=False,
        detail="",
        enqueued_at=round(START_AT + enqueued_s, 6),
        dequeued_at=round(START_AT + dequeued_s, 6),
        queue_age_s=round(dequeued_s - enqueued_s, 6),
        deadline_at=round(START_AT + job.due_s + job.deadline_s, 6),
        first_token_at=None if first_s is None else round(START_AT + first_s, 6),
        finished_at=round(START_AT + finished_s, 6),
        slot_s=round(slot_s, 6),
        endpoint_latency_s=round(slot_s, 6),
        ttft_s=None if first_s is None else round(first_s - dequeued_s, 6),
        tokens_out=60,
        attempt=1,
    )


def sheds(scenario: Scenario, letter: str, queue: Queue, now_s: float) -> str | None:
    """The reason to shed, None to admit."""
    policy = scenario.policies[letter]
    if isinstance(policy, QueueAgePolicy) and queue.age_s(now_s) > policy.max_age:
        return "queue_age"
    if isinstance(policy, QueueDepthPolicy) and len(queue.waiting) > policy.max_depth:
        return "queue_depth"
    if isinstance(policy, UtilizationPolicy) and queue.utilization > policy.max_utilization:
        return "utilization"
    return None


def header(scenario: Scenario, text: str, letter: str, repeat: int, count: int) -> Event:
    """The journal's first line."""
    policy = scenario.policies[letter]
    return _event(
        "run",
        -9.0,
        "runner",
        run_id="20270115-080000-test",
        scenario_name=scenario.name,
        scenario_text=text,
        scenario_sha256=sha256(text.encode()).hexdigest(),
        played=scenario.model_dump(mode="json", by_alias=True),
        speed=1.0,
        runtime="local",
        runtime_why="no container engine answers",
        policy=letter,
        kind=policy.kind,
        mode=policy.mode,
        repeat=repeat,
        seed=scenario.workload.seed,
        schedule_sha256=sha256(f"{scenario.workload.seed}/{repeat}/{count}".encode()).hexdigest(),
        schedule_count=count,
        arms_side_by_side=4,
        versions={"python": "3.11.7", "redis": "7.4.1"},
        host={"cores": 2, "memory_bytes": 8_000_000_000, "platform": "Linux"},
    )


def arm_events(
    scenario: Scenario, text: str, letter: str, repeat: int = 1, rate_per_s: float = 10.0
) -> Iterator[Event]:
    """A whole, balanced journal of one arm, in the order in which things happen."""
    seed = scenario.workload.seed + repeat
    count = sum(1 for _ in schedule(scenario, rate_per_s, seed))
    yield header(scenario, text, letter, repeat, count)
    yield from _prelude(scenario, rate_per_s)
    yield from _load(scenario, letter, rate_per_s, seed)
    yield _event(
        "load_end",
        scenario.workload.duration,
        "loadgen",
        due_count=count,
        sent_count=count,
        answered_count=count,
        unsent_count=0,
    )
    yield from _ending(scenario)


def _prelude(scenario: Scenario, rate_per_s: float) -> Iterator[Event]:
    yield _event("phase", -8.0, "runner", phase="bring_up")
    yield _check("clock", -5.0, "client and Redis differ by 0.2 ms")
    yield _check("steady_state", -4.0, "three probes answered within 0.2 s")
    yield _event("check", -3.0, "runner", name="capacity", ok=True, detail="", evidence=_capacity(scenario, rate_per_s))
    yield _event("schedule_start", -1.0, "loadgen", start_at=START_AT, due_count=0)


def _check(name: str, second: float, detail: str) -> Event:
    return _event("check", second, "runner", name=name, ok=True, detail=detail, evidence={})


def _capacity(scenario: Scenario, rate_per_s: float) -> Event:
    rows = []
    for phase in scenario.phase_windows():
        mean = 0.4 + (0.8 if phase == "fault" else 0.0)
        load = rate_per_s * mean / scenario.stack.total_slots
        rows.append(
            {
                "phase": phase,
                "arrival_rate_per_s": rate_per_s,
                "mean_service_s": mean,
                "p95_service_s": mean + 0.5,
                "offered_slots": rate_per_s * mean,
                "slots": scenario.stack.total_slots,
                "load_ratio": load,
                "unavoidable_shed_ratio": max(0.0, 1 - 1 / load),
            }
        )
    return {"phases": rows, "lines": ["In the fault the same arrivals need 12 slots and there are 8."]}


def _load(scenario: Scenario, letter: str, rate_per_s: float, seed: int) -> Iterator[Event]:
    queue = Queue(scenario, scenario.stack.total_slots)
    ticks = _ticks(scenario)
    tick = next(ticks)
    for job in schedule(scenario, rate_per_s, seed):
        now_s = job.due_s + NET_S
        while tick[0] <= now_s:
            yield from queue.advance(tick[0])
            yield from _sampled(queue, tick)
            tick = next(ticks)
        yield from queue.advance(now_s)
        yield from _offer(scenario, letter, queue, now_s, job)
    while queue.busy or queue.waiting or tick[0] <= scenario.workload.duration:
        yield from queue.advance(tick[0])
        yield from _sampled(queue, tick)
        tick = next(ticks)


def _ticks(scenario: Scenario) -> Iterator[tuple[float, Event | None]]:
    """Moments at which something other than a request happens: a sample, or a step of the fault timeline."""
    steps: list[tuple[float, Event]] = []
    for number, fault in enumerate(scenario.faults, start=1):
        for action, second in (("inject", fault.start), ("revert", fault.end)):
            steps.append((second, _fault(f"{fault.kind}-{number}", fault.kind, action, second)))
    pending = deque(sorted(steps, key=lambda step: step[0]))
    number = 0
    while True:
        second = number * SIGNAL_EVERY_S
        while pending and pending[0][0] <= second:
            yield pending.popleft()
        yield second, None
        number += 1


def _fault(name: str, kind: str, action: str, second: float) -> Event:
    return _event(
        "fault",
        second + 0.004,
        "runner",
        name=name,
        kind=kind,
        action=action,
        intended_at=START_AT + second,
        applied_at=START_AT + second + 0.004,
        ok=True,
        detail="",
        touched_connections=8 if action == "revert" else None,
    )


def _sampled(queue: Queue, tick: tuple[float, Event | None]) -> Iterator[Event]:
    second, step = tick
    if step is not None:
        yield step
        return
    yield _event(
        "signals",
        second,
        "gate-1",
        queue_age_s=round(queue.age_s(second), 6),
        queue_depth=len(queue.waiting),
        in_flight=len(queue.busy),
        slots=queue.slots,
        utilization_ratio=round(queue.utilization, 6),
    )
    if round(second / SIGNAL_EVERY_S) % 10 == 0:
        yield _event(
            "host",
            second,
            "runner",
            cpu_ratio=0.41,
            available_memory_bytes=4_000_000_000,
            other_cpu_cores=0.03,
            cpu_pressure_ratio=0.12,
        )


def _offer(scenario: Scenario, letter: str, queue: Queue, now_s: float, job: Drawn) -> Iterator[Event]:
    reason = sheds(scenario, letter, queue, now_s)
    decision = "admit" if reason is None else "shed"
    yield _event(
        "decision",
        now_s,
        "gate-1",
        request_id=job.request_id,
        job_id=job.job_id if reason is None else None,
        job_class=job.job_class,
        tenant="default",
        decision=decision,
        would=decision,
        reason=reason or "admitted",
        policy=letter,
        mode="enforce",
        numbers={"queue_age_s": queue.age_s(now_s)},
        retry_after_s=None if reason is None else 1.0,
        decide_s=0.001,
    )
    if reason is None:
        yield from queue.enqueue(now_s, job)
    yield _event(
        "request",
        now_s + NET_S,
        "loadgen",
        request_id=job.request_id,
        job_class=job.job_class,
        due_at=round(START_AT + job.due_s, 6),
        sent_at=round(START_AT + job.due_s + 0.001, 6),
        answered_at=round(START_AT + now_s + NET_S, 6),
        status=202 if reason is None else 429,
        job_id=job.job_id if reason is None else None,
        reason=reason,
        retry_after_s=None if reason is None else 1.0,
        error=None,
    )


def _ending(scenario: Scenario) -> Iterator[Event]:
    end_s = scenario.workload.duration + scenario.stack.drain
    yield _check("clean_state", end_s, "no toxic, every proxy enabled, stream empty")
    yield _event("breakdown", end_s + 1, "runner", bring_up_s=6.0, run_s=60.0, drain_s=1.0, clean_up_s=1.5)
    yield _event("phase", end_s + 1, "runner", phase="done")


def write_arm(run_dir: Path, name: str, events: Iterator[Event] | list[Event]) -> Path:
    """Writes one arm's journal; returns its path."""
    folder = run_dir / name
    folder.mkdir(parents=True)
    path = folder / "journal.jsonl"
    with path.open("w", encoding="utf-8") as lines:
        lines.writelines(json.dumps(event, separators=(",", ":"), ensure_ascii=False) + "\n" for event in events)
    return path


def flagship() -> tuple[Scenario, str]:
    """The shipped scenario and its text."""
    loaded = load_scenario(SCENARIOS / "slow_provider.yaml")
    return loaded.scenario, loaded.text


SMALL = """\
name: small
summary: A small drill for tests.
slo: {measure: ttft, percentile: 80, within: 1s}
stack: {workers: 1, slots: 2}
workload:
  seed: 3
  duration: 18s
  arrivals: {kind: poisson, rate: 3/s}
  classes:
    chat: {service: {kind: constant, time: 400ms}, deadline: 7s}
faults:
  - {kind: latency, at: 6s, for: 6s, link: model, latency: 800ms}
policies:
  A: {kind: none}
  B: {kind: queue_age, max_age: 400ms, why: "Half of what is left of the SLO."}
expect:
  A: {verdict: breached}
  B: {verdict: breached, bounds: [{measure: shed_rate, phase: all, at_most: 0.9}]}
"""


def small(text: str = SMALL) -> tuple[Scenario, str]:
    """A scenario of some fifty requests, two slots and two policies."""
    return parse_scenario(text, "small.yaml"), text


def small_run(run_dir: Path, text: str = SMALL, repeats: int = 1) -> Path:
    """A whole run of the small scenario: every policy and repeat."""
    scenario, text = small(text)
    for letter in scenario.policies:
        for repeat in range(1, repeats + 1):
            write_arm(run_dir, f"{letter}-{repeat}", arm_events(scenario, text, letter, repeat, rate_per_s=3.0))
    return run_dir
