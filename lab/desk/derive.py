"""`shedlab derive`: thresholds from a scenario's numbers, or from what a run measured, with their arithmetic."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from lab.contract.loading import LoadedScenario, ScenarioError, parse_scenario
from lab.contract.names import EXIT_COULD_NOT_RUN, EXIT_OK
from lab.contract.rewriting import with_policy_values
from lab.contract.units import write_duration
from lab.desk.errors import DeskError
from lab.desk.places import find_run, find_scenario
from lab.workload.derive import Basis, age_limit, declared_basis, depth_limit, slack_floor
from lab.workload.errors import WorkloadError
from lab.workload.schedule import make_schedule

_NAME = re.compile(r"[a-z0-9_]{1,60}")
_P95 = 95


def derive(name_or_file: str, run: str | None, write: str | None) -> int:
    """Prints the thresholds; with `write`, puts them into a copy of the scenario.

    Raises:
        DeskError: scenario or run are not to be had, nothing can be derived, or the copy cannot be written.
    """
    loaded = find_scenario(name_or_file)
    basis, lines = _basis(loaded, run)
    print(f"{loaded.scenario.name}, {basis.source}:")
    for line in (*lines, *_lines(basis)):
        print(f"  {line}")
    if write is not None:
        _write(loaded, basis, Path(write))
    return EXIT_OK


def _basis(loaded: LoadedScenario, run: str | None) -> tuple[Basis, list[str]]:
    try:
        requests = make_schedule(loaded.scenario.workload, 1, loaded.path.parent)
    except WorkloadError as error:
        raise DeskError(str(error)) from None
    basis = declared_basis(loaded.scenario, requests)
    if basis is None:
        raise DeskError(f"{loaded.scenario.name} declares no rate to derive thresholds from")
    return (basis, []) if run is None else _measured(basis, loaded.scenario.name, run)


def _measured(basis: Basis, scenario_name: str, run: str) -> tuple[Basis, list[str]]:
    # Here, since pandas takes a second to load.
    from lab.reporter.baseline import read_baseline  # noqa: PLC0415
    from lab.reporter.errors import ReportError  # noqa: PLC0415

    try:
        found = read_baseline(find_run(run), scenario_name)
    except ReportError as error:
        raise DeskError(str(error), EXIT_COULD_NOT_RUN) from None
    measured = replace(
        basis,
        mean_service_s=found.mean_service_s,
        p95_service_s=found.p95_service_s,
        endpoint_s=found.endpoint_s,
        source=f"service as measured before any fault by {found.run_id}, {found.job_count} jobs",
    )
    return measured, [f"queue wait measured: p95 {found.p95_wait_s:.2f} s"]


def _lines(basis: Basis) -> tuple[str, ...]:
    age, depth, slack = age_limit(basis), depth_limit(basis), slack_floor(basis)
    load = f"{basis.arrival_rate_per_s:.2f}/s x {basis.mean_service_s:.2f} s for {basis.slots} slots"
    return (
        f"load: {load} = {basis.load_ratio:.0%} of capacity at the peak",
        f"age limit: {age.lowest_s:.2f} to {age.highest_s:.2f} s: {age.sentence}",
        f"depth limit: {depth.count}, as max_depth {depth.max_depth}: {depth.sentence}",
        f"slack floor: {slack.of_mean_s:.2f} s, or {slack.of_p95_s:.2f} s: {slack.sentence}",
    )


def _write(loaded: LoadedScenario, basis: Basis, path: Path) -> None:
    changes = {letter: _values(policy, basis) for letter, policy in loaded.scenario.policies.items()}
    changed = {letter: values for letter, values in changes.items() if values}
    if not changed:
        raise DeskError(f"{loaded.scenario.name} has no policy with a threshold that can be derived")
    name = path.stem if _NAME.fullmatch(path.stem) else loaded.scenario.name
    text = with_policy_values(loaded.text, name, changed)
    try:
        parse_scenario(text, str(path))
        # Never over a file that somebody wrote.
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except ScenarioError as error:
        raise DeskError(f"the thresholds derived cannot be played: {error}") from None
    except OSError as error:
        raise DeskError(
            f"{path}: cannot be written: {error.strerror or error}; name a file that does not exist"
        ) from None
    print(f"Written: {path}, policies {', '.join(changed)}")


def _values(policy: Any, basis: Basis) -> dict[str, str | int]:
    """The keys of one policy that are derived, and why; none where no rule gives its threshold."""
    age, depth, slack = age_limit(basis), depth_limit(basis), slack_floor(basis)
    if policy.kind in ("queue_age", "age_or_full"):
        return {"max_age": _duration(age.lowest_s), "why": f"Derived: {age.sentence}."}
    if policy.kind == "queue_depth":
        return {"max_depth": depth.max_depth, "why": f"Derived: {depth.sentence}."}
    if policy.kind in ("deadline_slack", "slack_v1"):
        key = "margin" if policy.kind == "deadline_slack" else "slack_floor"
        floor_s = slack.of_p95_s if policy.estimate.percentile >= _P95 else slack.of_mean_s
        return {key: _duration(floor_s), "why": f"Derived: {slack.sentence}."}
    return {}


def _duration(value_s: float) -> str:
    """In whole milliseconds, down, so that no limit is above what was derived."""
    return write_duration(int(value_s * 1000 + 1e-6) / 1000)
