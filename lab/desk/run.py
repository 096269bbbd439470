"""`shedlab run`: play, report, say what came out."""

import argparse
import os
import time

from lab.contract.endpoint import ModelEndpoint, read_endpoint
from lab.contract.loading import LoadedScenario
from lab.contract.names import EXIT_COULD_NOT_RUN
from lab.desk.errors import DeskError
from lab.desk.places import find_scenario, reports_root
from lab.desk.progress_view import ProgressView
from lab.desk.report import make_report, too_close_policies
from lab.desk.report_view import print_report
from lab.drill.request import DrillError, DrillRequest
from lab.drill.runner import run_drill


def run(asked: argparse.Namespace) -> int:
    """Plays a drill and reports; the exit code is the report's.

    Raises:
        DeskError: the scenario is not to be had, or the drill could not run.
    """
    loaded = find_scenario(asked.scenario)
    _check_letters(asked.only, loaded)
    request = DrillRequest(
        loaded=loaded,
        runtime=asked.runtime,
        speed=asked.speed,
        jobs=asked.jobs,
        repeats=asked.repeats,
        only=asked.only,
        reports_root=reports_root(),
        endpoint=_endpoint(),
    )
    began = time.monotonic()
    try:
        with ProgressView() as view:
            run_dir = run_drill(request, view.show, too_close_policies)
    except DrillError as error:
        raise DeskError(str(error), EXIT_COULD_NOT_RUN) from None
    played = time.monotonic()
    made = make_report(run_dir)
    reported = time.monotonic()
    print_report(made, f"Whole drill: {reported - began:.1f} s, of which the report took {reported - played:.1f} s")
    return made.exit_code


def _endpoint() -> ModelEndpoint | None:
    try:
        return read_endpoint(os.environ)
    except ValueError as error:
        raise DeskError(str(error)) from None


def _check_letters(only: tuple[str, ...], loaded: LoadedScenario) -> None:
    declared = loaded.scenario.policies
    unknown = [letter for letter in only if letter not in declared]
    if unknown:
        raise DeskError(
            f"--only {unknown[0]}: {loaded.scenario.name} declares no such policy; it has {', '.join(declared)}"
        )
