"""Whether an arm held the SLO, and whether that is what the scenario expects. Pure."""

import math
from dataclasses import dataclass

from lab.contract.scenario import Bound, Expectation, Scenario
from lab.reporter.catalogue import BY_NAME
from lab.reporter.measures import PhaseMeasures
from lab.reporter.wording import measured, slo_words

VOID = "void"


@dataclass(frozen=True, slots=True)
class PhaseJudgement:
    """One phase against the SLO; `value_s` is None where nothing was admitted."""

    phase: str
    value_s: float | None
    held: bool
    sentence: str


@dataclass(frozen=True, slots=True)
class Check:
    """One expectation and what came of it. `met` is None for a void arm, of which nothing can be said."""

    name: str
    met: bool | None
    sentence: str


@dataclass(frozen=True, slots=True)
class Judgement:
    """The verdict of one arm: held, breached or void."""

    verdict: str
    phases: tuple[PhaseJudgement, ...]
    expected: str | None
    why: str
    checks: tuple[Check, ...]

    @property
    def as_expected(self) -> bool | None:
        """Whether every expectation was met; None where there is none, or the arm is void."""
        if self.verdict == VOID or not self.checks:
            return None
        return all(check.met for check in self.checks)


def judge(phases: dict[str, PhaseMeasures], scenario: Scenario, letter: str, *, void: bool) -> Judgement:
    """Judges an arm by its numbers. Of a void arm no expectation is judged."""
    judged = tuple(_judge_phase(phases[name], scenario) for name in scenario.slo.phases if _was_offered(phases, name))
    verdict = VOID if void else "held" if judged and all(phase.held for phase in judged) else "breached"
    expectation = scenario.expect.get(letter)
    return Judgement(
        verdict=verdict,
        phases=judged,
        expected=expectation.verdict if expectation else None,
        why=expectation.why if expectation else "",
        checks=() if expectation is None else _checks(expectation, verdict, judged, phases),
    )


def _was_offered(phases: dict[str, PhaseMeasures], name: str) -> bool:
    return name in phases and bool(phases[name].numbers["offered"])


def _judge_phase(phase: PhaseMeasures, scenario: Scenario) -> PhaseJudgement:
    name, value = phase.span.phase, phase.numbers["slo_percentile_s"]
    if value is None:
        return PhaseJudgement(name, None, held=False, sentence=f"{name}: nothing was admitted, so nothing held")
    held = value <= scenario.slo.within
    sentence = f"{name}: {slo_words(scenario)} is {measured(value, 's')}, limit {scenario.slo.within:g} s"
    return PhaseJudgement(name, value, held, sentence)


def _checks(
    expectation: Expectation, verdict: str, judged: tuple[PhaseJudgement, ...], phases: dict[str, PhaseMeasures]
) -> tuple[Check, ...]:
    met = None if verdict == VOID else verdict == expectation.verdict
    sentences = "; ".join(phase.sentence for phase in judged) or "no request was offered in a phase of the SLO"
    first = Check(f"verdict is {expectation.verdict}", met, f"{verdict}: {sentences}")
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
