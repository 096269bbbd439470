"""The journal: every event of one arm, one JSON object a line, appended as it happens.

Services print their events to standard output with `emit`; the runner adds `source` and its own events and appends all
to `reports/<run>/<arm>/journal.jsonl`. Lines of different services may be slightly out of order; `at` orders them.
The TypedDicts below document each event's fields. All `_at` are unix seconds; services that talk to Redis use Redis
time.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, TextIO, TypedDict

JOURNAL_NAME = "journal.jsonl"
SCHEDULE_NAME = "schedule.jsonl"
# What a run header calls the endpoint where workers call the lab's own model.
MOCK_MODEL = "mock model"


class JournalError(Exception):
    """A journal that cannot be read; the sentence names file and line."""


class Event(TypedDict):
    """Fields of every line. `source` names who saw it: runner, gate-1, worker-2, model-1, loadgen."""

    event: str
    at: float
    source: str


class RunEvent(Event):
    """`run`, the first line: what is played, and on what.

    `scenario_text` is the declared file's text, `played` the scaled scenario as JSON, `endpoint` MOCK_MODEL or scheme
    and address of a real one (absent in older journals: the mock).
    """

    run_id: str
    scenario_name: str
    scenario_text: str
    scenario_sha256: str
    played: dict[str, Any]
    speed: float
    runtime: str
    runtime_why: str
    endpoint: str
    policy: str
    kind: str
    mode: str
    repeat: int
    seed: int
    schedule_sha256: str
    schedule_count: int
    arms_side_by_side: int
    versions: dict[str, str]
    host: dict[str, Any]


class ScheduleStartEvent(Event):
    """`schedule_start` (loadgen): time 0 of the schedule, said a moment before it comes."""

    start_at: float
    due_count: int


class PhaseEvent(Event):
    """`phase` (runner): the arm enters bring_up, steady_state, baseline, fault, recovery, drain, clean_up or done."""

    phase: str


class DecisionEvent(Event):
    """`decision` (gate): one request decided.

    Also from the enqueue endpoint, for each job that it makes: admit, reason and policy `bypass`, mode off, no numbers.

    In log_only, `would` is what enforce would have said; else it equals `decision`. `mode` is the one the request was
    decided in: under an enforced policy it is log_only while the estimate of the request's class is cold. `reason`
    belongs to `would`. `hard_backoff` is true where a client shed too often within its retry window was told so.

    The fields in ms, and `age_s`, are those that the drills name; None where the signals are lost, the policy has no
    floor, nothing was shed, or (est_service_ms) there is neither a sample nor a declared least:
    slack_ms        projected slack: deadline - queue_ahead_ms - est_service_ms; negative where it would be late
    slack_floor_ms  the least projected slack that the policy asks for (deadline_slack: its margin)
    est_service_ms  expected service of the request's class, from estimator_n samples
    queue_ahead_ms  expected wait (deadline_slack: queued / slots x estimate, or the measured wait; else work ahead)
    retry_after_ms  what the client was told, spread and at least 1000; retry_after_s is the same in seconds
    age_s           age of the oldest entry not yet delivered
    """

    request_id: str
    job_id: str | None
    job_class: str
    tenant: str
    decision: Literal["admit", "shed", "degrade"]
    would: Literal["admit", "shed", "degrade"]
    reason: str
    policy: str
    mode: str
    numbers: dict[str, float]
    retry_after_s: float | None
    decide_s: float
    age_s: float | None
    slack_ms: float | None
    slack_floor_ms: float | None
    est_service_ms: float | None
    queue_ahead_ms: float | None
    estimator_n: int | None
    retry_after_ms: int | None
    hard_backoff: bool


class DriftEvent(Event):
    """`drift` (gate): a class's expected service time more than doubled within `within_s`; each gate says it."""

    job_class: str
    from_s: float
    to_s: float
    within_s: float


class BypassEvent(Event):
    """`bypass` (gate): a request forwarded past a queue that does not answer; who enqueues it writes its decision."""

    request_id: str
    status: int


class RefusalEvent(Event):
    """`refusal` (gate, enqueue, edge): a request refused in error; `request_id` is None where the body named none."""

    request_id: str | None
    status: int
    reason: str
    message: str


class AttemptEvent(Event):
    """`attempt` (worker): one call of the model; its result is ok, timeout or error.

    Latencies are seconds from the call's start.
    """

    request_id: str
    job_id: str
    worker_id: str
    attempt: int
    started_at: float
    ttft_s: float | None
    endpoint_latency_s: float
    tokens_out: int
    status: int | None
    result: str
    detail: str


class OutcomeEvent(Event):
    """`outcome` (worker): a job settled, the job line. `duplicate` is true where another settled it before.

    Only the first counts. `first_token_at` is None where none came; `slot_s` is how long the job held its slot;
    `ttft_s` is the endpoint's, of the last attempt. `retry_denied` says what forbade a further attempt that
    max_attempts and the deadline allowed; `deliveries` counts this one.

    `ok`: the model's call was completed. `late`: it ended past its deadline. So done in time is ok and not late, done
    past the deadline both, a failure in time neither, and an expired job late only.
    `result` is the outcome in four words: ok (ok, late), shed (expired: dropped unserved), timeout, error (error,
    dead_lettered). The fields in ms repeat others for readers of the drills' job lines: `time_enqueue_ms` and
    `time_dequeue_ms` are enqueued_at and dequeued_at in unix ms.
    """

    request_id: str
    job_id: str
    job_class: str
    tenant: str
    worker_id: str
    outcome: str
    duplicate: bool
    detail: str
    enqueued_at: float
    dequeued_at: float
    queue_age_s: float
    deadline_at: float
    first_token_at: float | None
    finished_at: float
    slot_s: float
    endpoint_latency_s: float | None
    ttft_s: float | None
    tokens_out: int
    attempt: int
    retry_denied: Literal["breaker", "retry_budget"] | None
    deliveries: int
    ok: bool
    late: bool
    result: Literal["ok", "shed", "timeout", "error"]
    time_enqueue_ms: float
    time_dequeue_ms: float
    queue_age_ms: float
    endpoint_latency_ms: float | None
    ttft_ms: float | None


