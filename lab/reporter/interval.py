"""How sure a percentile is: a 95 % interval that minds that jobs which queue together are slow together. Pure.

The number of samples at or below the true percentile is binomial where samples are independent, and two order
statistics bound it (Woodruff, Confidence Intervals for Medians and Other Position Measures, JASA 47, 1952). Where they
are not, the share beyond the percentile varies more, by the design effect: its variance by the means of consecutive
blocks (batch means; Law, Simulation Modeling and Analysis, 9.5.3) over its variance if independent. As many samples
are worth only n over that many, less for the few blocks it is known from (Korn and Graubard, Confidence Intervals for
Proportions with Small Expected Number of Positive Counts, Survey Methodology 24, 1998).
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist, fmean, variance

from lab.reporter.wording import measured

CONFIDENCE = 0.95
# Between 10 and 30 blocks serve whatever the length of a run, and the fewer the longer, so that what one block leaves
# waiting reaches less far into the next (Schmeiser, Batch Size Effects in the Analysis of Simulation Output, 1982).
BLOCKS = 10
# Of few samples rather short blocks than few: from two blocks a variance is hardly known.
LEAST_BLOCK = 2
_TAIL = (1 - CONFIDENCE) / 2
# Beyond so many standard deviations nothing of a binomial is left that a double could hold.
_REACH = 10.0


@dataclass(frozen=True, slots=True)
class Interval:
    """Where the true percentile lies, in seconds. None: not known, the samples are too few; infinite: it is infinite.

    An end that is not known bounds nothing.
    """

    low_s: float | None
    high_s: float | None

    def straddles(self, bound_s: float, least_s: float, most_s: float) -> bool:
        """Whether the percentile may be within the bound and may be past it.

        Where an end is not known, the least or the most that was seen stands for it: what no job was past, nothing
        speaks against.
        """
        low_s = least_s if self.low_s is None else self.low_s
        high_s = most_s if self.high_s is None else self.high_s
        return low_s <= bound_s < high_s

    def words(self) -> str:
        """Such as `3.10 to 3.90 s`; empty where nothing is known."""
        if self == UNKNOWN:
            return ""
        if self.high_s is None:
            return f"from {measured(self.low_s, 's')}, not known above"
        if self.low_s is None:
            return f"up to {measured(self.high_s, 's')}, not known below"
        return f"{measured(self.low_s, 's')} to {measured(self.high_s, 's')}"


UNKNOWN = Interval(None, None)


def percentile_interval(repeats: Sequence[Sequence[float]], percent: float) -> Interval:
    """The interval of the percentile of all samples, each repeat's in the order of their due times.

    Repeats are independent of each other: no block reaches from one into the next.
    """
    ordered = sorted(sample for repeat in repeats for sample in repeat)
    count, share = len(ordered), percent / 100
    if not ordered or not 0 < share < 1:
        return UNKNOWN
    worth = effective_count(repeats, ordered[max(math.ceil(share * count - 1e-9), 1) - 1])
    low, high = _ranks(worth, share)
    # From ranks among the samples' worth to ranks among the samples, outwards where they do not fall on one.
    low_rank, high_rank = math.floor(low / worth * count + 1e-9), math.ceil(high / worth * count - 1e-9)
    return Interval(
        low_s=ordered[low_rank - 1] if low_rank >= 1 else None,
        high_s=ordered[high_rank - 1] if high <= worth else None,
    )


def effective_count(repeats: Sequence[Sequence[float]], percentile: float) -> int:
    """How many independent samples these are worth: at least one, at most as many as they are."""
    blocks = [block for repeat in repeats for block in _blocks([sample > percentile for sample in repeat])]
    count = sum(len(block) for block in blocks)
    if len(blocks) < 2:  # noqa: PLR2004 - one block has no variance
        return 1
    beyond = sum(map(sum, blocks)) / count
    independent = beyond * (1 - beyond) * len(blocks) / count
    effect = max(1.0, variance(map(fmean, blocks)) / independent) if independent else 1.0
    few = NormalDist().inv_cdf(1 - _TAIL) / _student(1 - _TAIL, len(blocks) - 1)
    return max(1, math.floor(count / effect * few**2))


def _blocks(beyond: list[bool]) -> list[list[bool]]:
    """Consecutive samples in blocks whose lengths differ by one at most."""
    number = max(1, min(BLOCKS, len(beyond) // LEAST_BLOCK)) if beyond else 0
    edges = [round(len(beyond) * edge / number) for edge in range(number + 1)] if number else []
    return [beyond[start:end] for start, end in itertools.pairwise(edges)]


def _student(probability: float, freedom: int) -> float:
    """Student's quantile by Abramowitz and Stegun 26.7.5; below three degrees of freedom by the exact formulas."""
    if freedom == 1:
        return math.tan(math.pi * (probability - 0.5))
    if freedom == 2:  # noqa: PLR2004
        return (2 * probability - 1) * math.sqrt(2 / (4 * probability * (1 - probability)))
    z = NormalDist().inv_cdf(probability)
    terms = (z, (z**3 + z) / 4, (5 * z**5 + 16 * z**3 + 3 * z) / 96, (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384)
    return math.fsum(term / float(freedom) ** power for power, term in enumerate(terms))


def _ranks(count: int, share: float) -> tuple[int, int]:
    """The ranks of the order statistics around the percentile; 0 and count + 1 stand for none.

    With the number at or below the percentile binomial, the first is past it, and the second is not, with a
    probability of at most _TAIL each.
    """
    spread = _REACH * math.sqrt(count * share * (1 - share))
    below, low, high = 0.0, 0, count + 1
    first = max(0, math.floor(count * share - spread))
    for number in range(first, count):
        if below <= _TAIL:
            low = number
        below += _binomial(number, count, share)
        if below >= 1 - _TAIL:
            high = number + 1
            break
    return low, high


def _binomial(number: int, count: int, share: float) -> float:
    ways = math.lgamma(count + 1) - math.lgamma(number + 1) - math.lgamma(count - number + 1)
    return math.exp(ways + number * math.log(share) + (count - number) * math.log1p(-share))
