"""The report's answer in plain words, for someone who must decide. Pure."""

from collections.abc import Iterable, Iterator

from lab.contract.scenario import Scenario
from lab.contract.workload_spec import UniformDeadline
from lab.reporter.arm import ArmReport
from lab.reporter.comparison import by_policy, contradiction, judge_together, typical
from lab.reporter.wording import listed, measured, signed, slo_words


def answer(arms: tuple[ArmReport, ...]) -> tuple[str, ...]:
    """A few sentences: who holds at what price, who breaches by how much, who serves most, and if that was expected."""
    policies = by_policy(arms)
    scenario = arms[0].header.scenario
    slo = f"{slo_words(scenario)} within {scenario.slo.within:g} s"
    holding = [letter for letter, mine in policies.items() if _all(mine, "held")]
    breaching = [letter for letter, mine in policies.items() if _all(mine, "breached")]
    return (
        *_sandbox(arms),
        *([] if holding else [_nobody(arms, slo)]),
        *_holders(policies, holding, slo),
        *_breachers(policies, breaching),
        *_mixed(policies, holding + breaching),
        *_too_close(policies, holding + breaching),
        *_lost(policies),
        *_most_useful(policies, holding),
        *_price(policies, holding),
        *_expected(arms),
    )


def _sandbox(arms: tuple[ArmReport, ...]) -> list[str]:
    header = arms[0].header
    return [f"A sandbox observation: {header.endpoint} answered, not the lab's model."] if header.is_sandbox else []


def _nobody(arms: tuple[ArmReport, ...], slo: str) -> str:
    if all(arm.void for arm in arms):
        return "Nothing can be said: no arm counts."
    always = " in every repeat" if any(arm.judgement.verdict == "held" for arm in arms) else ""
    return f"No policy holds the SLO{always}, {slo}."


def _all(arms: tuple[ArmReport, ...], verdict: str) -> bool:
    return all(arm.judgement.verdict == verdict for arm in arms)


def _holders(policies: dict[str, tuple[ArmReport, ...]], holding: list[str], slo: str) -> Iterator[str]:
    for number, letter in enumerate(holding):
        subject = f"the SLO, {slo}," if number == 0 else "it"
        yield f"{letter} holds {subject} and sheds {_shed(policies[letter])}."


def _shed(arms: tuple[ArmReport, ...]) -> str:
    whole, fault = typical(arms, "all", "shed_rate"), typical(arms, "fault", "shed_rate")
    if not whole:
        projected = typical(arms, "all", "projected_shed_rate")
        return (
            f"nothing; enforced it would have shed {measured(projected, 'ratio')}, projected"
            if projected
            else "nothing"
        )
    during = "" if fault is None else f" ({measured(fault, 'ratio')} in the fault)"
    return f"{measured(whole, 'ratio')} of the requests{during}"


def _breachers(policies: dict[str, tuple[ArmReport, ...]], breaching: list[str]) -> Iterator[str]:
    if not breaching:
        return
    worst = [_worst(policies[letter]) for letter in breaching]
    phases = {phase for _, phase in worst}
    same = phases.pop() if len(phases) == 1 else None
    # A phase they share is said once.
    numbers = listed([words if same else f"{words} {where}" for words, where in worst]) + (f" {same}" if same else "")
    yield f"{listed(breaching)} {'breaches' if len(breaching) == 1 else 'breach'} it: {numbers}."


def _worst(arms: tuple[ArmReport, ...]) -> tuple[str, str]:
    """How badly, and in which phase, a policy missed the SLO by most."""
    missed = [phase for arm in arms for phase in arm.judgement.phases if not phase.held]
    if not missed:
        return "nothing was offered to judge it by", "in any phase"
    worst = max(missed, key=lambda phase: float("inf") if phase.value_s is None else phase.value_s)
    if worst.value_s is None:
        words = "nothing admitted"
    elif worst.value_s == float("inf"):
        words = "too many jobs failed"
    else:
        words = measured(worst.value_s, "s")
    return words, f"in the {worst.phase}"


