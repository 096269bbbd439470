"""The worker's Prometheus metrics: each is a count of the events that the journal is told, so that the two agree.

Probes are left out, as they are of every measure. Names: drill 2's (`agent_`), OpenTelemetry's for the model's calls
(`gen_ai_`), the lab's for jobs and workers. Must not know Redis, the model or the stream.
"""

import time
from collections.abc import Callable
from typing import Any, Final

from prometheus_client import CollectorRegistry, Counter, Enum, Gauge, Histogram

from lab.contract.names import PROBE_PREFIX
from worker.serving import Emit

# Jobs wait and run for minutes where a request is over in seconds; the bounds of the drills' alerts are among these.
SECONDS_BUCKETS: Final = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 45, 60, 80, 120, 160, 320, 600, 1200)
MISS_MS_BUCKETS: Final = tuple(1000 * bound for bound in SECONDS_BUCKETS)
SLACK_BUCKETS: Final = (-60, -10, -1, 0, 0.25, 0.5, 1, 2.5, 5, 10, 20, 40, 80, 160, 320, 600)
# Clients make up the names of classes and tenants; those past this many are counted together.
MOST_LABELS: Final = 100
OTHER: Final = "other"


class Metrics:
    """One worker's metrics in a registry of their own."""

    def __init__(self, slots: int, monotonic: Callable[[], float] = time.monotonic) -> None:
        """`monotonic` tells the heartbeat's age, in seconds."""
        self.registry = CollectorRegistry()
        self._monotonic = monotonic
        self._classes, self._tenants = _Labels(), _Labels()
        self._make_job_metrics()
        self._make_worker_metrics(slots)
        self._make_model_metrics()
        self._take: dict[str, Callable[[dict[str, Any]], None]] = {
            "outcome": self._take_outcome,
            "attempt": self._take_attempt,
            "heartbeat": self._take_heartbeat,
            "breaker": self._take_breaker,
            "dead_letter": self._take_dead_letter,
        }

    def counting(self, emit: Emit) -> Emit:
        """Says events with `emit` and counts them."""

        def say(event: str, at: float, **fields: Any) -> None:
            emit(event, at, **fields)
            self.observe(event, fields)

        return say

    def observe(self, event: str, fields: dict[str, Any]) -> None:
        """Counts one event of the journal."""
        take = self._take.get(event)
        if take is not None and not str(fields.get("request_id") or "").startswith(PROBE_PREFIX):
            take(fields)

    def _make_job_metrics(self) -> None:
        a, by_class = self.registry, ("class",)
        self._results = Counter("agent_job_result", "Jobs settled first by this worker", ("ok", "late"), registry=a)
        self._misses = Histogram(
            "agent_deadline_miss_ms", "By how much late jobs missed", registry=a, buckets=MISS_MS_BUCKETS
        )
        self._jobs = Counter("jobs", "Jobs settled first by this worker", ("class", "tenant", "outcome"), registry=a)
        self._waits = _seconds(a, "job_queue_wait_seconds", "From enqueueing to delivery", by_class)
        self._durations = _seconds(a, "job_duration_seconds", "How long a job held its slot", by_class)
        self._turnarounds = _seconds(a, "job_turnaround_seconds", "From enqueueing to done", by_class)
        self._first = _seconds(a, "job_first_token_seconds", "From enqueueing to the first token", by_class)
        self._slacks = Histogram(
            "job_deadline_slack_seconds",
            "Time to the deadline at delivery",
            by_class,
            registry=a,
            buckets=SLACK_BUCKETS,
        )

    def _make_worker_metrics(self, slots: int) -> None:
        a = self.registry
        self._deliveries = Counter("worker_deliveries", "Deliveries done with, by how", ("result",), registry=a)
        self._redeliveries = Counter("worker_redeliveries", "Deliveries that were not a job's first", registry=a)
        self._duplicates = Counter("worker_duplicate_executions", "Jobs done that another settled first", registry=a)
        self._denials = Counter("worker_retries_denied", "Retries not made, by what forbade them", ("by",), registry=a)
        self._busy = Gauge("worker_busy_slots", "Slots in use at the last heartbeat", registry=a)
        Gauge("worker_slots", "Slots there are", registry=a).set(slots)
        states = ["closed", "open", "half_open"]
        self._breaker = Enum("worker_breaker_state", "State of the breaker", states=states, registry=a)
        self._beat_at = self._monotonic()
        age = Gauge("agent_worker_heartbeat_age_seconds", "Since the last heartbeat, or the start", registry=a)
        age.set_function(lambda: self._monotonic() - self._beat_at)

    def _make_model_metrics(self) -> None:
        a = self.registry
        what, first = "One call of the model", "To the first token of a call"
        self._calls = _seconds(a, "gen_ai_client_operation_duration_seconds", what, ("error_type",))
        self._first_tokens = _seconds(a, "gen_ai_client_operation_time_to_first_chunk_seconds", first, ())
        self._wasted = Counter("model_wasted_tokens", "Tokens that served no job in time", ("cause",), registry=a)

    def _take_outcome(self, said: dict[str, Any]) -> None:
        if said["outcome"] != "dead_lettered":
            self._deliveries.labels("duplicate" if said["duplicate"] else "settled").inc()
        if said["deliveries"] > 1:
            self._redeliveries.inc()
        if said["retry_denied"] is not None:
            self._denials.labels(said["retry_denied"]).inc()
        if said["ok"] and (said["duplicate"] or said["late"]):
            self._wasted.labels("duplicate" if said["duplicate"] else "late").inc(said["tokens_out"])
        if not said["duplicate"]:
            self._count_job(said)
        elif said["attempt"] > 0:
            self._duplicates.inc()

    def _count_job(self, said: dict[str, Any]) -> None:
        job_class = self._classes.of(said["job_class"])
        self._results.labels(_yes(said["ok"]), _yes(said["late"])).inc()
        self._jobs.labels(job_class, self._tenants.of(said["tenant"]), said["outcome"]).inc()
        self._waits.labels(job_class).observe(said["queue_age_s"])
        self._durations.labels(job_class).observe(said["slot_s"])
        if said["ok"]:
            self._turnarounds.labels(job_class).observe(said["finished_at"] - said["enqueued_at"])
        if said["first_token_at"] is not None:
            self._first.labels(job_class).observe(said["first_token_at"] - said["enqueued_at"])
        self._slacks.labels(job_class).observe(said["deadline_at"] - said["dequeued_at"])
        if said["late"]:
            self._misses.observe(1000 * (said["finished_at"] - said["deadline_at"]))

    def _take_attempt(self, said: dict[str, Any]) -> None:
        failed = said["result"] != "ok"
        error_type = str(said["status"] if said["status"] not in {None, 200} else said["result"]) if failed else ""
        self._calls.labels(error_type).observe(said["endpoint_latency_s"])
        if said["ttft_s"] is not None:
            self._first_tokens.observe(said["ttft_s"])
        if failed:
            self._wasted.labels(said["result"]).inc(said["tokens_out"])

    def _take_heartbeat(self, said: dict[str, Any]) -> None:
        self._beat_at = self._monotonic()
        self._busy.set(said["busy_slots"])

    def _take_breaker(self, said: dict[str, Any]) -> None:
        self._breaker.state(said["state"])

    def _take_dead_letter(self, _said: dict[str, Any]) -> None:
        self._deliveries.labels("dead_lettered").inc()


class _Labels:
    """The first names seen; all others are one."""

    def __init__(self) -> None:
        self._seen: set[str] = set()

    def of(self, name: str) -> str:
        if name not in self._seen and len(self._seen) < MOST_LABELS:
            self._seen.add(name)
        return name if name in self._seen else OTHER


def _seconds(registry: CollectorRegistry, name: str, what: str, labels: tuple[str, ...]) -> Histogram:
    return Histogram(name, what, labels, registry=registry, buckets=SECONDS_BUCKETS)


def _yes(truth: object) -> str:
    return "true" if truth else "false"
