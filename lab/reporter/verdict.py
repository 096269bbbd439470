"""Whether an arm held the SLO, how sure that is, and whether that is what the scenario expects. Pure."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from lab.contract.scenario import Bound, Expectation, Scenario
from lab.reporter.catalogue import BY_NAME
from lab.reporter.interval import UNKNOWN, Interval, percentile_interval
from lab.reporter.measures import PhaseMeasures
from lab.reporter.percentile import percentile
from lab.reporter.wording import measured, slo_words

VOID = "void"


@dataclass(frozen=True, slots=True)
class PhaseJudgement:
    """One phase against the SLO; `value_s` is None where nothing was admitted.

    It is too close to call where the interval of the percentile straddles the SLO's bound.
    """

    phase: str
    value_s: float | None
    held: bool
    sentence: str
    interval: Interval = UNKNOWN
    too_close: bool = False


@dataclass(frozen=True, slots=True)
class Check:
    """One expectation and what came of it. `met` is None for a void arm, of which nothing can be said.

    It is too close to call where it rests on a verdict that is.
    """

    name: str
    met: bool | None
    sentence: str
    too_close: bool = False


@dataclass(frozen=True, slots=True)
class Judgement:
    """The verdict of one arm: held, breached or void.

    `intervals` are those of the SLO's percentile in every phase, judged or not, and in `all`.
    """

    verdict: str
    phases: tuple[PhaseJudgement, ...]
    expected: str | None
    why: str
    checks: tuple[Check, ...]
    intervals: dict[str, Interval]

    @property
    def too_close(self) -> bool:
        """Whether other chance could have made a held arm breached, or a breached one held."""
        return _too_close(self.verdict, self.phases)

    @property
    def as_expected(self) -> bool | None:
        """Whether every expectation was met; None where there is none, or the arm is void."""
        if self.verdict == VOID or not self.checks:
            return None
        return all(check.met for check in self.checks)

    @property
    def surely_unexpected(self) -> bool:
        """Whether an expectation was not met that is not too close to call."""
        return any(check.met is False and not check.too_close for check in self.checks)


@dataclass(frozen=True, slots=True)
class PolicyJudgement:
    """The verdict of one policy by the jobs of all its repeats that count: held, breached, or void without any.

    Repeats disagree where one surely held and another surely breached: then they differ by more than their blocks tell.
    """

    verdict: str
    phases: tuple[PhaseJudgement, ...]
    repeats_disagree: bool

    @property
    def too_close(self) -> bool:
        """Whether other chance could have turned the verdict, as it did where the repeats disagree."""
        return self.repeats_disagree or _too_close(self.verdict, self.phases)


def judge(phases: dict[str, PhaseMeasures], scenario: Scenario, letter: str, *, void: bool) -> Judgement:
    """Judges an arm by its numbers. Of a void arm no expectation is judged."""
    judged = _judge_phases([phases], scenario)
    verdict = _verdict(judged, void=void)
    expectation = scenario.expect.get(letter)
    return Judgement(
        verdict=verdict,
        phases=judged,
        expected=expectation.verdict if expectation else None,
        why=expectation.why if expectation else "",
        checks=() if expectation is None else _checks(expectation, verdict, judged, phases),
        intervals={
            name: percentile_interval([phase.slo_samples_s], scenario.slo.percentile) for name, phase in phases.items()
        },
    )


def judge_policy(repeats: Sequence[dict[str, PhaseMeasures]], scenario: Scenario) -> PolicyJudgement:
    """Judges a policy by the jobs of its repeats together; `repeats` are the phases of the arms that are not void."""
    judged = _judge_phases(repeats, scenario)
    alone = [_judge_phases([phases], scenario) for phases in repeats]
    verdicts = [(_verdict(phases, void=False), phases) for phases in alone]
    sure = {verdict for verdict, phases in verdicts if not _too_close(verdict, phases)}
    return PolicyJudgement(_verdict(judged, void=not repeats), judged, repeats_disagree=len(sure) > 1)


def _verdict(judged: tuple[PhaseJudgement, ...], *, void: bool) -> str:
    return VOID if void else "held" if judged and all(phase.held for phase in judged) else "breached"


def _too_close(verdict: str, judged: tuple[PhaseJudgement, ...]) -> bool:
    """A held verdict is as sure as its least sure phase, a breached one as its surest breach."""
    if verdict == VOID or not judged:
        return False
    if verdict == "held":
        return any(phase.too_close for phase in judged)
    return all(phase.too_close for phase in judged if not phase.held)


def _judge_phases(repeats: Sequence[dict[str, PhaseMeasures]], scenario: Scenario) -> tuple[PhaseJudgement, ...]:
    offered = {
        name: [phases[name] for phases in repeats if name in phases and phases[name].numbers["offered"]]
        for name in scenario.slo.phases
    }
    return tuple(_judge_phase(name, found, scenario) for name, found in offered.items() if found)


def _judge_phase(name: str, repeats: Sequence[PhaseMeasures], scenario: Scenario) -> PhaseJudgement:
    slo, value = scenario.slo, pooled_percentile(repeats, scenario)
    if value is None:
        return PhaseJudgement(name, None, held=False, sentence=f"{name}: nothing was admitted, so nothing held")
    samples = [phase.slo_samples_s for phase in repeats]
    interval = percentile_interval(samples, slo.percentile)
    seen = [sample for several in samples for sample in several] or [value]
    too_close = interval.straddles(slo.within, min(seen), max(seen))
    sure = f" ({interval.words()})" if interval.words() else ""
    close = ": too close to call" if too_close else ""
    sentence = f"{name}: {slo_words(scenario)} is {measured(value, 's')}{sure}, limit {slo.within:g} s{close}"
    return PhaseJudgement(name, value, value <= slo.within, sentence, interval, too_close)


def pooled_percentile(repeats: Sequence[PhaseMeasures], scenario: Scenario) -> float | None:
    """The SLO's percentile of one repeat, or of the jobs of several; None where nothing was admitted."""
    if len(repeats) == 1:
        return repeats[0].numbers["slo_percentile_s"]
    return percentile(
        pd.Series([s for phase in repeats for s in phase.slo_samples_s], dtype=float), scenario.slo.percentile
    )


