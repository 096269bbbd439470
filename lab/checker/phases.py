"""When each phase began and ended, from what the journal says was declared and what was done. Pure."""

import re
from dataclasses import dataclass

from lab.checker.recording import Line, Recording

WHOLE = "all"
_DURATION = re.compile(r"^(?P<number>[0-9.eE+-]+)(?P<unit>us|ms|s|m|h)$")
_UNIT_S = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}


@dataclass(frozen=True, slots=True)
class Phase:
    """A stretch of the arm, in seconds after the first due time."""

    name: str
    start_s: float
    end_s: float


def phases_of(recording: Recording) -> tuple[Phase, ...]:
    """Baseline, fault and recovery as far as they last, in order.

    The fault phase begins with the first fault and ends when the last one is over: at its declared end, or when what
    it had hurt was ready again, where a revert says so (`ready_at`). Without faults all is baseline.
    """
    played = recording.header["played"]
    length_s = seconds(played["workload"]["duration"])
    starts = [seconds(fault["at"]) for fault in played["faults"]]
    first_s, last_s = min(starts, default=length_s), min(_faults_end_s(recording), length_s)
    edges = (("baseline", 0.0, first_s), ("fault", first_s, last_s), ("recovery", last_s, length_s))
    return tuple(Phase(name, start_s, end_s) for name, start_s, end_s in edges if end_s > start_s)


def phase_at(second: float, phases: tuple[Phase, ...]) -> str:
    """The phase of a due time; what lies before the first counts to it, what lies after the last to that."""
    begun = [phase.name for phase in phases if phase.start_s <= second]
    return begun[-1] if begun else phases[0].name


def seconds(said: str | float) -> float:
    """The seconds of a duration as a journal writes it, such as `350ms`.

    Raises:
        ValueError: it is none.
    """
    if isinstance(said, int | float):
        return float(said)
    match = _DURATION.match(said)
    if match is None:
        raise ValueError(f"{said!r} is no duration")
    return float(match["number"]) * _UNIT_S[match["unit"]]


def _faults_end_s(recording: Recording) -> float:
    played = recording.header["played"]
    declared = [seconds(fault["at"]) + seconds(fault["for"]) for fault in played["faults"]]
    ready = [_ready_s(event, recording.start_at) for event in recording.of("fault") if event["action"] == "revert"]
    return max([*declared, *ready], default=seconds(played["workload"]["duration"]))


def _ready_s(revert: Line, start_at: float) -> float:
    """When the service answered again; where nothing says so, before everything."""
    ready_at = revert.get("ready_at")
    return 0.0 if ready_at is None else float(ready_at) - start_at
