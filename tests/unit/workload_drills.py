"""The four published drills as far as their declared numbers go, with their claims; E, F and G by their keys alone."""

from types import SimpleNamespace
from typing import Any

from lab.contract.scenario import Scenario
from tests.unit.workload_scenarios import drill_4, fault, scenario

G = SimpleNamespace(kind="age_or_full", mode="enforce", max_age=25.0, max_in_flight=4, depth_factor=2)


def slack(**changes: Any) -> Any:
    """E as drill 2 declares it."""
    estimate = SimpleNamespace(floor=0.35, min_samples=10, percentile=95)
    return SimpleNamespace(
        **{"kind": "deadline_slack", "mode": "enforce", "margin": 0.25, "max_slack": None, "estimate": estimate}
        | changes
    )


def slack_v1(**changes: Any) -> Any:
    """F as drill 4 declares it."""
    return SimpleNamespace(**{"kind": "slack_v1", "mode": "enforce", "slack_floor": 5.0} | changes)


def claim(policy: str, measure: str, value: float, phase: str = "all") -> dict[str, Any]:
    return {"policy": policy, "measure": measure, "value": value, "phase": phase}


def with_policies(declared: Scenario, **policies: Any) -> Scenario:
    """The scenario with policies of kinds that only their keys describe."""
    return declared.model_copy(update={"policies": policies})


def review_burst() -> Scenario:
    """Drill 1: 0.8/s, doubled from 120 to 240 s, on four slots at 5 to 30 s."""
    stages = [("120s", "0.8/s"), ("120s", "1.6/s"), ("60s", "0.8/s")]
    declared = scenario(
        duration="300s",
        arrivals={"kind": "stages", "stages": [{"lasts": t, "start_rate": r, "end_rate": r} for t, r in stages]},
        classes={"chat": {"service": {"kind": "uniform", "low": "5s", "high": "30s"}, "deadline": "120s"}},
        stack={"workers": 4, "slots": 1},
        slo={"measure": "turnaround", "within": "60s"},
        policies={"G": {"kind": "queue_age", "max_age": "25s"}},
        claims=[
            claim("G", "admitted", 178),
            claim("G", "shed_count", 61),
            claim("G", "done_count", 178),
            claim("G", "mean_utilization_ratio", 0.6),
        ],
    )
    return with_policies(declared, G=G)


def slack_gate(latency: str = "350ms", **policy: Any) -> Scenario:
    """Drill 2: 40/s for 6 s on three slots."""
    declared = scenario(
        duration="6s",
        arrivals={"kind": "constant", "rate": "40/s"},
        classes={
            "agent": {"service": {"kind": "constant", "time": latency}, "deadline": {"low": "900ms", "high": "2600ms"}}
        },
        stack={"workers": 3, "slots": 1},
        slo={"measure": "turnaround", "within": "2600ms"},
        policies={"E": {"kind": "none"}},
        claims=[claim("E", "admitted", 173), claim("E", "shed_count", 67)],
    )
    return with_policies(declared, E=slack(**policy))


def queue_age_drill() -> Scenario:
    """Drill 3: up to 20/s, held, on two slots; +800 ms from 60 s on; 100 ms of the model's own make 2.2 jobs/s."""
    ramps = [("90s", "0/s", "20/s"), ("120s", "20/s", "20/s"), ("30s", "20/s", "0/s")]
    p95 = {"A": 14.8, "B": 2.6, "C": 9.4, "D": 13.2}
    shed = {"A": 0.0, "B": 0.11, "C": 0.08, "D": 0.04}
    return scenario(
        fault("latency", "60s", "180s", latency="800ms"),
        duration="240s",
        arrivals={"kind": "stages", "stages": [{"lasts": t, "start_rate": a, "end_rate": b} for t, a, b in ramps]},
        classes={"chat": {"service": {"kind": "constant", "time": "100ms"}, "deadline": "30s"}},
        stack={"workers": 2, "slots": 1},
        slo={"measure": "ttft", "within": "5s"},
        policies={
            "A": {"kind": "none"},
            "B": {"kind": "queue_age", "max_age": "2s"},
            "C": {"kind": "queue_depth", "max_depth": 10},
            "D": {"kind": "utilization", "max_utilization": "80%"},
        },
        claims=[
            *(claim(letter, "p95_ttft_s", value, "fault") for letter, value in p95.items()),
            *(claim(letter, "shed_rate", value, "fault") for letter, value in shed.items()),
            claim("A", "p95_ttft_s", 1.1, "baseline"),
        ],
    )


def regime_change(rate: str = "6/s") -> Scenario:
    """Drill 4, with what it claims; A is off, F enforced."""
    claims = [
        claim("A", "offered_slots", 5.1, "baseline"),
        claim("A", "deadline_miss_rate", 0.21, "fault"),
        claim("A", "p99_turnaround_s", 41, "fault"),
        claim("F", "shed_rate", 0.17, "fault"),
        claim("F", "deadline_miss_rate", 0.03, "fault"),
    ]
    declared = Scenario.model_validate(
        drill_4(rate).model_dump(mode="json", by_alias=True)
        | {"policies": {"A": {"kind": "none"}, "F": {"kind": "none"}}, "claims": claims}
    )
    return with_policies(declared, A=declared.policies["A"], F=slack_v1())
