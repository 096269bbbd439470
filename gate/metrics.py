"""The gate's metrics, for Prometheus to read at /metrics: every line of the journal is counted here too.

The names of drill 2 (`agent_...`) stand as DRILLS.md writes them, though a counter's name would end in _total; the
others are those of the project's survey (RED for requests, gauges for the stack). Requests of the lab's own probes stay
out, as they stay out of the book. Knows values; must not know Redis or HTTP.
"""

from collections.abc import Iterator, Mapping

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.exposition import generate_latest
from prometheus_client.metrics_core import Metric

from gate.waiting import Decided
from lab.contract.messages import JobRequest
from lab.contract.names import PROBE_PREFIX
from lab.policies.estimate import Estimate
from lab.policies.snapshot import Snapshot

# Classes and tenants are clients' words: past this many they are counted together.
MOST_LABELS = 100
OTHER = "other"
DECISION_BUCKETS_S = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0)
# Near zero, where slack decides, as fine as a service is short; up to a minute for agents' jobs.
SLACK_BUCKETS_MS = (
    -60_000,
    -10_000,
    -5_000,
    -2_000,
    -1_000,
    -500,
    -250,
    0,
    250,
    500,
    1_000,
    2_000,
    5_000,
    10_000,
    60_000,
)
WAIT_BUCKETS_MS = (0, 50, 100, 250, 500, 1_000, 2_000, 5_000, 10_000, 30_000, 60_000, 120_000)
MOST_RETRIES = 5


