"""What each policy buys and pays: its shed rate against the SLO's percentile, both in the fault. Pure."""

import math
from dataclasses import dataclass

from lab.reporter.arm import ArmReport
from lab.reporter.comparison import by_policy, interval_of, judge_together, typical
from lab.reporter.interval import Interval
from lab.reporter.verdict import pooled_percentile
from lab.reporter.wording import measured, slo_words


@dataclass(frozen=True, slots=True)
class TradePoint:
    """One policy over its repeats. `value_s`: infinite where too many jobs failed, None where nothing was admitted."""

    letter: str
    kind: str
    shed_ratio: float
    value_s: float | None
    interval: Interval
    slowest_s: float | None
    verdict: str
    too_close: bool

    def words(self) -> str:
        """Such as `B sheds 24.6 % for 2.88 s (2.41 s to 3.02 s): held`."""
        if self.value_s is None:
            return f"{self.letter} sheds {measured(self.shed_ratio, 'ratio')} and admitted nothing: {self._said()}"
        sure = f" ({self._sure()})" if self.interval.words() and math.isfinite(self.value_s) else ""
        value = measured(self.value_s, "s") if math.isfinite(self.value_s) else "an infinite time: too many jobs failed"
        return f"{self.letter} sheds {measured(self.shed_ratio, 'ratio')} for {value}{sure}: {self._said()}"

    def _sure(self) -> str:
        """The interval; where its upper end is not known, the slowest job that was seen."""
        words = self.interval.words()
        slowest = "" if self.interval.high_s is not None else f"; the slowest job took {measured(self.slowest_s, 's')}"
        return words + slowest

    def _said(self) -> str:
        return f"{self.verdict}, too close to call" if self.too_close else self.verdict


@dataclass(frozen=True, slots=True)
class Trade:
    """Every policy that counts, in the phase where policies differ most: the fault, or the whole drill without one."""

    phase: str
    within_s: float
    slo: str
    points: tuple[TradePoint, ...]


def trade_of(arms: tuple[ArmReport, ...]) -> Trade:
    """The policies' points; a policy of which every arm is void, or to which nothing was offered, has none."""
    scenario = arms[0].header.scenario
    phase = "fault" if any("fault" in arm.phases for arm in arms) else "all"
    found = (_point(letter, mine, phase) for letter, mine in by_policy(arms).items())
    return Trade(phase, scenario.slo.within, slo_words(scenario), tuple(point for point in found if point is not None))


def _point(letter: str, arms: tuple[ArmReport, ...], phase: str) -> TradePoint | None:
    repeats = [arm.phases[phase] for arm in arms if not arm.void and phase in arm.phases]
    shed_ratio = typical(arms, phase, "shed_rate")
    if not repeats or shed_ratio is None:
        return None
    together = judge_together(arms)
    return TradePoint(
        letter=letter,
        kind=arms[0].header.kind,
        shed_ratio=shed_ratio,
        value_s=pooled_percentile(repeats, arms[0].header.scenario),
        interval=interval_of(arms, phase),
        slowest_s=max((sample for repeat in repeats for sample in repeat.slo_samples_s), default=None),
        verdict=together.verdict,
        too_close=together.too_close,
    )
