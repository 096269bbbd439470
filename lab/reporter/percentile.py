"""The percentile that every measure uses. Pure."""

import math

import pandas as pd


def percentile(values: pd.Series, percent: float) -> float | None:
    """The nearest-rank percentile, None of no values."""
    if values.empty:
        return None
    # Less a hair, so that 0.95 x 20 = 19.000000000000004 is the 19th and not the 20th.
    rank = math.ceil(percent * len(values) / 100 - 1e-9)
    return float(values.sort_values().iloc[max(rank, 1) - 1])
