"""Brings a bench up, and takes it down for certain."""

import asyncio
import os
import shutil
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from lab.contract.scenario import Scenario
from lab.drill.arm import BRING_UP_WITHIN_S
from lab.drill.rehearsal import RehearsalError
from lab.drill.rehearsal.bench import Bench
from lab.drill.rehearsal.compose import end_compose, find_compose, stack_variables, start_compose
from lab.drill.rehearsal.find import find_bench
from lab.drill.rehearsal.forgetting import forget_all
from lab.drill.rehearsal.local import end_local, read_note
from lab.drill.rehearsal.processes import end, process_of, start_detached
from lab.drill.rehearsal.state import State, write_json
from lab.drill.testbed.engine import EngineError
from lab.drill.testbed.images import engine_version
from lab.drill.testbed.leftovers import end_orphans
from lab.drill.testbed.local import INHERITED, LOG_DIR
from lab.drill.testbed.projects import remove_every_project

KEEPER = "lab.drill.rehearsal.keeper"
POLL_S = 0.1
# The keeper gives up first.
KEEPER_WITHIN_S = BRING_UP_WITHIN_S + 15.0
DEFAULT_LETTER = "B"


@dataclass(frozen=True, slots=True)
class Wanted:
    """The bench that is asked for; `named` where scenario or policy were said, and not taken as a matter of course."""

    scenario: Scenario
    path: Path
    letter: str
    named: bool


def choose_runtime(runtime: str) -> tuple[str, str]:
    """`local` or `compose`, and why."""
    if runtime != "auto":
        return runtime, f"{runtime} was asked for"
    try:
        engine_version()
    except EngineError as error:
        return "local", f"auto: {error}"
    return "compose", "auto: a container engine answers"


def default_letter(scenario: Scenario) -> str:
    """B where it is declared, else the first."""
    return DEFAULT_LETTER if DEFAULT_LETTER in scenario.policies else next(iter(scenario.policies))


def bring_up(state: State, runtime: str, wanted: Wanted) -> Bench:
    """Brings a bench up and returns it once all of it answers.

    Raises:
        RehearsalError: one is up already, or it does not come up.
    """
    if runtime == "compose":
        _up_compose(state, wanted)
    else:
        with state.locked():
            _up_local(state, wanted)
    return find_bench(state, runtime)


def take_down(state: State, runtime: str) -> list[str]:
    """Ends the bench of this runtime, whatever is left of it; a sentence for what was ended.

    Raises:
        RehearsalError: something does not end.
    """
    forget_all(state, runtime)
    if runtime == "compose":
        state.compose_file.unlink(missing_ok=True)
        return asyncio.run(end_compose())
    return end_local(state)


def take_everything_down(state: State) -> list[str]:
    """Ends the local bench, what dead runs left, and every Compose project of the lab; a sentence for each.

    Raises:
        RehearsalError: something does not end.
    """
    said = [*take_down(state, "local"), *end_orphans()]
    forget_all(state, "compose")
    state.compose_file.unlink(missing_ok=True)
    try:
        return [*said, *asyncio.run(remove_every_project())]
    except EngineError:
        # Where no engine answers there is nothing of ours on it to remove.
        return said


def _up_compose(state: State, wanted: Wanted) -> None:
    there = find_compose()
    if there is not None and not there.not_running():
        raise RehearsalError("a compose bench is up already; use it, or end it with `shedlab down --runtime compose`")
    state.make()
    # Else with the defaults of compose.yaml, so that a plain `docker compose up` later finds nothing to change.
    start_compose(stack_variables(wanted.scenario, wanted.letter) if wanted.named else {})
    write_json(state.compose_file, {"scenario": str(wanted.path.resolve()), "letter": wanted.letter})


def _up_local(state: State, wanted: Wanted) -> None:
    note = read_note(state)
    if note is not None:
        up = process_of(note.keeper) is not None
        what = "is up already; use it, or end it with" if up else "has lost its keeper; remove what is left of it with"
        raise RehearsalError(f"a local bench {what} `shedlab down --runtime local`")
    try:
        shutil.rmtree(state.stack_dir, ignore_errors=True)
        (state.stack_dir / LOG_DIR).mkdir(parents=True)
        state.keeper_words.unlink(missing_ok=True)
        keeper = start_detached(_keeper_command(state, wanted), _environment(), state.keeper_words, state.keeper_words)
    except OSError as error:
        raise RehearsalError(f"the bench's keeper cannot be started: {error}") from None
    try:
        _wait_for_note(state, keeper)
    except BaseException:
        if process := process_of(keeper):
            end([process], KEEPER_WITHIN_S)
        raise


def _keeper_command(state: State, wanted: Wanted) -> tuple[str, ...]:
    run_id = f"rehearsal-{time.strftime('%Y%m%d-%H%M%S', time.localtime())}"
    flags = ("--reports", str(state.reports_root.resolve()), "--scenario", str(wanted.path.resolve()))
    return (sys.executable, "-m", KEEPER, *flags, "--letter", wanted.letter, "--run-id", run_id)


def _environment() -> dict[str, str]:
    return {name: os.environ[name] for name in INHERITED if name in os.environ}


def _wait_for_note(state: State, keeper: str) -> None:
    deadline = time.monotonic() + KEEPER_WITHIN_S
    while time.monotonic() < deadline:
        note = read_note(state)
        if note is not None and note.keeper == keeper:
            return
        if process_of(keeper) is None:
            raise RehearsalError(f"the local bench does not come up: {_last_words(state.keeper_words)}")
        time.sleep(POLL_S)
    raise RehearsalError(f"the local bench did not come up within {KEEPER_WITHIN_S:g} s")


def _last_words(path: Path) -> str:
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    except OSError:
        lines = []
    return lines[-1] if lines else "its keeper ended without a word"
