"""Which bench a verb means: the one that is up."""

from lab.drill.rehearsal import RehearsalError
from lab.drill.rehearsal.bench import Bench
from lab.drill.rehearsal.compose import find_compose
from lab.drill.rehearsal.local import LocalBench, Note, read_note
from lab.drill.rehearsal.processes import process_of
from lab.drill.rehearsal.state import State, read_json

AUTO = "auto"


def find_bench(state: State, runtime: str) -> Bench:
    """The bench that is up, of this runtime where one is named.

    Raises:
        RehearsalError: there is none, or there are two and neither is named.
    """
    note = None if runtime == "compose" else read_note(state)
    lives = note is not None and process_of(note.keeper) is not None
    compose = None if runtime == "local" else find_compose()
    if note is not None and lives and compose is not None:
        raise RehearsalError("two benches are up; say which: --runtime local, or --runtime compose")
    if note is not None and lives:
        return LocalBench(state, note)
    if compose is not None:
        compose.scenario = (read_json(state.compose_file) or {}).get("scenario")
        return compose
    raise RehearsalError(_none_is_up(note, runtime))


def _none_is_up(dead: Note | None, runtime: str) -> str:
    flag = "" if runtime == AUTO else f" --runtime {runtime}"
    if dead is not None:
        return (
            f"the local bench's keeper is gone; `shedlab down` removes what it left, then `shedlab up{flag}` starts one"
        )
    return f"no rehearsal bench is up; start one with `shedlab up{flag}`"
