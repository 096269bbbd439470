"""What became of every request, and what must not become of any. Pure."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from lab.checker.recording import Line, Recording

ACCEPTED = 202
TOO_MANY_REQUESTS = 429
DONE = ("ok", "late")
# What may make a queue deliver a job twice: a worker that was gone or stood still, or lost its line to Redis.
REDELIVERS = "process"
# What a fault on Redis does that empties its memory, and the queue with it.
EMPTIES = ("kill", "restart")
# Times of the journal are rounded to a microsecond.
ROUNDING_S = 2e-6


@dataclass(frozen=True, slots=True)
class Request:
    """One scheduled request. `fate` is admitted, shed, refused or unanswered; times are unix seconds."""

    request_id: str
    due_at: float
    fate: str
    job_id: str | None
    outcome: Line | None

    @property
    def is_in_time(self) -> bool:
        """Whether it was done within its deadline."""
        return self.outcome is not None and self.outcome["outcome"] == "ok"


def requests_of(recording: Recording) -> list[Request]:
    """Every request that a client recorded, with its first outcome. The gate's word counts where there is one."""
    decisions = {line["request_id"]: line for line in reversed(recording.of("decision"))}
    refused = {line["request_id"] for line in recording.of("refusal")}
    outcomes = {line["job_id"]: line for line in reversed(recording.of("outcome")) if not line["duplicate"]}
    found = []
    for line in recording.of("request"):
        decision = decisions.get(line["request_id"])
        fate = _fate(line, decision, is_refused=line["request_id"] in refused)
        job_id = ((decision or {}).get("job_id") or line["job_id"]) if fate == "admitted" else None
        outcome = outcomes.get(job_id) if job_id else None
        found.append(Request(line["request_id"], float(line["due_at"]), fate, job_id, outcome))
    return found


def _fate(client: Line, decision: Line | None, *, is_refused: bool) -> str:
    if decision is not None and decision["decision"] in ("admit", "degrade", "shed"):
        return "shed" if decision["decision"] == "shed" else "admitted"
    if is_refused:
        return "refused"
    if client["status"] is None:
        return "unanswered"
    return {ACCEPTED: "admitted", TOO_MANY_REQUESTS: "shed"}.get(int(client["status"]), "refused")


def violations(recording: Recording, requests: list[Request]) -> Iterator[str]:
    """A sentence for every job of which the queue broke a promise, and for every witness that is missing."""
    if not recording.whole or not any(line["phase"] == "done" for line in recording.of("phase")):
        yield "the journal is cut short: no line says that the arm came to its end"
    declared = int(recording.header["schedule_count"])
    if declared != len(requests):
        yield f"the schedule holds {declared} requests, and the client recorded {len(requests)}"
    yield from _repeated(requests)
    yield from _lost(recording, requests)
    yield from _lost_with_redis(recording)
    yield from _run_twice(recording)
    yield from _settled_twice(recording.of("outcome"))
    yield from _settled_after_expiry(recording.of("outcome"))
    yield from _never_admitted(recording, requests)


def _repeated(requests: Iterable[Request]) -> Iterator[str]:
    for request_id, count in Counter(request.request_id for request in requests).items():
        if count > 1:
            yield f"request {request_id} has {count} client records"


def _lost(recording: Recording, requests: Iterable[Request]) -> Iterator[str]:
    left = {line["job_id"] for event in ("unfinished", "lost") for line in recording.of(event)}
    for request in requests:
        if request.fate == "admitted" and request.outcome is None and request.job_id not in left:
            job = request.job_id or f"of request {request.request_id}"
            yield f"job {job} was lost: admitted, and nothing tells of its end"


def _lost_with_redis(recording: Recording) -> Iterator[str]:
    """Only a fault that empties Redis explains a loss: it keeps its queue in memory."""
    lost = recording.of("lost")
    faults = recording.header["played"]["faults"]
    if lost and not any(fault.get("service") == "redis" and fault.get("action") in EMPTIES for fault in faults):
        yield f"{len(lost)} jobs were lost with Redis, and no declared fault kills or restarts it"


def runs_of(recording: Recording) -> dict[str, int]:
    """Job -> how often it ran: the attempts that bear one number, or the outcomes said of it, whichever are more.

    A retry of one delivery bears the next number; the runs of two deliveries bear the same.
    """
    attempts = Counter((line["job_id"], line["attempt"]) for line in recording.of("attempt"))
    runs = Counter(line["job_id"] for line in recording.of("outcome"))
    for (job_id, _), count in attempts.items():
        runs[job_id] = max(runs[job_id], count)
    return dict(runs)


def may_redeliver(recording: Recording) -> bool:
    """Whether a declared fault explains that a job is delivered again: at least once is what the queue promises."""
    faults = recording.header["played"]["faults"]
    return any(fault["kind"] == REDELIVERS or fault.get("link") == "redis" for fault in faults)


def _run_twice(recording: Recording) -> Iterator[str]:
    if may_redeliver(recording):
        return
    for job_id, count in runs_of(recording).items():
        if count > 1:
            yield f"job {job_id} ran {count} times, and no declared fault explains a second delivery"


def _settled_twice(outcomes: list[Line]) -> Iterator[str]:
    for job_id, count in Counter(line["job_id"] for line in outcomes if not line["duplicate"]).items():
        if count > 1:
            yield f"job {job_id} was settled {count} times; the first settlement alone may count"


def _settled_after_expiry(outcomes: list[Line]) -> Iterator[str]:
    by_job: dict[str, list[Line]] = defaultdict(list)
    for line in outcomes:
        by_job[line["job_id"]].append(line)
    for job_id, lines in by_job.items():
        words = [line["outcome"] for line in lines if not line["duplicate"]]
        if "expired" in words and any(line["outcome"] in DONE for line in lines):
            yield f"job {job_id} was settled after expiry: it is both expired and done"
    for line in outcomes:
        past_s = line["finished_at"] - line["deadline_at"]
        if line["outcome"] == "ok" and past_s > ROUNDING_S:
            yield f"job {line['job_id']} was settled after expiry: `ok`, {past_s:.3f} s past its deadline"


def _never_admitted(recording: Recording, requests: Iterable[Request]) -> Iterator[str]:
    admitted = {request.job_id for request in requests if request.job_id}
    for line in recording.of("outcome"):
        if line["job_id"] not in admitted:
            yield f"job {line['job_id']} was settled, and no client's request was admitted as it"
