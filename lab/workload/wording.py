"""The capacity check in sentences, for the terminal and the report."""

from lab.contract.scenario import Scenario
from lab.workload.capacity import PhaseLoad, phase_loads
from lab.workload.threshold_check import derived_age_limits, forecast


def capacity_lines(scenario: Scenario) -> list[str]:
    """One sentence per phase, one per policy, and the age limit that the rule would give."""
    return [
        *(_phase_line(load) for load in phase_loads(scenario)),
        *(policy.sentence for policy in forecast(scenario)),
        f"an age limit by the rule: {derived_age_limits(scenario)[2]}",
    ]


def _phase_line(load: PhaseLoad) -> str:
    shed = load.unavoidable_shed_ratio
    said = f"at least {shed:.0%} of the work must be shed or late" if shed else "all of it can be done"
    return (
        f"{load.phase}: {load.arrival_rate_per_s:.2f}/s x {load.mean_service_s:.2f} s = "
        f"{load.offered_slots:.1f} slots of work for {load.slots} slots ({load.load_ratio:.0%}); {said}"
    )
