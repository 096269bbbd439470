"""Checks a run's folder: every arm's journal for broken promises, and report.json against the journals."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab.checker.comparison import differences
from lab.checker.jobs import may_redeliver, requests_of, runs_of, violations
from lab.checker.measures import Measured, measure
from lab.checker.phases import phases_of
from lab.checker.recording import JOURNAL_NAME, Recording, UnreadableError, read_recording

REPORT_NAME = "report.json"
_ARM = re.compile(r"^[A-Z]-[1-9]\d*$")


@dataclass(frozen=True, slots=True)
class ArmCheck:
    """One arm: its numbers by phase, what is wrong, and what is worth knowing and allowed."""

    name: str
    measured: dict[str, Measured]
    wrong: tuple[str, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RunCheck:
    """Every arm of a run, and sentences about what belongs to none of them."""

    arms: tuple[ArmCheck, ...]
    wrong: tuple[str, ...]

    @property
    def problems(self) -> tuple[str, ...]:
        """All that is wrong, each with its arm."""
        return (*self.wrong, *(f"arm {arm.name}: {sentence}" for arm in self.arms for sentence in arm.wrong))


def check_run(run_dir: Path) -> RunCheck:
    """Checks every arm under `run_dir`.

    Raises:
        UnreadableError: a journal or report.json is not there, or is not what it should be.
    """
    folders = sorted(folder for folder in run_dir.iterdir() if _ARM.match(folder.name))
    if not folders:
        raise UnreadableError(f"{run_dir}: holds no arm; a run has a folder per arm, such as A-1, with {JOURNAL_NAME}")
    reported = _reported(run_dir / REPORT_NAME)
    names = [folder.name for folder in folders]
    wrong = [f"{REPORT_NAME} has an arm {name}, of which there is no folder" for name in reported if name not in names]
    return RunCheck(tuple(_check_arm(folder, reported.get(folder.name)) for folder in folders), tuple(wrong))


def _reported(path: Path) -> dict[str, Any]:
    """The arms of report.json by name."""
    try:
        arms = json.loads(path.read_text(encoding="utf-8"))["arms"]
        return {f"{arm['policy']}-{arm['repeat']}": arm for arm in arms}
    except OSError as error:
        raise UnreadableError(f"{path}: cannot be read: {error.strerror or error}; `shedlab report` makes it") from None
    except (ValueError, KeyError, TypeError):
        raise UnreadableError(f"{path}: is no report of the lab; `shedlab report` makes it anew") from None


def _check_arm(folder: Path, reported: dict[str, Any] | None) -> ArmCheck:
    recording = read_recording(folder)
    try:
        return _judged(recording, reported)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UnreadableError(f"{folder.name}: a field is missing or of the wrong type: {error!r}") from None


def _judged(recording: Recording, reported: dict[str, Any] | None) -> ArmCheck:
    requests, phases = requests_of(recording), phases_of(recording)
    measured = measure(requests, phases, recording.start_at)
    wrong = list(violations(recording, requests))
    if reported is None:
        wrong.append(f"{REPORT_NAME} does not have this arm")
    else:
        duplicates = sum(bool(line["duplicate"]) for line in recording.of("outcome"))
        wrong += differences(reported, phases, measured, duplicates)
    return ArmCheck(recording.name, measured, tuple(wrong), tuple(_notes(recording)))


def _notes(recording: Recording) -> Iterator[str]:
    again = sorted(job_id for job_id, count in runs_of(recording).items() if count > 1)
    if again and may_redeliver(recording):
        yield f"{len(again)} jobs ran more than once after a fault that explains it: {', '.join(again[:3])}"
