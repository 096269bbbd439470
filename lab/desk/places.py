"""Where scenarios and reports are, and how a user names one of them."""

import difflib
import os
from collections.abc import Mapping
from pathlib import Path

from lab.contract.loading import LoadedScenario, ScenarioError, load_scenario
from lab.desk.errors import DeskError

PROJECT_ROOT = Path(__file__).parents[2]
SCENARIOS = PROJECT_ROOT / "scenarios"
SUFFIXES = (".yaml", ".yml")
REPORTS_VARIABLE = "SHEDLAB_REPORTS"
# Low enough that the first letters of a name suggest it.
NEAR_RATIO = 0.4


def reports_root(environment: Mapping[str, str] = os.environ) -> Path:
    """`reports/` of the project, or where SHEDLAB_REPORTS says."""
    return Path(environment.get(REPORTS_VARIABLE) or PROJECT_ROOT / "reports")


def scenario_files() -> list[Path]:
    """The scenarios of the project, by name."""
    return sorted(path for path in SCENARIOS.glob("*") if path.suffix in SUFFIXES)


def find_scenario(name_or_file: str) -> LoadedScenario:
    """The scenario of that name, or in that file.

    Raises:
        DeskError: there is none, or it cannot be played.
    """
    try:
        return load_scenario(_scenario_path(name_or_file))
    except ScenarioError as error:
        raise DeskError(str(error)) from None


def _scenario_path(name_or_file: str) -> Path:
    if "/" in name_or_file or name_or_file.endswith(SUFFIXES):
        return Path(name_or_file)
    names = {path.stem: path for path in scenario_files()}
    if name_or_file in names:
        return names[name_or_file]
    nearest = difflib.get_close_matches(name_or_file, names, n=1, cutoff=NEAR_RATIO)
    hint = f"did you mean {nearest[0]!r}?" if nearest else f"there are {', '.join(names) or 'none'}"
    raise DeskError(f"no scenario is called {name_or_file!r}; {hint}")


def find_run(name: str) -> Path:
    """The folder of a run: its id, its path, or `latest`.

    Raises:
        DeskError: there is no such run.
    """
    root = reports_root()
    candidates = (root / name, Path(name))
    for path in candidates:
        if path.is_dir() and path.resolve() != root.resolve():
            return path.resolve()
    known = [path.name for path in root.iterdir() if path.is_dir()] if root.is_dir() else []
    nearest = difflib.get_close_matches(name, known, n=1)
    hint = f"did you mean {nearest[0]!r}?" if nearest else "run a scenario first, or give a run's folder"
    raise DeskError(f"no run is called {name!r} in {root}; {hint}")