class DeadLetterEvent(Event):
    """`dead_letter` (worker): an entry set aside in `shedlab:dead` unserved, and why.

    `job_id` and `request_id` are None where it does not name its job; where it does, an `outcome` follows.
    """

    worker_id: str
    entry_id: str
    job_id: str | None
    request_id: str | None
    reason: str


class BreakerEvent(Event):
    """`breaker` (worker): its breaker is now closed, open or half_open. While it is open the worker takes no job."""

    worker_id: str
    state: Literal["closed", "open", "half_open"]
    reason: str


class UnfinishedEvent(Event):
    """`unfinished` (runner): a job still in the stream when the drain's bound was reached."""

    request_id: str
    job_id: str


class LostEvent(Event):
    """`lost` (runner): admitted, never settled and no longer in Redis, whose memory a declared fault has emptied."""

    request_id: str
    job_id: str


class RequestEvent(Event):
    """`request` (loadgen): one scheduled request as its client saw it.

    Unsent: `sent_at` None; never answered: `status` None.
    """

    request_id: str
    job_class: str
    due_at: float
    sent_at: float | None
    answered_at: float | None
    status: int | None
    job_id: str | None
    reason: str | None
    retry_after_s: float | None
    error: str | None


class LoadEndEvent(Event):
    """`load_end` (loadgen): the schedule is over and every answer is in or given up."""

    due_count: int
    sent_count: int
    answered_count: int
    unsent_count: int


class SignalsEvent(Event):
    """`signals` (gate, ten times a second): the stack's signals in Redis time. Age is 0 with nothing undelivered.

    `work_ahead_s` is the expected service of all that is admitted and not settled, over slots; `queued_per_slot` is
    queue_depth over slots. All are None, and mean not known, while the queue does not answer.
    """

    queue_age_s: float | None
    queue_depth: int | None
    in_flight: int | None
    slots: int | None
    utilization_ratio: float | None
    work_ahead_s: float | None
    queued_per_slot: float | None


class HeartbeatEvent(Event):
    """`heartbeat` (worker): alive, with this many of its slots busy."""

    worker_id: str
    busy_slots: int
    slots: int


class FaultEvent(Event):
    """`fault` (runner): a step on the timeline; its action is inject, revert, found_left_over or, by hand, switch.

    `intended_at` is when it was due.
    """

    name: str
    kind: str
    action: str
    intended_at: float
    applied_at: float
    ok: bool
    detail: str
    touched_connections: int | None


class CheckEvent(Event):
    """`check` (runner): something verified, such as steady_state or clean_state; `evidence` holds what was read."""

    name: str
    ok: bool
    detail: str
    evidence: dict[str, Any]


class HostEvent(Event):
    """`host` (runner, once a second): share of all cores busy since the last sample, and memory still available.

    `other_cpu_cores`: cores that worked for others than the lab, time stolen by a hypervisor included; None where it
    cannot be told apart. `cpu_pressure_ratio`: share of the time in which a task waited for a core; None where the
    kernel does not tell.
    """

    cpu_ratio: float
    available_memory_bytes: int
    other_cpu_cores: float | None
    cpu_pressure_ratio: float | None


class StandstillEvent(Event):
    """`standstill` (runner): the runner did nothing between these times: stopped, asleep or starved."""

    began_at: float
    ended_at: float


class ExitEvent(Event):
    """`exit` (runner): a process of the stack ended; `expected` is false where nobody asked it to."""

    service: str
    code: int | None
    expected: bool


class BreakdownEvent(Event):
    """`breakdown` (runner, last): where the arm's wall time went; waiting is for the arms beside it."""

    bring_up_s: float
    waiting_s: float
    run_s: float
    drain_s: float
    clean_up_s: float


def line_of(event: dict[str, Any]) -> str:
    """One event as one line, newline included. A number that JSON cannot say is refused (ValueError)."""
    return json.dumps(event, separators=(",", ":"), allow_nan=False, ensure_ascii=False) + "\n"


def emit(stream: TextIO, event: str, at: float, **fields: Any) -> None:
    """Prints one event of a service; the runner adds `source`."""
    stream.write(line_of({"event": event, "at": at, **fields}))
    stream.flush()


def parse_line(line: str) -> dict[str, Any] | None:
    """The event on a line of a service's output, None where the line is no event (a library's own words)."""
    if not line.startswith("{"):
        return None
    try:
        event = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return event if isinstance(event, dict) and isinstance(event.get("event"), str) and "at" in event else None


def read_journal(path: Path) -> Iterator[dict[str, Any]]:
    """The events of a journal, in the order written. A last line cut short by a crash is left out.

    Raises:
        JournalError: the file cannot be read, or a line before the last is no event.
    """
    try:
        with path.open(encoding="utf-8") as lines:
            for number, line in enumerate(lines, start=1):
                event = parse_line(line)
                if event is None:
                    if not line.endswith("\n"):
                        return
                    raise JournalError(
                        f"{path}:{number}: this line is not an event; "
                        "a journal holds one JSON object with event and at per line"
                    )
                yield event
    except (OSError, UnicodeDecodeError) as error:
        raise JournalError(f"{path}: cannot be read as a journal: {error}") from error
