"""What a drill asks for beyond its capacity as a whole, and what a fault alone makes impossible, in sentences."""

from collections.abc import Iterator, Sequence

from lab.contract.fault_spec import LatencyFault
from lab.contract.messages import ScheduledRequest
from lab.contract.scenario import Scenario
from lab.workload.conditions import conditions_of
from lab.workload.derive import seconds
from lab.workload.rates import Stretch, stretches_of
from lab.workload.totals import ALL, Total, totals

# Rates this near to each other are one.
SAME_RATE_RATIO = 1.05


def overload_lines(scenario: Scenario, requests: Sequence[ScheduledRequest] = ()) -> Iterator[str]:
    """Sentences on what is too much: the whole drill, each phase of unequal jobs, each delay that alone is."""
    found = totals(scenario, requests)
    if not found:
        return
    whole = found[ALL]
    if whole.offered_count > whole.in_time_count:
        yield _whole_line(scenario, whole, requests)
    if len(scenario.workload.classes) > 1:
        yield from (_largest_first_line(phase, each) for phase, each in found.items() if each.load_ratio > 1)
    stretches = stretches_of(scenario.workload.arrivals, scenario.workload.duration, requests)
    for fault in scenario.faults:
        if isinstance(fault, LatencyFault) and fault.link == "model" and fault.toxicity == 1:
            yield from _delay_line(_most_slots(scenario, fault), fault, stretches)


def _whole_line(scenario: Scenario, whole: Total, requests: Sequence[ScheduledRequest]) -> str:
    conditions = conditions_of(scenario, requests)
    means = {round(each.all_classes.mean_service_s, 6) for each in conditions}
    slots = {each.slots for each in conditions}
    who = "the slots finish"
    if len(means) == 1 and len(slots) == 1 and whole.endpoint.served_ratio == 1:
        rate = conditions[0].service_rate_per_s
        who = f"{slots.pop()} slots at a mean of {seconds(means.pop())} finish {rate:.3g} jobs/s,"
    return (
        f"whole drill: {who} {whole.served_count:.0f} in {whole.length_s:g} s and at most {whole.in_time_count:.0f} by "
        f"the last deadline, of {whole.offered_count:.0f} that are due{_span(scenario, requests)}"
    )


def _largest_first_line(phase: str, total: Total) -> str:
    name = "whole drill" if phase == ALL else phase
    sighted, blind = (1 - count / total.offered_count for count in (total.most_count, total.served_count))
    return (
        f"{name}: who sees sizes and refuses the largest first need refuse {sighted:.0%} of the requests, "
        f"who does not {blind:.0%}"
    )


def _span(scenario: Scenario, requests: Sequence[ScheduledRequest]) -> str:
    """Between what loads the arrivals move, where nothing but them changes."""
    if scenario.faults:
        return ""
    served = conditions_of(scenario, requests)[0].service_rate_per_s
    stretches = stretches_of(scenario.workload.arrivals, scenario.workload.duration, requests)
    rates = [rate for each in stretches for rate in (each.begin_rate_per_s, each.end_rate_per_s)]
    low, high = min(rates), max(rates)
    if low <= 0 or high <= SAME_RATE_RATIO * low or served <= 0:
        return ""
    return f"; {low:.2f}/s are {low / served:.1f} x what they finish, {high:.2f}/s are {high / served:.1f} x"


def _most_slots(scenario: Scenario, fault: LatencyFault) -> int:
    """The most slots that there are at any time while the fault acts."""
    conditions = conditions_of(scenario)
    return max(each.slots for each in conditions if each.begin_s < fault.end and each.end_s > fault.start)


def _delay_line(slots: int, fault: LatencyFault, stretches: Sequence[Stretch]) -> Iterator[str]:
    """A delay that every job holds its slot for bounds the rate, however short the model's own time is."""
    rate = max((_highest(each, fault) for each in stretches), default=0.0)
    most = slots / fault.latency if fault.latency > 0 else float("inf")
    if slots and rate > most:
        yield (
            f"the added {seconds(fault.latency)} alone let {slots} slots finish at most "
            f"{most:.1f} jobs/s against {rate:.1f}/s: at least {int(100 * (1 - most / rate))}% must be shed or late, "
            "however fast the model itself is"
        )


def _highest(stretch: Stretch, fault: LatencyFault) -> float:
    begin_s, end_s = max(stretch.begin_s, fault.start), min(stretch.end_s, fault.end)
    if end_s <= begin_s:
        return 0.0
    slope = (stretch.end_rate_per_s - stretch.begin_rate_per_s) / (stretch.end_s - stretch.begin_s)
    return max(stretch.begin_rate_per_s + slope * (second - stretch.begin_s) for second in (begin_s, end_s))
