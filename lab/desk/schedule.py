"""`shedlab schedule`: writes the arrivals of a scenario, as the load generator plays them."""

import sys
from pathlib import Path

from lab.contract.names import EXIT_COULD_NOT_RUN, EXIT_OK
from lab.contract.speed import scaled
from lab.desk.errors import DeskError
from lab.desk.places import find_scenario
from lab.workload.errors import WorkloadError
from lab.workload.schedule import make_schedule, write_schedule


def schedule(name_or_file: str, speed: float, out: Path) -> int:
    """Writes the first repeat's schedule to `out`, one request a line, and says its SHA-256 on standard error.

    Raises:
        DeskError: the scenario is not sound, or `out` cannot be written.
    """
    loaded = find_scenario(name_or_file)
    try:
        played = scaled(loaded.scenario, speed)
        requests = make_schedule(played.workload, 1, loaded.path.parent)
    except (WorkloadError, ValueError) as error:
        raise DeskError(str(error)) from None
    try:
        sha256 = write_schedule(requests, out)
    except OSError as error:
        raise DeskError(f"{out}: cannot be written: {error.strerror or error}", EXIT_COULD_NOT_RUN) from None
    seconds = f"{played.workload.duration:g} s of {played.name}"
    print(f"schedule: {len(requests)} requests, {seconds}, SHA-256 {sha256}", file=sys.stderr)
    return EXIT_OK
