"""One arm over time, thinned to what a figure can show. Pure."""

import math
from dataclasses import dataclass

import pandas as pd

from lab.reporter.percentile import percentile

BINS = 60
SIGNAL_BINS = 400
# Sampled ten times a second; a line over a longer hole would show what nobody measured.
GAP_S = 1.0


@dataclass(frozen=True, slots=True)
class Series:
    """`rates` per second, highest `signals` and `ttft` percentiles per bin, by `second` after the first due time.

    In `ttft`, `failed` marks the bins whose p95 is infinite.
    """

    rates: pd.DataFrame
    signals: pd.DataFrame
    ttft: pd.DataFrame


def series_of(jobs: pd.DataFrame, signals: pd.DataFrame, duration_s: float) -> Series:
    """The series of one arm. `jobs` are timed; `signals` have `second`."""
    width = duration_s / BINS
    return Series(_rates(jobs, width), _signals(signals, duration_s / SIGNAL_BINS), _ttft(jobs, width))


def _bins(seconds: pd.Series, width: float) -> pd.Series:
    return (seconds.clip(lower=0) // width) * width


def _rates(jobs: pd.DataFrame, width: float) -> pd.DataFrame:
    bins = _bins(jobs["due_s"], width).clip(upper=(BINS - 1) * width)
    counts = pd.DataFrame({"second": bins, "arrivals": 1.0, "shed": jobs["fate"].eq("shed").astype(float)})
    every = pd.Index([number * width for number in range(BINS)], name="second")
    # Bins are found by number, since sums of a width need not meet the same float.
    counts["second"] = (counts["second"] / width).round() * width
    summed = counts.groupby("second")[["arrivals", "shed"]].sum()
    return (summed.reindex(every, fill_value=0.0) / width).reset_index()


def _signals(signals: pd.DataFrame, width: float) -> pd.DataFrame:
    loaded = signals[signals["second"].ge(0)]
    columns = ["queue_age_s", "queue_depth", "utilization_ratio"]
    binned = loaded.groupby(_bins(loaded["second"], width))[columns].max().reset_index()
    before_hole = binned["second"].diff(-1).lt(-max(GAP_S, 2.5 * width))
    holes = pd.DataFrame({"second": binned.loc[before_hole, "second"] + width})
    # A row without values breaks the line.
    return pd.concat([binned, holes]).sort_values("second").reset_index(drop=True) if len(holes) else binned


def _ttft(jobs: pd.DataFrame, width: float) -> pd.DataFrame:
    admitted = jobs[jobs["fate"].eq("admitted")]
    rows = [
        {"second": float(second) + width / 2, "p50": percentile(part, 50), "p95": percentile(part, 95)}
        for second, part in admitted["ttft_s"].groupby(_bins(admitted["due_s"], width))
    ]
    table = pd.DataFrame(rows, columns=["second", "p50", "p95"], dtype="float64")
    table["failed"] = table["p95"].eq(math.inf)
    return table.replace(math.inf, math.nan)