class GateMetrics:
    """One gate's metrics, in a registry of their own."""

    def __init__(self) -> None:
        """All at nothing."""
        registry = self._registry = CollectorRegistry()
        self._classes, self._tenants = BoundedLabels(), BoundedLabels()
        self._results = ResultCounter("agent_admission_decision", "Requests decided, by result.")
        registry.register(self._results)
        self._slack_ms = Histogram(
            "agent_deadline_slack_ms",
            "Projected slack at the decision: deadline less expected wait and service.",
            buckets=SLACK_BUCKETS_MS,
            registry=registry,
        )
        self._wait_ms = Histogram(
            "agent_queue_wait_estimate_ms",
            "Expected wait at the decision.",
            buckets=WAIT_BUCKETS_MS,
            registry=registry,
        )
        labels = ("policy", "class", "tenant", "decision", "reason")
        self._requests = Counter(
            "gate_requests", "Requests for a job; decision is error where refused so.", labels, registry=registry
        )
        self._decide_s = Histogram(
            "gate_decision_duration_seconds",
            "From a request's receipt to its decision.",
            buckets=DECISION_BUCKETS_S,
            registry=registry,
        )
        self._hard = Counter("gate_hard_backoffs", "Sheds answered with the hard back-off.", registry=registry)
        self._bypassed = Counter("gate_bypassed_requests", "Requests forwarded past the queue.", registry=registry)
        self._drifts = Counter(
            "gate_estimate_drifts", "Estimates that more than doubled within a minute.", ("class",), registry=registry
        )
        self._retries = Counter(
            "gate_retry_attempts", "Requests that their client calls a retry.", ("attempt",), registry=registry
        )
        self._limits = Gauge(
            "gate_limit", "The limit that a signal crossed last, by signal.", ("signal",), registry=registry
        )
        self._expected_s = Gauge(
            "gate_expected_service_seconds", "Expected service time.", ("class",), registry=registry
        )
        self._samples = Gauge("gate_estimator_samples", "Samples behind it.", ("class",), registry=registry)
        self._negative_slack = Gauge(
            "gate_queue_negative_slack_ratio", "Queued jobs not expected to be done in time.", registry=registry
        )
        self._gauges = {
            "in_flight": Gauge("gate_inflight", "Jobs delivered and not settled.", registry=registry),
            "queue_depth": Gauge("gate_queue_depth", "Jobs not yet delivered.", registry=registry),
            "queue_age_s": Gauge(
                "gate_queue_oldest_age_seconds", "Age of the oldest job not yet delivered.", registry=registry
            ),
            "work_ahead_s": Gauge(
                "gate_estimated_wait_seconds", "Expected service of all admitted jobs over slots.", registry=registry
            ),
            "slots": Gauge("gate_slots", "Slots of live workers.", registry=registry),
            "utilization_ratio": Gauge("gate_utilization_ratio", "Occupied slots, smoothed.", registry=registry),
        }

    def render(self) -> bytes:
        """All of them as Prometheus text."""
        return generate_latest(self._registry)

    def decision(self, request: JobRequest, decided: Decided, policy: str, decide_s: float) -> None:
        """Counts one request decided."""
        if request.request_id.startswith(PROBE_PREFIX):
            return
        decision = decided.decision
        self._results.count(decision.decision)
        job_class, tenant = self._classes.of(request.job_class), self._tenants.of(request.tenant)
        self._requests.labels(policy, job_class, tenant, decision.decision, decision.reason).inc()
        self._decide_s.observe(decide_s)
        self._hard.inc(int(decided.hard_backoff))
        if decision.forecast is not None:
            self._slack_ms.observe(decision.forecast.slack_s * 1000)
            self._wait_ms.observe(decision.forecast.queue_ahead_s * 1000)
        for name, limit in decision.numbers.items():
            if name.startswith("limit_"):
                self._limits.labels(name.removeprefix("limit_")).set(limit)

    def refusal(self, request_id: str | None, reason: str) -> None:
        """Counts one request refused in error, of which nothing else is known for certain."""
        if request_id is None or not request_id.startswith(PROBE_PREFIX):
            self._requests.labels("", "", "", "error", reason).inc()

    def retry(self, count: int) -> None:
        """Counts a request that its client sends for the `count`th time again; 0 is the first try."""
        if count > 0:
            self._retries.labels(str(count) if count <= MOST_RETRIES else f"over {MOST_RETRIES}").inc()

    def bypass(self) -> None:
        """Counts one request forwarded past the queue."""
        self._bypassed.inc()

    def drift(self, job_class: str) -> None:
        """Counts one drift."""
        self._drifts.labels(self._classes.of(job_class)).inc()

    def signals(self, snapshot: Snapshot) -> None:
        """The signals as last seen."""
        for signal, gauge in self._gauges.items():
            gauge.set(getattr(snapshot, signal))

    def negative_slack(self, ratio: float) -> None:
        """The share of the queue with negative projected slack."""
        self._negative_slack.set(ratio)

    def estimates(self, estimates: Mapping[str, Estimate]) -> None:
        """The estimates in force."""
        for job_class, estimate in estimates.items():
            label = self._classes.of(job_class)
            self._expected_s.labels(label).set(estimate.service_s)
            self._samples.labels(label).set(estimate.sample_count)


class BoundedLabels:
    """Label values, the first MOST_LABELS of them as they are, all others as one."""

    def __init__(self) -> None:
        """None yet."""
        self._known: set[str] = set()

    def of(self, value: str) -> str:
        """The label for a value."""
        if value not in self._known and len(self._known) >= MOST_LABELS:
            return OTHER
        self._known.add(value)
        return value


class ResultCounter:
    """A counter by result whose name does not end in _total; Prometheus takes it as of no declared type."""

    def __init__(self, name: str, documentation: str) -> None:
        """Nothing counted."""
        self._name = name
        self._documentation = documentation
        self._counts = {"admit": 0, "shed": 0, "degrade": 0}

    def count(self, result: str) -> None:
        """One more."""
        self._counts[result] += 1

    def collect(self) -> Iterator[Metric]:
        """What the registry asks for."""
        metric = Metric(self._name, self._documentation, "unknown")
        for result, count in self._counts.items():
            metric.add_sample(self._name, {"result": result}, count)
        yield metric
