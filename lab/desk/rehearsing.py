"""What the verbs of a rehearsal share: where its state is, which bench is meant, and how it says no."""

import contextlib
import sys
from collections.abc import Iterator

from lab.contract.flags import FlagError
from lab.contract.names import EXIT_COULD_NOT_RUN
from lab.desk.errors import DeskError
from lab.desk.places import reports_root
from lab.drill.rehearsal import RehearsalError
from lab.drill.rehearsal.bench import Bench
from lab.drill.rehearsal.find import find_bench
from lab.drill.rehearsal.forgetting import forget_strangers
from lab.drill.rehearsal.injection import revert_overdue
from lab.drill.rehearsal.state import State
from lab.drill.testbed import StackError


@contextlib.contextmanager
def plainly() -> Iterator[None]:
    """Turns what a rehearsal raises into a DeskError: exit code 3, or 2 where the user's words are wrong."""
    try:
        yield
    except FlagError as error:
        raise DeskError(str(error)) from None
    except (RehearsalError, StackError) as error:
        raise DeskError(str(error), EXIT_COULD_NOT_RUN) from None


def rehearsal_state() -> State:
    """Under the reports folder."""
    return State(reports_root())


def bench_that_is_up(state: State, runtime: str) -> Bench:
    """The bench, after what is past its end on it was reverted and what was done to another is forgotten.

    Raises:
        RehearsalError: there is none, or there are two.
    """
    bench = find_bench(state, runtime)
    for sentence in (*forget_strangers(state, bench), *revert_overdue(state, bench)):
        print(f"shedlab: {sentence}", file=sys.stderr)
    return bench
