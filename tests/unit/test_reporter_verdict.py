import math
import re

import pytest

from lab.contract.loading import parse_scenario
from lab.reporter.measures import PhaseMeasures, Span, Values
from lab.reporter.verdict import Judgement, judge
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
