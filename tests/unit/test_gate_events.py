"""The decision line carries every field that the drills name, under that name and type; /metrics counts lines."""

import io
import json
from typing import Any, get_type_hints

import pytest
from prometheus_client.parser import text_string_to_metric_families

from gate.events import EventWriter, whole_ms
from gate.metrics import MOST_LABELS, OTHER, GateMetrics
from gate.refused import queue_unreachable
from gate.waiting import Decided
from lab.contract.journal import BypassEvent, DecisionEvent, DriftEvent, RefusalEvent, SignalsEvent
from lab.contract.messages import JobRequest
from lab.policies.decision import Decision, Forecast
from lab.policies.drift import Drift
from lab.policies.estimate import Estimate
from lab.policies.snapshot import Snapshot

FORECAST = Forecast(30.0, 4.0, 200, 23.5, 5.0)
SHED = Decision(
    "shed", "shed", "deadline_slack", {"queue_age_s": 1.5, "limit_work_ahead_s": 21.0}, 2.6, forecast=FORECAST
)
ADMIT = Decision("admit", "admit", "admitted", {"queue_age_s": 0.0}, None, forecast=Forecast(30.0, 4.0, 7, 1.0))
LOST = Decision("admit", "admit", "admitted", {}, None)
# DRILLS.md section 4, section 1 (reason, age_s), and what every decision said before.
DRILLS = {
    "event": str,
    "job_id": str,
    "job_class": str,
    "decision": str,
    "policy": str,
    "slack_ms": float,
    "slack_floor_ms": float,
    "est_service_ms": float,
    "queue_ahead_ms": float,
    "estimator_n": int,
    "retry_after_ms": int,
    "reason": str,
    "age_s": float,
}


class Bench:
    def __init__(self) -> None:
        self.journal = io.StringIO()
        self.metrics = GateMetrics()
        self.events = EventWriter(self.journal, self.metrics)

    def line(self) -> dict[str, Any]:
        return dict(json.loads(self.journal.getvalue().splitlines()[-1]))

    def say(self, decision: Decision, request_id: str = "r-1", *, hard: bool = False, **fields: Any) -> None:
        request = JobRequest.model_validate(
            {"request_id": request_id, "deadline_s": 30.0, "job_class": "large"} | fields
        )
        job_id = None if decision.decision == "shed" else "j-1"
        self.events.decision(1_000.0, request, Decided(decision, job_id, None, None, hard), "F", 0.002)

    def counted(self, name: str, **labels: str) -> float:
        families = text_string_to_metric_families(self.metrics.render().decode())
        samples = [one for family in families for one in family.samples if one.name == name]
        return sum(one.value for one in samples if labels.items() <= one.labels.items())


def test_a_sheds_line_holds_the_drills_fields_and_their_numbers() -> None:
    bench = Bench()
    bench.say(SHED)
    line = bench.line()
    said = {name: line[name] for name in DRILLS}
    assert {name for name, value in said.items() if not isinstance(value, DRILLS[name])} == {"job_id"}
    assert said == {
        "event": "decision",
        "job_id": None,
        "job_class": "large",
        "decision": "shed",
        "policy": "F",
        "slack_ms": 2_500.0,
        "slack_floor_ms": 5_000.0,
        "est_service_ms": 4_000.0,
        "queue_ahead_ms": 23_500.0,
        "estimator_n": 200,
        "retry_after_ms": 2_600,
        "reason": "deadline_slack",
        "age_s": 1.5,
    }


@pytest.mark.parametrize("decision", [SHED, ADMIT, LOST], ids=["shed", "admit", "signals lost"])
def test_every_decision_line_has_exactly_the_contracts_fields(decision: Decision) -> None:
    bench = Bench()
    bench.say(decision)
    assert set(bench.line()) | {"source"} == set(get_type_hints(DecisionEvent))


