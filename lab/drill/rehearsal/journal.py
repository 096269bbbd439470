"""Writes the journal of a live run as the runner of a drill would have written it.

<reports>/<stamp>-rehearsal/<letter>-1/journal.jsonl
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from lab.contract.journal import JOURNAL_NAME, SCHEDULE_NAME, line_of
from lab.contract.messages import Job
from lab.contract.policy_spec import PolicySpec
from lab.contract.scenario import Scenario
from lab.drill.header import run_header
from lab.drill.journal_writer import RUNNER
from lab.drill.plan import Arm, Plan, Schedule, new_run_dir, peak_rate
from lab.drill.probes import Check
from lab.drill.rehearsal import RehearsalError
from lab.drill.rehearsal.faults import FaultRecord
from lab.drill.rehearsal.load import REPEAT, Load
from lab.drill.rehearsal.play import Play
from lab.drill.rehearsal.played import Stage, letter_of, played_scenario
from lab.drill.rehearsal.policies import Switch, policy_words
from lab.drill.rehearsal.selection import Selected
from lab.drill.request import DrillError
from lab.workload.schedule import write_schedule

NAME = "rehearsal"


@dataclass(frozen=True, slots=True)
class Recording:
    """The last play and all that is known of it; `ended_at` is when the bench was read, unix seconds."""

    runtime: str
    load: Load
    play: Play
    selected: Selected
    unfinished: tuple[Job, ...]
    policy: PolicySpec
    faults: tuple[FaultRecord, ...]
    switches: tuple[Switch, ...]
    checks: tuple[Check, ...]
    versions: dict[str, str]
    ended_at: float


def write_run(reports_root: Path, recording: Recording) -> Path:
    """Makes the run's folder and returns it.

    Raises:
        RehearsalError: it cannot be written.
    """
    try:
        run_dir = new_run_dir(reports_root, NAME)
        letter = letter_of(recording.load.played, recording.policy)
        arm_dir = run_dir / Arm(letter, REPEAT).name
        arm_dir.mkdir()
        lines = "".join(map(line_of, _journal(recording, run_dir, letter)))
        (arm_dir / JOURNAL_NAME).write_text(lines, encoding="utf-8")
    except DrillError as error:
        raise RehearsalError(str(error)) from None
    except OSError as error:
        raise RehearsalError(f"{reports_root}: cannot be written: {error.strerror or error}") from None
    return run_dir


def _journal(recording: Recording, run_dir: Path, letter: str) -> Iterator[dict[str, Any]]:
    """The header, then everything by time, then that it came to its end."""
    plan = _plan(recording, run_dir, letter)
    yield _event("run", recording.play.announced_at, **run_header(plan, plan.arms[0], _Told(recording.versions)))
    happened = [*recording.selected.events, *_done_to_it(recording), *_phases(plan.played, recording)]
    yield from sorted(happened, key=lambda event: float(event["at"]))
    for job in recording.unfinished:
        identity = {"request_id": job.request_id, "job_id": job.job_id}
        yield _event("unfinished", recording.ended_at, **identity)
    for check in recording.checks:
        yield _event("check", recording.ended_at, **asdict(check))
    yield _event("phase", recording.ended_at, phase="done")


@dataclass(frozen=True, slots=True)
class _Told:
    """What the bench calls its parts."""

    told: dict[str, str]

    def versions(self) -> dict[str, str]:
        return self.told


def _plan(recording: Recording, run_dir: Path, letter: str) -> Plan:
    load = recording.load
    played = played_scenario(
        load.played, _stage(recording), recording.faults, recording.play.start_at, recording.ended_at
    )
    path = run_dir / SCHEDULE_NAME.replace(".", f"-{REPEAT}.")
    sha256 = write_schedule(load.requests, path)
    schedule = Schedule(path, sha256, len(load.requests), peak_rate(load.requests), {})
    return Plan(
        run_id=run_dir.name,
        run_dir=run_dir,
        declared=load.declared,
        played=played,
        speed=load.speed,
        runtime=recording.runtime,
        runtime_why="a rehearsal bench, driven by hand",
        arms=(Arm(letter, REPEAT),),
        schedules={REPEAT: schedule},
        side_by_side=1,
    )


def _stage(recording: Recording) -> Stage:
    declared, slots = recording.load.played.stack, recording.selected.worker_slots
    return Stage(len(slots) or declared.workers, max(slots.values(), default=declared.slots), recording.policy)


def _done_to_it(recording: Recording) -> Iterator[dict[str, Any]]:
    """Faults and switches, as steps on the timeline."""
    for fault in recording.faults:
        if fault.injected_at is not None:
            yield _step(fault.name, fault.declared.kind, "inject", fault.asked_at, fault.injected_at)
        if fault.reverted_at is not None:
            due_at = min(fault.ends_at or fault.reverted_at, fault.reverted_at)
            touched = fault.touched_connections
            yield _step(fault.name, fault.declared.kind, "revert", due_at, fault.reverted_at, touched=touched)
    for switch in recording.switches:
        detail = f"{policy_words(switch.was)} became {policy_words(switch.now)}"
        yield _step("policy", "policy", "switch", switch.at, switch.at, detail=detail)


def _step(
    name: str, kind: str, action: str, due_at: float, at: float, *, detail: str = "", touched: int | None = None
) -> dict[str, Any]:
    said = {"ok": True, "detail": detail, "touched_connections": touched}
    return _event("fault", at, name=name, kind=kind, action=action, intended_at=due_at, applied_at=at, **said)


def _phases(played: Scenario, recording: Recording) -> Iterator[dict[str, Any]]:
    start_at = recording.play.start_at
    for phase, (begin, _) in played.phase_windows().items():
        yield _event("phase", start_at + begin, phase=phase)
    yield _event("phase", start_at + played.workload.duration, phase="drain")


def _event(event: str, at: float, **fields: Any) -> dict[str, Any]:
    return {"event": event, "at": at, "source": RUNNER, **fields}
