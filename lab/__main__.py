"""The front desk: `shedlab COMMAND`. Every command imports its own room only, once it is asked for."""

import argparse
import os
import sys
import traceback
from collections.abc import Callable, Sequence

from lab.contract.names import EXIT_COULD_NOT_RUN, EXIT_INTERRUPTED, EXIT_OK
from lab.desk.arguments import parser
from lab.desk.errors import DeskError

DEBUG_VARIABLE = "SHEDLAB_DEBUG"


def main(arguments: Sequence[str] | None = None) -> int:
    """Carries out one command; returns the exit code that `lab.contract.names` documents."""
    asked = parser().parse_args(arguments)
    try:
        exit_code = COMMANDS[asked.command](asked)
        sys.stdout.flush()
    except DeskError as error:
        return _refuse(str(error), error.exit_code)
    except KeyboardInterrupt:
        return _refuse("interrupted", EXIT_INTERRUPTED)
    except BrokenPipeError:
        return _leave_quietly()
    except OSError as error:
        _trace()
        return _refuse(f"{_place(error)}; free some space and check that it may be used", EXIT_COULD_NOT_RUN)
    except Exception as error:  # noqa: BLE001 - the border: a user gets a sentence, a developer the traceback
        _trace()
        sentence = f"unexpected {type(error).__name__}: {error}; set {DEBUG_VARIABLE}=1 to see where"
        return _refuse(sentence, EXIT_COULD_NOT_RUN)
    return exit_code


def _run(asked: argparse.Namespace) -> int:
    from lab.desk.run import run  # noqa: PLC0415

    return run(asked)


def _validate(asked: argparse.Namespace) -> int:
    from lab.desk.validate import validate  # noqa: PLC0415

    return validate(asked.scenario)


def _list(_asked: argparse.Namespace) -> int:
    from lab.desk.listing import list_scenarios  # noqa: PLC0415

    return list_scenarios()


def _report(asked: argparse.Namespace) -> int:
    from lab.desk.report import report  # noqa: PLC0415

    return report(asked.run)


def _doctor(_asked: argparse.Namespace) -> int:
    from lab.desk.doctor import doctor  # noqa: PLC0415

    return doctor()


def _schema(_asked: argparse.Namespace) -> int:
    from lab.desk.schema import print_schema  # noqa: PLC0415

    return print_schema()


COMMANDS: dict[str, Callable[[argparse.Namespace], int]] = {
    "run": _run,
    "validate": _validate,
    "list": _list,
    "report": _report,
    "doctor": _doctor,
    "schema": _schema,
}


def _refuse(sentence: str, exit_code: int) -> int:
    for line in sentence.splitlines() or [""]:
        print(f"shedlab: {line}", file=sys.stderr)
    return exit_code


def _leave_quietly() -> int:
    """The reader of a pipe went away, which is its right; what is still buffered goes nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return EXIT_OK


def _place(error: OSError) -> str:
    where = f"{error.filename}: " if error.filename else ""
    return f"{where}{error.strerror or error}"


def _trace() -> None:
    if os.environ.get(DEBUG_VARIABLE):
        traceback.print_exc()


if __name__ == "__main__":
    sys.exit(main())
