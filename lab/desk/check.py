"""`shedlab check`: recomputes a finished run from its journals and says where report.json differs."""

from lab.checker.check import RunCheck, check_run
from lab.checker.recording import UnreadableError
from lab.contract.names import EXIT_COULD_NOT_RUN, EXIT_DEVIATED, EXIT_OK
from lab.desk.errors import DeskError
from lab.desk.places import find_run


def check(run: str) -> int:
    """0 where journals and report agree and every promise was kept, 1 where not.

    Raises:
        DeskError: there is no such run (2), or it cannot be read (3).
    """
    try:
        found = check_run(find_run(run))
    except UnreadableError as error:
        raise DeskError(str(error), EXIT_COULD_NOT_RUN) from None
    print("\n".join(_lines(found)))
    return EXIT_DEVIATED if found.problems else EXIT_OK


def _lines(found: RunCheck) -> list[str]:
    notes = [f"arm {arm.name}: {note}" for arm in found.arms for note in arm.notes]
    if found.problems:
        return [*notes, *found.problems]
    offered = sum(arm.measured["all"].offered for arm in found.arms)
    return [*notes, f"check: {len(found.arms)} arms, {offered} requests; no job lost, and report.json agrees"]