def test_the_other_lines_have_exactly_the_contracts_fields() -> None:
    bench = Bench()
    bench.events.refusal(1.0, "r-1", queue_unreachable())
    bench.events.bypass(1.0, "r-1", 202)
    bench.events.drift(1.0, Drift("large", 12.0, 36.0, 60.0))
    bench.events.signals(Snapshot(1.0, 0.5, 3, 4, 8, 0.5, 1.25))
    lines = [json.loads(line) for line in bench.journal.getvalue().splitlines()]
    kinds = (RefusalEvent, BypassEvent, DriftEvent, SignalsEvent)
    assert [set(line) | {"source"} for line in lines] == [set(get_type_hints(kind)) for kind in kinds]


@pytest.mark.parametrize(
    ("seconds", "milliseconds"),
    [(None, None), (0.0, 0), (1.0, 1_000), (1.0001, 1_001), (2.345, 2_345), (0.1 + 0.2, 300)],
)
def test_milliseconds_are_never_less_than_the_seconds_and_no_more_for_rounding(
    seconds: float | None, milliseconds: int | None
) -> None:
    assert whole_ms(seconds) == milliseconds


def test_every_line_is_counted_under_the_names_of_the_drill_and_the_survey() -> None:
    bench = Bench()
    for decision in (SHED, SHED, ADMIT, LOST):
        bench.say(decision, tenant="acme")
    bench.events.refusal(1.0, None, queue_unreachable())
    assert bench.counted("agent_admission_decision", result="shed") == 2
    assert bench.counted("agent_admission_decision", result="admit") == 2
    assert bench.counted("agent_admission_decision", result="degrade") == 0
    assert bench.counted("agent_deadline_slack_ms_count") == 3
    # A histogram of what may be negative has no sum.
    assert bench.counted("agent_deadline_slack_ms_bucket", le="5000.0") == 2
    assert bench.counted("agent_queue_wait_estimate_ms_sum") == 2 * 23_500 + 1_000
    request = {"policy": "F", "class": "large", "tenant": "acme"}
    assert bench.counted("gate_requests_total", **request, decision="shed", reason="deadline_slack") == 2
    assert bench.counted("gate_requests_total", decision="error", reason="queue_unreachable") == 1
    assert bench.counted("gate_decision_duration_seconds_count") == 4
    assert bench.counted("gate_limit", signal="work_ahead_s") == 21


def test_signals_estimates_drifts_and_hard_backoffs_are_there_too() -> None:
    bench = Bench()
    bench.events.signals(Snapshot(1.0, 0.5, 3, 4, 8, 0.25, 1.25))
    bench.events.estimates({"large": Estimate(36.0, 60, cold=False)})
    bench.events.drift(1.0, Drift("large", 12.0, 36.0, 60.0))
    bench.say(SHED, hard=True)
    bench.metrics.retry(0)
    bench.metrics.retry(2)
    bench.metrics.retry(99)
    values = {
        "gate_queue_depth": 3,
        "gate_inflight": 4,
        "gate_queue_oldest_age_seconds": 0.5,
        "gate_estimated_wait_seconds": 1.25,
        "gate_expected_service_seconds": 36,
        "gate_estimator_samples": 60,
        "gate_estimate_drifts_total": 1,
        "gate_hard_backoffs_total": 1,
        "gate_retry_attempts_total": 2,
    }
    assert {name: bench.counted(name) for name in values} == values
    assert bench.counted("gate_retry_attempts_total", attempt="2") == 1


def test_the_labs_own_probes_are_not_counted() -> None:
    bench = Bench()
    bench.say(ADMIT, "probe-1")
    bench.events.refusal(1.0, "probe-2", queue_unreachable())
    assert bench.counted("gate_requests_total") == 0
    assert bench.counted("agent_admission_decision") == 0


def test_clients_cannot_make_labels_without_end() -> None:
    bench = Bench()
    for number in range(MOST_LABELS + 20):
        bench.say(ADMIT, tenant=f"t-{number}")
    assert bench.counted("gate_requests_total", tenant=OTHER) == 20
    assert bench.counted("gate_requests_total") == MOST_LABELS + 20
