import math
import re

import pytest

from lab.contract.loading import parse_scenario
from lab.reporter.measures import PhaseMeasures, Span, Values
from lab.reporter.verdict import Judgement, judge, judge_policy
from tests.journals import SMALL

BOUNDED = "B: {verdict: breached, bounds: [{measure: shed_rate, phase: all, at_most: 0.9}]}"
PHASES = {"baseline": (0.0, 6.0), "fault": (6.0, 12.0), "recovery": (12.0, 18.0), "all": (0.0, 18.0)}


def judged(
    fault_s: float | None = 0.5, expect: str = "B: {verdict: held}", *, void: bool = False, **fault: float | None
) -> Judgement:
    """An arm whose baseline and recovery hold, and whose SLO percentile in the fault is this."""
    scenario = parse_scenario(SMALL.replace(BOUNDED, expect), "small")
    phases = {name: _phase(name, {"offered": 50, "slo_percentile_s": 0.2}) for name in PHASES}
    phases["fault"] = _phase("fault", {"offered": 50, "slo_percentile_s": fault_s, **fault})
    return judge(phases, scenario, "B", void=void)


def _phase(name: str, numbers: Values) -> PhaseMeasures:
    return PhaseMeasures(Span(name, *PHASES[name]), numbers, {}, {}, {})


def test_an_arm_holds_where_every_phase_is_within_the_slo_the_limit_included() -> None:
    judgement = judged(1.0)
    assert judgement.verdict == "held"
    assert judgement.as_expected


@pytest.mark.parametrize(
    ("fault_s", "sentence"),
    [
        (1.01, "fault: p80 time to first token is 1.01 s, limit 1 s"),
        (math.inf, "fault: p80 time to first token is ∞, limit 1 s"),
        (None, "fault: nothing was admitted, so nothing held"),
    ],
)
def test_an_arm_breaches_where_one_phase_does(fault_s: float | None, sentence: str) -> None:
    judgement = judged(fault_s)
    assert judgement.verdict == "breached"
    assert judgement.as_expected is False
    assert [phase.sentence for phase in judgement.phases if not phase.held] == [sentence]
    assert sentence in judgement.checks[0].sentence


def test_a_phase_without_requests_is_not_judged() -> None:
    assert judged(None, offered=0).verdict == "held"


def test_of_a_void_arm_no_expectation_is_judged() -> None:
    judgement = judged(void=True)
    assert judgement.verdict == "void"
    assert judgement.as_expected is None
    assert [check.met for check in judgement.checks] == [None]


def test_an_arm_of_which_nothing_is_expected_is_neither_right_nor_wrong() -> None:
    scenario = parse_scenario(re.sub(r"expect:\n(  .*\n)*", "", SMALL), "small")
    judgement = judge({"fault": _phase("fault", {"offered": 5, "slo_percentile_s": 9.0})}, scenario, "B", void=False)
    assert judgement.verdict == "breached"
    assert judgement.expected is None
    assert judgement.as_expected is None


def bounded(bound: str, **fault: float | None) -> tuple[bool | None, str]:
    judgement = judged(0.5, "B: {verdict: held, bounds: [{" + bound + "}]}", void=False, **fault)
    return judgement.checks[1].met, judgement.checks[1].sentence


@pytest.mark.parametrize(
    ("bound", "value", "met"),
    [
        ("at_most: 0.3", 0.3, True),
        ("at_most: 0.3", 0.31, False),
        ("at_least: 0.3", 0.3, True),
        ("at_least: 0.3", 0.29, False),
        ("at_least: 0.1, at_most: 0.3", 0.2, True),
        ("at_least: 0.1, at_most: 0.3", 0.0, False),
    ],
)
def test_a_bound_is_met_up_to_and_with_its_limits(bound: str, value: float, met: bool) -> None:
    found = bounded(f"measure: shed_rate, phase: fault, {bound}", shed_rate=value)
    assert found == (met, f"shed_rate in fault is {100 * value:.1f} %")


def test_an_infinite_measure_is_at_least_anything_and_at_most_nothing() -> None:
    assert bounded("measure: p95_ttft_s, phase: fault, at_least: 5", p95_ttft_s=math.inf)[0] is True
    assert bounded("measure: p95_ttft_s, phase: fault, at_most: 5", p95_ttft_s=math.inf)[0] is False


def test_a_bound_on_what_could_not_be_measured_or_is_no_measure_is_not_met() -> None:
    assert bounded("measure: p95_ttft_s, phase: fault, at_most: 5") == (
        False,
        "p95_ttft_s in fault could not be measured",
    )
    met, sentence = bounded("measure: shedrate, phase: fault, at_most: 5")
    assert met is False
    assert sentence.startswith("shedrate is no measure of the report; known are offered, admitted,")


def evenly(low_s: float, high_s: float, count: int = 400) -> tuple[float, ...]:
    """So many jobs between these two, in an order that repeats within every block."""
    return tuple(low_s + (high_s - low_s) * (7 * number % 40) / 39 for number in range(count))


def sampled(name: str, samples_s: tuple[float, ...]) -> PhaseMeasures:
    worst = sorted(samples_s)[math.ceil(0.8 * len(samples_s)) - 1]
    numbers: Values = {"offered": len(samples_s), "slo_percentile_s": worst}
    return PhaseMeasures(Span(name, *PHASES[name]), numbers, {}, {}, {}, samples_s)


def judged_samples(expect: str = "held", **samples_s: tuple[float, ...]) -> Judgement:
    scenario = parse_scenario(SMALL.replace(BOUNDED, f"B: {{verdict: {expect}}}"), "small")
    return judge({name: sampled(name, several) for name, several in samples_s.items()}, scenario, "B", void=False)


CLEAR, HARDLY_HELD, HARDLY_BREACHED, FAR = evenly(0, 0.5), evenly(0, 1.24), evenly(0, 1.26), evenly(2, 5)


@pytest.mark.parametrize(
    ("fault", "recovery", "verdict", "too_close"),
    [
        (CLEAR, CLEAR, "held", False),
        (CLEAR, HARDLY_HELD, "held", True),
        (CLEAR, HARDLY_BREACHED, "breached", True),
        (HARDLY_HELD, HARDLY_BREACHED, "breached", True),
        (HARDLY_BREACHED, FAR, "breached", False),
        (FAR, HARDLY_HELD, "breached", False),
    ],
)
def test_a_verdict_is_too_close_to_call_where_other_chance_could_turn_it(
    fault: tuple[float, ...], recovery: tuple[float, ...], verdict: str, too_close: bool
) -> None:
    judgement = judged_samples(baseline=CLEAR, fault=fault, recovery=recovery)
    assert (judgement.verdict, judgement.too_close) == (verdict, too_close)
    assert set(judgement.intervals) == {"baseline", "fault", "recovery"}


def test_a_policy_is_judged_by_the_jobs_of_all_its_repeats() -> None:
    scenario = parse_scenario(SMALL, "small")
    repeats = [{"fault": sampled("fault", evenly(0, high_s))} for high_s in (1.0, 1.24, 1.1)]
    together = judge_policy(repeats, scenario)
    assert (together.verdict, together.too_close) == ("held", False)
    assert judge_policy(repeats[1:2], scenario).too_close
    assert (judge_policy([], scenario).verdict, judge_policy([], scenario).too_close) == ("void", False)


def test_repeats_that_surely_disagree_are_too_close_to_call_together() -> None:
    scenario = parse_scenario(SMALL, "small")
    together = judge_policy([{"fault": sampled("fault", several)} for several in (CLEAR, FAR)], scenario)
    assert (together.verdict, together.too_close) == ("breached", True)
