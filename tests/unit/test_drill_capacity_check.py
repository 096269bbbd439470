from lab.contract.journal import line_of, parse_line
from lab.drill.capacity_check import capacity_evidence
from tests.unit.workload_drills import queue_age_drill
from tests.unit.workload_scenarios import fault, scenario


def test_the_evidence_holds_a_check_per_claim_in_the_scenarios_order() -> None:
    drill = queue_age_drill()
    evidence = capacity_evidence(drill, ())
    assert len(evidence["claims"]) == len(drill.claims)
    assert evidence["claims"][1]["ruled_out"] is True
    assert evidence["claims"][1]["sentence"].endswith("2.6 s cannot be")
    assert evidence["claims"][2] == {"ruled_out": False, "sentence": ""}


def test_the_evidence_of_an_outage_can_be_written_into_a_journal() -> None:
    event = {"event": "check", "at": 0.0, "evidence": capacity_evidence(scenario(fault("proxy_down")), ())}
    assert parse_line(line_of(event)) == event
