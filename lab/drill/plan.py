"""What a drill will do, settled before anything starts: arms, schedules on disk, how many arms side by side."""

import os
import secrets
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from lab.contract.endpoint import ModelEndpoint
from lab.contract.fault_spec import ModelFault
from lab.contract.journal import MOCK_MODEL, SCHEDULE_NAME
from lab.contract.loading import LoadedScenario
from lab.contract.messages import ScheduledRequest
from lab.contract.scenario import Scenario
from lab.contract.speed import scaled
from lab.drill.capacity_check import capacity_evidence
from lab.drill.request import DrillError, DrillRequest
from lab.workload.errors import WorkloadError
from lab.workload.schedule import make_schedule, write_schedule
from lab.workload.warm_up import warm_samples

# Busy share of one core that a stack costs: at rest (samplers, heartbeats), and per request a second. Measured with
# the flagship (host cpu_ratio of its journals), rounded up by half.
CORES_PER_IDLE_ARM = 0.05
CORES_PER_REQUEST_PER_S = 0.015
# What is left free so that the generator stays on time.
USABLE_SHARE_OF_CORES = 0.75
PEAK_WINDOW_S = 10.0
# Two runs of one second and one scenario meet once in 16 million.
CHANCE_BYTES = 3


@dataclass(frozen=True, slots=True)
class Arm:
    """One policy, one repeat."""

    letter: str
    repeat: int

    @property
    def name(self) -> str:
        """The arm's folder in the run."""
        return f"{self.letter}-{self.repeat}"


