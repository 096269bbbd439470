"""Offered, admitted, shed, missed and p95 of an arm, per phase. Pure.

Percentiles are nearest rank: of n values in order, the one at place ceil(0.95 n), counted from 1. Times count from the
due time; an admitted job that was not done counts as infinite.
"""

import math
from dataclasses import dataclass

from lab.checker.jobs import DONE, Request
from lab.checker.phases import WHOLE, Phase, phase_at

PERCENT = 95


@dataclass(frozen=True, slots=True)
class Measured:
    """Counts of requests, and p95 in seconds: infinite where too many failed, None where nothing was admitted.

    `missed` are admitted jobs that were not done within their deadline.
    """

    offered: int
    admitted: int
    shed: int
    missed: int
    p95_ttft_s: float | None
    p95_turnaround_s: float | None


def measure(requests: list[Request], phases: tuple[Phase, ...], start_at: float) -> dict[str, Measured]:
    """By phase, and `all` of them together."""
    by_phase: dict[str, list[Request]] = {phase.name: [] for phase in phases}
    for request in requests:
        by_phase[phase_at(request.due_at - start_at, phases)].append(request)
    return {name: _measured(chosen) for name, chosen in (*by_phase.items(), (WHOLE, requests))}


def _measured(requests: list[Request]) -> Measured:
    admitted = [request for request in requests if request.fate == "admitted"]
    return Measured(
        offered=len(requests),
        admitted=len(admitted),
        shed=sum(request.fate == "shed" for request in requests),
        missed=sum(not request.is_in_time for request in admitted),
        p95_ttft_s=nearest_rank([_reached_s(request, "first_token_at") for request in admitted]),
        p95_turnaround_s=nearest_rank([_reached_s(request, "finished_at") for request in admitted]),
    )


def nearest_rank(values: list[float]) -> float | None:
    """p95 of the values; None of none. In whole numbers, so that no rounding moves the place."""
    place = -(-PERCENT * len(values) // 100)
    return sorted(values)[place - 1] if values else None


def _reached_s(request: Request, moment: str) -> float:
    outcome = request.outcome
    if outcome is None or outcome["outcome"] not in DONE or outcome[moment] is None:
        return math.inf
    return float(outcome[moment]) - request.due_at
