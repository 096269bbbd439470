"""The baseline as the first fault found it: what it took as the normal state, free of what the fault did. Pure.

A job that was due in the baseline may still be under way when the fault begins, and fails or is slow because of it.
Leaving out just those jobs would leave out the slow ones, so the baseline is cut by due time as well.
"""

import pandas as pd

from lab.reporter.percentile import percentile


def untouched(baseline: pd.DataFrame, fault_s: float) -> pd.DataFrame:
    """The admitted ones of a baseline's timed jobs that tell of the time before the fault, which begins at `fault_s`.

    The last h seconds before the fault are left out; h is the p95 turnaround of the jobs that ended before it. Nearly
    all that were due earlier had ended by then. One that had not is right-censored: its time to first token and its
    turnaround are known to be at least the time from its due to the fault, and that is what stands here for it. As
    this is never less than h, it lies beyond the p95 of either, which it therefore does not bend.
    """
    admitted = baseline[baseline["fate"].eq("admitted")]
    ended = admitted[_seconds(admitted, "finished_at").lt(fault_s)]
    horizon_s = percentile((ended["finished_at"] - ended["due_at"]), 95)
    if horizon_s is None:
        return ended
    judged = admitted[admitted["due_s"].le(fault_s - horizon_s)]
    under_way = ~_seconds(judged, "finished_at").lt(fault_s)
    so_far_s = fault_s - judged["due_s"]
    known = under_way & _seconds(judged, "first_token_at").lt(fault_s)
    ttft_s = judged["ttft_s"].mask(under_way, so_far_s).mask(known, judged["first_token_at"] - judged["due_at"])
    return judged.assign(ttft_s=ttft_s, turnaround_s=judged["turnaround_s"].mask(under_way, so_far_s))


def _seconds(jobs: pd.DataFrame, moment: str) -> pd.Series:
    """A moment of each job on the scale of `due_s`; empty where the journal knows none."""
    return jobs["due_s"] + (jobs[moment] - jobs["due_at"])
