"""The phases that follow from a fault timeline."""

import pytest
from pydantic import ValidationError

from lab.contract.fault_spec import ProcessFault
from lab.contract.loading import parse_scenario

TEXT = """
name: phases
summary: Windows.
slo: {within: 1s}
workload:
  seed: 1
  duration: 60s
  arrivals: {kind: constant, rate: 1/s}
  classes: {chat: {service: {kind: constant, time: 100ms}, deadline: 5s}}
policies: {A: {kind: none}}
faults: [FAULTS]
"""


def windows(faults: str) -> dict[str, tuple[float, float]]:
    scenario = parse_scenario(TEXT.replace("FAULTS", faults), "phases.yaml")
    return {str(phase): window for phase, window in scenario.phase_windows().items()}


@pytest.mark.parametrize(
    ("faults", "expected"),
    [
        ("", {"baseline": (0, 60)}),
        ("{kind: noop, at: 20s, for: 10s}", {"baseline": (0, 20), "fault": (20, 30), "recovery": (30, 60)}),
        ("{kind: noop, at: 0s, for: 10s}", {"fault": (0, 10), "recovery": (10, 60)}),
        ("{kind: noop, at: 50s, for: 10s}", {"baseline": (0, 50), "fault": (50, 60)}),
        ("{kind: noop, at: 0s, for: 60s}", {"fault": (0, 60)}),
        (
            "{kind: noop, at: 40s, for: 5s}, {kind: noop, at: 10s, for: 5s}, {kind: noop, at: 12s, for: 20s}",
            {"baseline": (0, 10), "fault": (10, 45), "recovery": (45, 60)},
        ),
    ],
    ids=["no fault", "in the middle", "at once", "to the end", "all the time", "several, in any order"],
)
def test_the_fault_phase_runs_from_the_first_start_to_the_last_end(
    faults: str, expected: dict[str, tuple[float, float]]
) -> None:
    assert windows(faults) == expected


def test_the_windows_follow_one_another_without_a_gap() -> None:
    edges = list(windows("{kind: noop, at: 7s, for: 13s}").values())
    assert [end for _, end in edges[:-1]] == [start for start, _ in edges[1:]]
    assert (edges[0][0], edges[-1][1]) == (0, 60)


def process_fault(**fields: object) -> ProcessFault:
    return ProcessFault.model_validate({"kind": "process", "at": "1s", "for": "2s", **fields})


def test_a_scale_says_how_many_workers_are_left() -> None:
    assert process_fault(service="worker", action="scale", replicas=0).replicas == 0
    with pytest.raises(ValidationError, match="scale with replicas"):
        process_fault(service="worker", action="scale")
    with pytest.raises(ValidationError, match="replicas goes with action scale"):
        process_fault(service="worker", action="kill", replicas=1)
    with pytest.raises(ValidationError, match="only workers can be scaled; gate is one process"):
        process_fault(service="gate", action="scale", replicas=2)


def switched(*windows: tuple[str, str]) -> str:
    faults = ", ".join(f"{{kind: policy, at: {at}, for: {lasts}, mode: 'off'}}" for at, lasts in windows)
    return TEXT.replace("FAULTS", faults)


def test_switches_of_policy_may_overlap_as_they_like() -> None:
    parse_scenario(switched(("10s", "30s"), ("20s", "10s")), "nested.yaml")
    parse_scenario(switched(("10s", "10s"), ("20s", "10s")), "apart.yaml")
    for later in ("20s", "30s"):
        crossed = parse_scenario(switched(("10s", "30s"), ("20s", later)), "crossed.yaml")
        assert [each.kind for each in crossed.faults] == ["policy", "policy"]
