"""`shedlab validate`: is this scenario sound, and what does arithmetic expect of it?"""

from lab.contract.names import EXIT_OK
from lab.desk.errors import DeskError
from lab.desk.places import find_scenario
from lab.workload.errors import WorkloadError
from lab.workload.schedule import make_schedule
from lab.workload.wording import capacity_lines


def validate(name_or_file: str) -> int:
    """Prints the scenario's outline and the capacity check.

    Raises:
        DeskError: it is not sound, or its replayed file is not; the sentences say where and why.
    """
    loaded = find_scenario(name_or_file)
    scenario = loaded.scenario
    workload, slo = scenario.workload, scenario.slo
    print(f"{scenario.name}: valid; {workload.duration:g} s, policies {', '.join(scenario.policies)}")
    print(f"  SLO: p{slo.percentile:g} {slo.measure} within {slo.within:g} s from due time")
    try:
        requests = make_schedule(scenario.workload, 1, loaded.path.parent)
    except WorkloadError as error:
        raise DeskError(str(error)) from None
    for line in capacity_lines(scenario, requests):
        print(f"  {line}")
    return EXIT_OK
