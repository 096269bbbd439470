"""How long after the last fault an arm is back to normal. Pure."""

import math

import pandas as pd

from lab.contract.scenario import Scenario
from lab.reporter.before_fault import untouched
from lab.reporter.percentile import percentile
from lab.reporter.wording import measured

RECOVERED_WITHIN = 1.1
RECOVERY_JOBS = 20


def recovery_time_s(jobs: pd.DataFrame, scenario: Scenario) -> float | None:
    """Seconds from the last fault's end until the time to first token is back for good, as the catalogue defines it.

    Infinite where it never is within the drill. None where nothing was injected, or fewer than RECOVERY_JOBS jobs were
    admitted after the fault; `nothing_to_recover_from` tells which.
    """
    windows = scenario.phase_windows()
    if "fault" not in windows or "recovery" not in windows:
        return None
    admitted = jobs[jobs["fate"].eq("admitted")].sort_values("due_s")
    # As it was before the fault: jobs that the fault touched are no measure of what it is to be back.
    normal = percentile(untouched(admitted[admitted["phase"].eq("baseline")], windows["fault"][0])["ttft_s"], 95)
    after = admitted[admitted["phase"].eq("recovery")].reset_index(drop=True)
    if normal is None or len(after) < RECOVERY_JOBS:
        return None
    slow = after["ttft_s"].gt(RECOVERED_WITHIN * normal).astype(float)
    # A rolling sum looks back; turned round, it counts the slow ones of each job and the 19 after it.
    slow_of_next = slow[::-1].rolling(RECOVERY_JOBS).sum()[::-1].dropna()
    bad = slow_of_next[slow_of_next > RECOVERY_JOBS / 2]
    first_good = 0 if bad.empty else int(bad.index[-1]) + 1
    if first_good >= len(slow_of_next):
        return math.inf
    return 0.0 if first_good == 0 else float(after["due_s"].iloc[first_good]) - windows["fault"][1]


def nothing_to_recover_from(scenario: Scenario) -> bool:
    """Whether the scenario injects nothing."""
    return "fault" not in scenario.phase_windows()


def recovery_words(value_s: float | None, scenario: Scenario) -> str:
    """How the recovery time reads; without a number it says why there is none."""
    if value_s is None:
        return "nothing to recover from" if nothing_to_recover_from(scenario) else "too few jobs to tell"
    return "never within the drill" if math.isinf(value_s) else measured(value_s, "s")
