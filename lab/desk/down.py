"""`shedlab down`: ends the rehearsal bench, whatever is left of it; fine to call when there is none."""

import argparse

from lab.contract.names import EXIT_OK
from lab.desk.rehearsing import plainly, rehearsal_state
from lab.drill.rehearsal import RehearsalError
from lab.drill.rehearsal.containers import list_containers
from lab.drill.rehearsal.start import take_down, take_everything_down
from lab.drill.rehearsal.state import State
from lab.drill.testbed.engine import EngineError


def down(asked: argparse.Namespace) -> int:
    """Says what it ended.

    Raises:
        DeskError: two benches are up and neither is named, or something does not end.
    """
    state = rehearsal_state()
    with plainly():
        if asked.all:
            print("\n".join(take_everything_down(state)) or "nothing of the lab was up")
            return EXIT_OK
        runtimes = [asked.runtime] if asked.runtime != "auto" else _there(state)
        if len(runtimes) > 1:
            raise RehearsalError("two benches are there; say which: --runtime local, or --runtime compose")
        said = [sentence for runtime in runtimes for sentence in take_down(state, runtime)]
    print("\n".join(said) or "no rehearsal bench is up")
    return EXIT_OK


def _there(state: State) -> list[str]:
    """The runtimes of which anything is left, running or not."""
    found = ["local"] if state.bench_file.exists() else []
    try:
        return [*found, "compose"] if list_containers() else found
    except EngineError:
        return found
