"""Values over time, as one who watches sees them: the last at a moment, and those within a window. Pure."""

import math
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

import pandas as pd


@dataclass(frozen=True, slots=True)
class Timeline:
    """`readings` in the order of `seconds`, which count from the first due time."""

    seconds: list[float]
    readings: list[float]

    @classmethod
    def of(cls, seconds: "pd.Series[float]", values: "pd.Series[float]") -> Self:
        """Two columns of one table, put in order; what has no value is left out."""
        pairs = pd.DataFrame({"second": seconds, "value": values}).dropna().sort_values("second", kind="stable")
        return cls([float(each) for each in pairs["second"]], [float(each) for each in pairs["value"]])

    @classmethod
    def of_pairs(cls, pairs: Iterable[tuple[float, float]]) -> Self:
        """(second, value) pairs that are in order."""
        kept = list(pairs)
        return cls([second for second, _ in kept], [value for _, value in kept])

    def last(self, second: float) -> float:
        """The value at a moment: the last one seen until then, NaN before the first."""
        index = bisect_right(self.seconds, second)
        return self.readings[index - 1] if index else math.nan

    def within(self, begin_s: float, end_s: float) -> list[float]:
        """The values seen after `begin_s`, until and with `end_s`."""
        return self.readings[bisect_right(self.seconds, begin_s) : bisect_right(self.seconds, end_s)]
