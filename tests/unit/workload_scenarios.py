"""Scenarios small enough to be worked out by hand, for the tests of the capacity check."""

from typing import Any

from lab.contract.messages import ScheduledRequest
from lab.contract.scenario import Scenario

POISSON_10 = {"kind": "poisson", "rate": "10/s"}
# 10/s x 400 ms are 4 of 8 slots; all slots together serve 20/s.
CHAT = {"service": {"kind": "constant", "time": "400ms", "first_token": "100ms"}, "deadline": "7s"}

# The keys that a fault of each kind needs, and those that make it felt.
FAULT_KEYS: dict[str, dict[str, Any]] = {
    "noop": {},
    "latency": {"latency": "300ms", "jitter": "30ms"},
    "bandwidth": {"rate_kb_per_s": 10},
    "slow_close": {"delay": "1s"},
    "timeout": {"timeout": "1s"},
    "reset_peer": {},
    "slicer": {"average_size_bytes": 10},
    "limit_data": {"limit_bytes": 10},
    "proxy_down": {},
    "model": {"slow_factor": 3, "failure_ratio": 0.5},
    "process": {"service": "worker", "action": "scale", "replicas": 4},
    "policy": {"mode": "off"},
    "route": {},
}


def scenario(
    *faults: dict[str, Any], duration: str = "60s", arrivals: dict[str, Any] = POISSON_10, **changes: Any
) -> Scenario:
    """Half-loaded from end to end but for `faults`; `changes` replace whole sections, `classes` the workload's."""
    classes = changes.pop("classes", {"chat": CHAT})
    return Scenario.model_validate(
        {
            "name": "by_hand",
            "summary": "Worked out by hand.",
            "slo": {"measure": "ttft", "within": "3.5s"},
            "stack": {"workers": 2, "slots": 4},
            "workload": {"seed": 1, "duration": duration, "arrivals": arrivals, "classes": classes},
            "faults": list(faults),
            "policies": {"A": {"kind": "none"}},
            **changes,
        }
    )


def fault(kind: str, at: str = "20s", lasts: str = "20s", **fields: Any) -> dict[str, Any]:
    """A fault in the middle third."""
    return {"kind": kind, "at": at, "for": lasts, **fields}


def slow_by_800_ms() -> Scenario:
    """The flagship with one service time for all: 10/s x 1.2 s are 12 of 8 slots, which serve 6.67/s."""
    return scenario(
        fault("latency", latency="800ms"),
        policies={
            "A": {"kind": "none"},
            "B": {"kind": "queue_age", "max_age": "1.6s"},
            "C": {"kind": "queue_depth", "max_depth": 40},
            "D": {"kind": "utilization", "max_utilization": "80%"},
        },
    )


def drill_4(rate: str = "6/s") -> Scenario:
    """Drill 4: three classes on eight slots, the large ones' work tripled from 120 s on."""
    work = {"small": (70, "800ms"), "medium": (25, "4s"), "large": (5, "12s")}
    classes = {
        name: {"weight": weight, "service": {"kind": "constant", "time": time}, "deadline": "30s"}
        for name, (weight, time) in work.items()
    }
    return scenario(
        fault("model", "120s", "180s", slow_factor=3, classes=["large"]),
        duration="300s",
        arrivals={"kind": "poisson", "rate": rate},
        classes=classes,
        slo={"measure": "turnaround", "within": "30s"},
    )


def played(*dues_and_work: tuple[float, float]) -> list[ScheduledRequest]:
    """A schedule of one class; a quarter of the work comes before the first token."""
    return [
        ScheduledRequest(
            request_id=f"r{number}",
            due_s=due_s,
            job_class="chat",
            tenant="t",
            input_tokens=1,
            output_tokens=1,
            work_s=work_s,
            first_token_s=work_s / 4,
            deadline_s=9.0,
        )
        for number, (due_s, work_s) in enumerate(dues_and_work)
    ]
