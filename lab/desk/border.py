"""The front desk's border: whatever a command raises leaves as one sentence and an exit code, never as a traceback."""

import errno
import io
import os
import sys
import traceback
from collections.abc import Callable

from lab.contract.names import EXIT_COULD_NOT_RUN, EXIT_INTERRUPTED, EXIT_OK
from lab.desk.errors import DeskError

DEBUG_VARIABLE = "SHEDLAB_DEBUG"
# Set by the Makefile, since make turns every failure into its own 2.
MAKE_VARIABLE = "SHEDLAB_FROM_MAKE"
REMEDIES = {
    errno.ENOSPC: "; free some space",
    errno.EDQUOT: "; free some space",
    errno.EACCES: "; make it yours to use",
    errno.EPERM: "; make it yours to use",
    errno.EROFS: "; make it writable",
}


def carry_out(command: Callable[[], int]) -> int:
    """Runs one command; returns its exit code, or the one that goes with what it raised."""
    exit_code = _carry_out(command)
    if exit_code != EXIT_OK and os.environ.get(MAKE_VARIABLE):
        print(f"shedlab ended with exit code {exit_code} (make itself always says 2)", file=sys.stderr)
    return exit_code


def _carry_out(command: Callable[[], int]) -> int:
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A terminal that cannot show a character shows a question mark.
            stream.reconfigure(errors="replace")
    exit_code = EXIT_OK
    try:
        exit_code = command()
        sys.stdout.flush()
    except BrokenPipeError:
        _forget_output()
    except DeskError as error:
        return _refuse(str(error), error.exit_code)
    except KeyboardInterrupt:
        return _refuse("interrupted", EXIT_INTERRUPTED)
    except Exception as error:  # noqa: BLE001 - the border: a user gets a sentence, a developer the traceback
        if os.environ.get(DEBUG_VARIABLE):
            traceback.print_exc()
        return _refuse(_sentence(error), EXIT_COULD_NOT_RUN)
    return exit_code


def _refuse(sentences: str, exit_code: int) -> int:
    for line in sentences.splitlines():
        print(f"shedlab: {line}", file=sys.stderr)
    return exit_code


def _forget_output() -> None:
    """The reader of a pipe went away, which is its right; what is still buffered goes nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _sentence(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        where = f"{error.filename}: " if error.filename else ""
        return f"{where}{error.strerror}{REMEDIES.get(error.errno or 0, '')}"
    said = " ".join(str(error).split())
    return f"unexpected {type(error).__name__}: {said}; set {DEBUG_VARIABLE}=1 to see where"
