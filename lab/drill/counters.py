"""Do the services' own counters agree with what they wrote down? Two accounts of one drill, apart until its end."""

from collections.abc import Iterable
from typing import Any

from prometheus_client.parser import text_string_to_metric_families

from lab.contract.fault_spec import AnyFault, ProcessFault
from lab.drill.probes import Check
from lab.drill.progress import ArmProgress

DECISIONS = "agent_admission_decision"
RESULTS = "agent_job_result_total"
GATE_METRICS = "/metrics"


def check_counters(
    gate_text: str, worker_texts: Iterable[str], counted: ArmProgress, faults: Iterable[AnyFault]
) -> Check:
    """Compares /metrics of gate and workers with the journal's lines, probes left out on both sides.

    A service that was killed or restarted has counted from 0 since, so then there is nothing to compare.
    """
    decisions = _totals(gate_text, DECISIONS, "result")
    settled = sum(sum(_totals(text, RESULTS, "ok").values()) for text in worker_texts)
    metrics = {"shed": decisions.get("shed", 0), "admitted": sum(decisions.values()) - decisions.get("shed", 0)}
    metrics["settled"] = settled
    journal = {"shed": counted.shed, "admitted": counted.admitted, "settled": counted.settled}
    evidence: dict[str, Any] = {"metrics": metrics, "journal": journal}
    if any(isinstance(fault, ProcessFault) and fault.service in ("gate", "worker") for fault in faults):
        return Check(
            "counters", ok=True, detail="a service started anew, so its counters tell of less", evidence=evidence
        )
    same = metrics == journal
    words = ", ".join(f"{name} {metrics[name]:.0f} of {journal[name]}" for name in journal)
    return Check("counters", same, f"counted by the services and in the journal: {words}", evidence)


def _totals(text: str, name: str, label: str) -> dict[str, float]:
    """A counter's samples, summed by one label."""
    totals: dict[str, float] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            if sample.name == name:
                key = sample.labels.get(label, "")
                totals[key] = totals.get(key, 0) + sample.value
    return totals