def _checks(
    expectation: Expectation, verdict: str, judged: tuple[PhaseJudgement, ...], phases: dict[str, PhaseMeasures]
) -> tuple[Check, ...]:
    met = None if verdict == VOID else verdict == expectation.verdict
    sentences = "; ".join(phase.sentence for phase in judged) or "no request was offered in a phase of the SLO"
    too_close = _too_close(verdict, judged)
    said = f"{verdict}, too close to call" if too_close else verdict
    first = Check(f"verdict is {expectation.verdict}", met, f"{said}: {sentences}", too_close)
    return (first, *(_bound(bound, phases, void=verdict == VOID) for bound in expectation.bounds))


def _bound(bound: Bound, phases: dict[str, PhaseMeasures], *, void: bool) -> Check:
    limits = [("at least", bound.at_least), ("at most", bound.at_most)]
    asked = " and ".join(f"{word} {limit:g}" for word, limit in limits if limit is not None)
    name = f"{bound.measure} in {bound.phase} {asked}"
    known = BY_NAME.get(bound.measure)
    if known is None:
        return Check(
            name,
            None if void else False,
            f"{bound.measure} is no measure of the report; known are {', '.join(BY_NAME)}",
        )
    value = phases[bound.phase].numbers.get(bound.measure) if bound.phase in phases else None
    if value is None:
        return Check(name, None if void else False, f"{bound.measure} in {bound.phase} could not be measured")
    least = -math.inf if bound.at_least is None else bound.at_least
    most = math.inf if bound.at_most is None else bound.at_most
    met = least <= value <= most and not (math.isinf(value) and bound.at_most is not None)
    return Check(name, None if void else met, f"{bound.measure} in {bound.phase} is {measured(value, known.unit)}")