@dataclass(frozen=True, slots=True)
class Schedule:
    """One repeat's arrivals, as written to disk.

    `peak_rate_per_s` is over PEAK_WINDOW_S; `capacity` is what arithmetic says of them before the run; `warm` is what
    estimators are warmed with, class -> (age, service time) in seconds, newest first.
    """

    path: Path
    sha256: str
    count: int
    peak_rate_per_s: float
    capacity: dict[str, Any]
    warm: dict[str, list[tuple[float, float]]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Plan:
    """A drill about to be played; `played` is the declared scenario after SPEED."""

    run_id: str
    run_dir: Path
    declared: LoadedScenario
    played: Scenario
    speed: float
    runtime: str
    runtime_why: str
    arms: tuple[Arm, ...]
    schedules: dict[int, Schedule]
    side_by_side: int
    # What the workers call, as the report names it.
    endpoint_label: str = MOCK_MODEL

    def arm_dir(self, arm: Arm) -> Path:
        """Where the arm's journal and logs are kept."""
        return self.run_dir / arm.name


def make_plan(request: DrillRequest, runtime: str, runtime_why: str, cores: int) -> Plan:
    """Settles everything and writes the schedules into a new run folder.

    Raises:
        DrillError: nothing to play, or reports cannot be written.
    """
    played = _played(request)
    _check_endpoint(played, request.endpoint)
    letters = _letters(played, request.only)
    repeats = request.repeats if isinstance(request.repeats, int) else played.repeats
    run_dir = new_run_dir(request.reports_root, played.name)
    schedules = {repeat: _write_schedule(played, request, repeat, run_dir) for repeat in range(1, repeats + 1)}
    arms = tuple(Arm(letter, repeat) for repeat in schedules for letter in letters)
    return Plan(
        run_id=run_dir.name,
        run_dir=run_dir,
        declared=request.loaded,
        played=played,
        speed=request.speed,
        runtime=runtime,
        runtime_why=runtime_why,
        arms=arms,
        schedules=schedules,
        side_by_side=min(len(arms), request.jobs or affordable_arms(cores, schedules)),
        endpoint_label=request.endpoint.label if request.endpoint else MOCK_MODEL,
    )


def plan_again(plan: Plan, request: DrillRequest, letters: tuple[str, ...], cores: int) -> Plan:
    """The plan of one more repeat, of these policies alone, in the same run; its schedule is written.

    Raises:
        DrillError: the schedule cannot be written.
    """
    repeat = max(plan.schedules) + 1
    schedules = {**plan.schedules, repeat: _write_schedule(plan.played, request, repeat, plan.run_dir)}
    arms = tuple(Arm(letter, repeat) for letter in letters)
    side_by_side = min(len(arms), request.jobs or affordable_arms(cores, schedules))
    return replace(plan, arms=arms, schedules=schedules, side_by_side=side_by_side)


def affordable_arms(cores: int, schedules: dict[int, Schedule]) -> int:
    """How many arms this many cores carry at the schedules' peak rate, at least one."""
    peak = max(schedule.peak_rate_per_s for schedule in schedules.values())
    return max(1, int(cores * USABLE_SHARE_OF_CORES / (CORES_PER_IDLE_ARM + CORES_PER_REQUEST_PER_S * peak)))


def peak_rate(requests: tuple[ScheduledRequest, ...]) -> float:
    """The highest rate, per second, over any window of PEAK_WINDOW_S that begins with a request."""
    dues = [request.due_s for request in requests]
    most, end = 0, 0
    for start, due in enumerate(dues):
        while end < len(dues) and dues[end] < due + PEAK_WINDOW_S:
            end += 1
        most = max(most, end - start)
    return most / PEAK_WINDOW_S


def new_run_dir(reports_root: Path, scenario_name: str) -> Path:
    """Makes reports/<time>-<scenario>-<chance> and points reports/latest at it.

    The name is the run's id, and so is part of its Compose projects' names. Two checkouts, or two users, share an
    engine but no folder, so that chance alone keeps their runs of one second apart.

    Raises:
        DrillError: the folder cannot be made or written.
    """
    stamp = time.strftime("%Y%m%d-%H%M%S", time.localtime())
    name = f"{stamp}-{scenario_name}-{secrets.token_hex(CHANCE_BYTES)}"
    try:
        for run_id in (f"{name}{suffix}" for suffix in ("", *(f"-{n}" for n in range(2, 100)))):
            run_dir = reports_root / run_id
            try:
                run_dir.mkdir(parents=True)
            except FileExistsError:
                if not reports_root.is_dir():
                    raise
                continue
            _point_latest_at(reports_root, run_id)
            return run_dir
    except OSError as error:
        raise DrillError(
            f"{reports_root}: reports cannot be written: {error.strerror or error}; "
            "make it a folder you may write, with free space"
        ) from None
    raise DrillError(f"{reports_root}: 99 runs of {scenario_name} began in this second; try again")


def _point_latest_at(reports_root: Path, run_id: str) -> None:
    # A rename is atomic, so that a reader never finds no link.
    passing = reports_root / f".latest-{os.getpid()}"
    passing.unlink(missing_ok=True)
    passing.symlink_to(run_id)
    passing.replace(reports_root / "latest")


def _played(request: DrillRequest) -> Scenario:
    try:
        return scaled(request.loaded.scenario, request.speed)
    except ValueError as error:
        raise DrillError(str(error)) from None


def _check_endpoint(played: Scenario, endpoint: ModelEndpoint | None) -> None:
    """What is done to the mock model cannot be done to a real one."""
    needs_mock = [f for f in played.faults if isinstance(f, ModelFault) or getattr(f, "service", "") == "model"]
    if endpoint is not None and needs_mock:
        raise DrillError(
            f"{played.name} has a fault of the model itself, which {endpoint.label} will not do for us; "
            "unset MODEL_URL to play it on the mock model, or declare a latency fault on the link"
        )


def _letters(played: Scenario, only: tuple[str, ...]) -> tuple[str, ...]:
    unknown = [letter for letter in only if letter not in played.policies]
    if unknown:
        raise DrillError(
            f"policy {unknown[0]} is not declared in {played.name}; declared are {', '.join(played.policies)}"
        )
    return tuple(letter for letter in played.policies if not only or letter in only)


def _write_schedule(played: Scenario, request: DrillRequest, repeat: int, run_dir: Path) -> Schedule:
    path = run_dir / SCHEDULE_NAME.replace(".", f"-{repeat}.")
    try:
        requests = make_schedule(played.workload, repeat, request.loaded.path.parent)
        capacity = capacity_evidence(played, requests)
        warm = warm_samples(played, requests, played.warm_up.completions) if played.warm_up else {}
        return Schedule(path, write_schedule(requests, path), len(requests), peak_rate(requests), capacity, warm)
    except WorkloadError as error:
        raise DrillError(str(error)) from None
    except OSError as error:
        raise DrillError(f"{path}: cannot be written: {error.strerror or error}; free some space") from None
