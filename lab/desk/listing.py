"""`shedlab list`: the scenarios there are."""

import re

from lab.contract.loading import ScenarioError, load_scenario
from lab.contract.names import EXIT_OK
from lab.desk.places import scenario_files


def list_scenarios() -> int:
    """Prints a line per scenario file; one that is broken says why instead of stopping the list."""
    files = scenario_files()
    width = max((len(path.stem) for path in files), default=0)
    for path in files:
        try:
            scenario = load_scenario(path).scenario
        except ScenarioError as error:
            print(f"{path.stem:{width}}  broken: {str(error).splitlines()[0]}")
            continue
        policies = ", ".join(scenario.policies)
        print(f"{path.stem:{width}}  {scenario.workload.duration:g} s, policies {policies}: {_gist(scenario.summary)}")
    return EXIT_OK


def _gist(summary: str) -> str:
    """The first sentence, on one line, without characters that could steer a terminal."""
    line = "".join(character for character in " ".join(summary.split()) if character.isprintable())
    return re.split(r"(?<=[.!?]) ", line, maxsplit=1)[0]
