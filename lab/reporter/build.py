"""Makes a run's report from its journals: read, compute, judge, draw, write.

The front desk calls it for `shedlab report`, and at the end of every drill.
"""

import os
import re
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

from lab.contract.journal import JOURNAL_NAME
from lab.contract.names import EXIT_COULD_NOT_RUN, EXIT_DEVIATED, EXIT_OK, EXIT_TOO_CLOSE
from lab.reporter.answer import answer
from lab.reporter.arm import ArmReport, report_arm
from lab.reporter.comparison import by_policy, contradiction, judge_together
from lab.reporter.doubt_groups import DoubtGroup, group_doubts
from lab.reporter.doubts import Doubt, schedule_doubts
from lab.reporter.errors import ReportError
from lab.reporter.header import Header
from lab.reporter.junit import junit_xml
from lab.reporter.machine import comparison_csv, is_valid, report_json
from lab.reporter.read import read_arm
from lab.reporter.render import render_html
from lab.reporter.terminal import COLUMNS, terminal_row

__all__ = ["ReportError", "RunReport", "build_report", "too_close_policies"]

_ARM_FOLDER = re.compile(r"^(?P<letter>[A-Z])-(?P<repeat>[1-9]\d*)$")


@dataclass(frozen=True, slots=True)
class RunReport:
    """What the front desk shows of a run. `rows` are the terminal table's cells, one row per arm, under `columns`."""

    run_dir: Path
    html: Path
    exit_code: int
    valid: bool
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    answer: tuple[str, ...]
    doubts: tuple[DoubtGroup, ...]
    breakdowns_s: dict[str, dict[str, float]]

    def summary_lines(self) -> tuple[str, ...]:
        """The answer, the doubts with their advice, and where the report lies."""
        doubts = tuple(f"Doubt, {', '.join(doubt.arms)}: {doubt.sentence}. {doubt.advice}" for doubt in self.doubts)
        return (*self.answer, *doubts, f"Report: {self.html}")


def build_report(run_dir: Path) -> RunReport:
    """Reads the journals under `run_dir` and writes report.html, report.json, junit.xml and comparison.csv there.

    Raises:
        ReportError: there is no such run, no journal of it says what was played, or a file cannot be written.
    """
    arms = _read_arms(run_dir)
    doubts = _all_doubts(arms)
    _write(run_dir / "report.json", report_json(arms, doubts))
    _write(run_dir / "comparison.csv", comparison_csv(arms))
    _write(run_dir / "junit.xml", junit_xml(arms))
    _write(run_dir / "report.html", render_html(arms, doubts))
    return RunReport(
        run_dir=run_dir,
        html=run_dir / "report.html",
        exit_code=exit_code_of(arms),
        valid=is_valid(arms, doubts),
        columns=COLUMNS,
        rows=tuple(terminal_row(arm) for arm in arms),
        answer=answer(arms),
        doubts=doubts,
        breakdowns_s={arm.name: arm.breakdown_s for arm in arms},
    )


def too_close_policies(run_dir: Path) -> tuple[str, ...]:
    """The letters of the policies whose verdict over all repeats is too close to call.

    Raises:
        ReportError: there is no such run, or no journal of it says what was played.
    """
    return tuple(letter for letter, arms in by_policy(_read_arms(run_dir)).items() if judge_together(arms).too_close)


def exit_code_of(arms: tuple[ArmReport, ...]) -> int:
    """0 every policy did what is expected, 1 some did not, 3 some arm is void, 4 it is too close to call."""
    if any(arm.void for arm in arms):
        return EXIT_COULD_NOT_RUN
    found = {contradiction(mine) for mine in by_policy(arms).values()}
    return EXIT_DEVIATED if "sure" in found else EXIT_TOO_CLOSE if "too close" in found else EXIT_OK


def _read_arms(run_dir: Path) -> tuple[ArmReport, ...]:
    folders = _arm_folders(run_dir)
    arms: dict[str, ArmReport] = {}
    broken = []
    for folder in folders:
        # One journal at a time, since each may be large.
        journal = read_arm(folder)
        if journal.header is None:
            broken.append(journal)
        else:
            arms[folder.name] = report_arm(journal, journal.header)
    if not arms:
        raise ReportError(f"{run_dir}: no journal of this run can be read: {broken[0].damage}")
    known = next(iter(arms.values())).header
    for journal in broken:
        arms[journal.name] = report_arm(journal, _header_in_place(known, journal.name))
    return tuple(arms[folder.name] for folder in folders)


def _arm_folders(run_dir: Path) -> list[Path]:
    try:
        folders = [folder for folder in run_dir.iterdir() if folder.is_dir() and _ARM_FOLDER.match(folder.name)]
    except OSError as error:
        raise ReportError(f"{run_dir}: there is no run to report here: {error.strerror or error}") from None
    if not any((folder / JOURNAL_NAME).exists() for folder in folders):
        raise ReportError(
            f"{run_dir}: holds no journal; a run has a folder per arm, such as A-1, with {JOURNAL_NAME} in it"
        )
    return sorted(folders, key=lambda folder: (folder.name[0], int(folder.name[2:])))


def _header_in_place(known: Header, name: str) -> Header:
    """What an arm without a readable first line played, as far as its folder and the other arms say."""
    letter, repeat = name.split("-")
    policy = known.scenario.policies.get(letter)
    return replace(
        known,
        policy=letter,
        repeat=int(repeat),
        kind=policy.kind if policy else "unknown",
        mode=policy.mode if policy else "unknown",
        schedule_sha256="",
        schedule_count=0,
    )


def _all_doubts(arms: tuple[ArmReport, ...]) -> tuple[DoubtGroup, ...]:
    known = {arm.name: (arm.header.repeat, arm.header.schedule_sha256) for arm in arms if arm.header.schedule_sha256}
    close = (_too_close_doubt(mine) for mine in by_policy(arms).values() if contradiction(mine) == "too close")
    return group_doubts([*(doubt for arm in arms for doubt in arm.doubts), *close, *schedule_doubts(known)])


def _too_close_doubt(arms: tuple[ArmReport, ...]) -> Doubt:
    """Of the first repeat that contradicts what is expected."""
    arm = next(arm for arm in arms if arm.judgement.as_expected is False)
    return Doubt(
        "too_close_to_call", arm.name, f"expected {arm.judgement.expected}, but {arm.judgement.checks[0].sentence}"
    )


def _write(path: Path, text: str) -> None:
    """Whole or not at all: written beside its place, then moved there."""
    try:
        handle, beside = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(handle, "w", encoding="utf-8", errors="replace", newline="") as written:
                written.write(text)
            Path(beside).chmod(0o644)
            Path(beside).replace(path)
        finally:
            Path(beside).unlink(missing_ok=True)
    except OSError as error:
        raise ReportError(
            f"{path}: cannot be written: {error.strerror or error}; free some space and check that it may be written"
        ) from None
