"""`shedlab alerts`: a scenario's alerts as a Prometheus rules file."""

from lab.contract.names import EXIT_OK
from lab.desk.errors import DeskError
from lab.desk.places import find_scenario


def print_alerts(name_or_file: str) -> int:
    """Prints the rules file.

    Raises:
        DeskError: the scenario is not to be had, or it declares no alert.
    """
    scenario = find_scenario(name_or_file).scenario
    if not scenario.alerts:
        raise DeskError(f"{scenario.name} declares no alerts; add a section alerts: (scenarios/README.md explains it)")
    # Here, since pandas takes a second to load.
    from lab.reporter.prometheus_rules import rules_file  # noqa: PLC0415

    print(rules_file(scenario), end="")
    return EXIT_OK