def _mixed(policies: dict[str, tuple[ArmReport, ...]], clear: list[str]) -> Iterator[str]:
    for letter, arms in policies.items():
        void = [arm.name for arm in arms if arm.void]
        if void:
            yield f"{listed(void)} {'does' if len(void) == 1 else 'do'} not count: {_first_reason(arms)}."
        elif letter not in clear:
            held = sum(arm.judgement.verdict == "held" for arm in arms)
            together = judge_together(arms)
            said = f"over all of them it {'holds' if together.verdict == 'held' else 'breaches'}"
            close = "it is too close to call" if together.too_close else said
            yield f"{letter} holds in {held} of {len(arms)} repeats: {close}."


def _too_close(policies: dict[str, tuple[ArmReport, ...]], clear: list[str]) -> Iterator[str]:
    """Which of the verdicts that the repeats agree on other chance could have turned."""
    close = [letter for letter in clear if judge_together(policies[letter]).too_close]
    if close:
        yield f"That is too close to call of {listed(close)}; REPEATS=auto plays what is too close again."


def _lost(policies: dict[str, tuple[ArmReport, ...]]) -> Iterator[str]:
    """Jobs that no policy could have kept, since the queue itself was emptied."""
    for letter, arms in policies.items():
        if count := sum(arm.ledger.outcomes["lost"] for arm in arms):
            jobs = "admitted job of {} was" if count == 1 else "admitted jobs of {} were"
            yield f"{count} {jobs.format(letter)} lost with Redis, whose memory a declared fault emptied."


def _first_reason(arms: tuple[ArmReport, ...]) -> str:
    return next(arm.void_reasons[0] for arm in arms if arm.void)


def _goodput(policies: dict[str, tuple[ArmReport, ...]], letters: Iterable[str]) -> dict[str, float]:
    return {letter: typical(policies[letter], "all", "goodput_per_s") or 0.0 for letter in letters}


def _price(policies: dict[str, tuple[ArmReport, ...]], holding: list[str]) -> Iterator[str]:
    """What the policy that is recommended costs, against the policy that does most of the offered jobs in time.

    A job's deadline may be more generous than the SLO, so that who breaches it may serve more all the same.
    """
    missed = {letter: typical(arms, "all", "deadline_miss_rate_offered") for letter, arms in policies.items()}
    known = {letter: rate for letter, rate in missed.items() if rate is not None}
    goodput = _goodput(policies, [letter for letter in holding if letter in known])
    if not goodput:
        return
    chosen, most = max(goodput, key=lambda letter: goodput[letter]), min(known, key=lambda letter: known[letter])
    gap = signed(known[chosen] - known[most], "ratio")
    if most not in holding and known[most] < known[chosen] and not gap.startswith("±"):
        yield (
            f"The price of {chosen}: it does {measured(1 - known[chosen], 'ratio')} of the offered jobs within their "
            f"deadlines, while {most}, which does not hold the SLO, does {measured(1 - known[most], 'ratio')}"
            f"{_generous(policies[chosen][0].header.scenario)}."
        )


def _generous(scenario: Scenario) -> str:
    """Why one who breaches the SLO can still be in time, where that is why."""
    deadlines = [each.deadline for each in scenario.workload.classes.values()]
    shortest_s = min(each.low if isinstance(each, UniformDeadline) else each for each in deadlines)
    if shortest_s <= scenario.slo.within:
        return ""
    return f"; a deadline of {shortest_s:g} s or more is more generous than the SLO's {scenario.slo.within:g} s"


def _most_useful(policies: dict[str, tuple[ArmReport, ...]], holding: list[str]) -> Iterator[str]:
    goodput = _goodput(policies, holding)
    if len(goodput) > 1:
        best = max(goodput, key=lambda letter: goodput[letter])
        yield f"Of the policies that hold, {best} serves most: {goodput[best]:.2f} jobs a second done in time."


def _expected(arms: tuple[ArmReport, ...]) -> Iterator[str]:
    judged = [arm for arm in arms if arm.judgement.as_expected is not None]
    wrong = [arm.name for arm in judged if not arm.judgement.as_expected]
    unsure = wrong and all(contradiction(mine) != "sure" for mine in by_policy(arms).values())
    if unsure:
        yield f"Whether the scenario's expectations are met is too close to call: {listed(wrong)}."
    elif wrong:
        yield f"Not what the scenario expects: {listed(wrong)}."
    elif judged:
        yield (
            "That is what the scenario expects."
            if len(judged) == len(arms)
            else "The arms that count did what the scenario expects."
        )
