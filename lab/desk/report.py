"""`shedlab report`, and the end of every `shedlab run`: makes the report from the journals and shows it."""

from pathlib import Path
from typing import TYPE_CHECKING

from lab.contract.names import EXIT_COULD_NOT_RUN
from lab.desk.errors import DeskError
from lab.desk.places import find_run
from lab.desk.report_view import print_report

if TYPE_CHECKING:
    from lab.reporter.build import RunReport


def report(run: str) -> int:
    """Makes a run's report again, from its journals alone; the exit code is the run's.

    Raises:
        DeskError: there is no such run, or no report can be made of it.
    """
    made = make_report(find_run(run))
    print_report(made)
    return made.exit_code


def too_close_policies(run_dir: Path) -> tuple[str, ...]:
    """The letters of the policies whose verdict is too close to call.

    Raises:
        DeskError: the journals cannot be read, exit code 3.
    """
    from lab.reporter.build import ReportError  # noqa: PLC0415 - as below
    from lab.reporter.build import too_close_policies as find  # noqa: PLC0415

    try:
        return find(run_dir)
    except ReportError as error:
        raise DeskError(str(error), EXIT_COULD_NOT_RUN) from None


def make_report(run_dir: Path) -> "RunReport":
    """Writes every file of the report into the run's folder.

    Raises:
        DeskError: no report can be made, exit code 3.
    """
    # Here, since pandas and matplotlib take a second to load, and a drill is over before they are needed.
    from lab.reporter.build import ReportError, build_report  # noqa: PLC0415

    try:
        return build_report(run_dir)
    except ReportError as error:
        raise DeskError(str(error), EXIT_COULD_NOT_RUN) from None
