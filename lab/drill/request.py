"""What the front desk asks of a drill, and how a drill says no."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from lab.contract.endpoint import ModelEndpoint
from lab.contract.loading import LoadedScenario


class DrillError(Exception):
    """A drill that could not run; one sentence."""


@dataclass(frozen=True, slots=True)
class DrillRequest:
    """One drill to play.

    `jobs` None lets the machine decide, `repeats` None plays as many as declared and "auto" those and then again what
    is too close to call, an empty `only` every policy, and `endpoint` None the mock model.
    """

    loaded: LoadedScenario
    runtime: str
    speed: float
    jobs: int | None
    repeats: int | Literal["auto"] | None
    only: tuple[str, ...]
    reports_root: Path
    endpoint: ModelEndpoint | None = None
