"""Plays a scenario's arrivals on the bench, and says what was played last and how far it is."""

import json
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from lab.contract.environment import policy_json
from lab.contract.journal import parse_line
from lab.contract.loading import LoadedScenario, ScenarioError, load_scenario, parse_scenario
from lab.contract.messages import ScheduledRequest
from lab.contract.scenario import Scenario
from lab.contract.speed import scaled
from lab.drill.rehearsal import RehearsalError
from lab.drill.rehearsal.bench import Bench, LoadOrder
from lab.drill.rehearsal.compose import ComposeBench
from lab.drill.rehearsal.forgetting import forget_ended
from lab.drill.rehearsal.play import Play, last_play
from lab.drill.rehearsal.policies import current_policy
from lab.drill.rehearsal.state import State, read_json, write_json
from lab.drill.testbed import StackError
from lab.drill.testbed.local import PROJECT_ROOT
from lab.workload.errors import WorkloadError
from lab.workload.schedule import make_schedule, write_schedule

LOADGEN = "loadgen"
BEGINS_WITHIN_S = 60.0
POLL_S = 0.2
REPEAT = 1


@dataclass(frozen=True, slots=True)
class Load:
    """What is played: a declared scenario, faster by `speed`, and its arrivals."""

    declared: LoadedScenario
    speed: float
    played: Scenario
    requests: tuple[ScheduledRequest, ...]


@dataclass(frozen=True, slots=True)
class LoadNote:
    """What `shedlab load` writes: load.json. `policy` is the gate's as JSON, at `asked_at`, unix seconds."""

    runtime: str
    path: str
    text: str
    speed: float
    asked_at: float
    policy: dict[str, Any]


def make_load(declared: LoadedScenario, speed: float) -> Load:
    """Works out the arrivals.

    Raises:
        RehearsalError: the workload cannot be played.
    """
    try:
        played = scaled(declared.scenario, speed)
        return Load(declared, speed, played, make_schedule(played.workload, REPEAT, declared.path.parent))
    except (WorkloadError, ValueError) as error:
        raise RehearsalError(str(error)) from None


def start_load(state: State, bench: Bench, load: Load, *, page: bool) -> Play:
    """Starts the play and returns once it has begun.

    Raises:
        RehearsalError: one is under way, or it does not begin.
    """
    if bench.load_runs():
        play = play_of(bench)
        if play is not None and not play.ended:
            raise RehearsalError(
                f"a load is playing, {play.sent_count} of {play.due_count} requests; `shedlab load stop` ends it"
            )
        # Only its page is still there.
        bench.stop_load()
    asked_at = time.time()
    forget_ended(state, bench.runtime)
    _write(state, bench, load, asked_at)
    bench.start_load(LoadOrder(state.schedule_file, load.played.client.answer_timeout, page))
    return _begun(bench, asked_at)


def play_of(bench: Bench) -> Play | None:
    """The last play on this bench; None where nothing was played. Raises StackError."""
    if LOADGEN not in bench.sources():
        return None
    return last_play(event for line in bench.read(LOADGEN, 0.0) if (event := parse_line(line)))


def load_of(state: State, bench: Bench) -> Load:
    """What the last play played, whoever started it.

    Raises:
        RehearsalError: nothing says so.
    """
    words = bench.played_by_compose() if isinstance(bench, ComposeBench) else None
    if words:
        return _load_by_words(tuple(words))
    note = _note_in(read_json(state.load_file))
    if note is None or note.runtime != bench.runtime:
        raise RehearsalError("nothing says what was played; play it by `shedlab load`")
    try:
        scenario = parse_scenario(note.text, note.path)
    except ScenarioError as error:
        raise RehearsalError(f"load.json: {error}") from None
    return make_load(LoadedScenario(scenario, note.text, Path(note.path)), note.speed)


def _load_by_words(words: tuple[str, ...]) -> Load:
    """What the `schedule` container of compose.yaml was told: NAME --speed K --out FILE."""
    try:
        speed = float(words[words.index("--speed") + 1]) if "--speed" in words else 1.0
        return make_load(load_scenario(PROJECT_ROOT / "scenarios" / f"{Path(words[0]).stem}.yaml"), speed)
    except (ScenarioError, ValueError, IndexError) as error:
        raise RehearsalError(f"the schedule container was told {' '.join(words)}: {error}") from None


def _note_in(value: dict[str, Any] | None) -> LoadNote | None:
    try:
        return None if value is None else LoadNote(**value)
    except TypeError:
        raise RehearsalError("load.json is not what this version writes; play the load again") from None


def policy_noted(state: State, bench: Bench, play: Play) -> dict[str, Any] | None:
    """The policy as JSON at the start of a play that `shedlab load` began; None where it was begun otherwise."""
    note = _note_in(read_json(state.load_file))
    if note is None or note.runtime != bench.runtime or not 0 <= play.announced_at - note.asked_at <= BEGINS_WITHIN_S:
        return None
    return note.policy


def _write(state: State, bench: Bench, load: Load, asked_at: float) -> None:
    try:
        # A new file each time: the last one may be open in a container still.
        state.schedule_file.unlink(missing_ok=True)
        write_schedule(load.requests, state.schedule_file)
    except OSError as error:
        raise RehearsalError(f"{state.schedule_file}: cannot be written: {error.strerror or error}") from None
    note = LoadNote(
        runtime=bench.runtime,
        path=str(load.declared.path.resolve()),
        text=load.declared.text,
        speed=load.speed,
        asked_at=asked_at,
        policy=json.loads(policy_json(current_policy(bench))),
    )
    write_json(state.load_file, asdict(note))


def _begun(bench: Bench, asked_at: float) -> Play:
    deadline = time.monotonic() + BEGINS_WITHIN_S
    while time.monotonic() < deadline:
        runs = bench.load_runs()
        play = play_of(bench)
        if play is not None and play.announced_at > asked_at:
            return play
        if not runs:
            raise StackError(f"the load generator ended before it began: {bench.load_said() or 'it said nothing'}")
        time.sleep(POLL_S)
    raise StackError(f"the load generator did not begin within {BEGINS_WITHIN_S:g} s")
