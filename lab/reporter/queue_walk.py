"""The queue rebuilt from what became of its jobs: which of them, at any moment, could no longer be done in time. Pure.

    projected end = now + est x (queued ahead + in flight) / slots + est of its own class
    slack         = deadline - projected end

est, seconds, is what could be known by then: per class the mean of the last RECENT_SERVICES service times of jobs that
were done; before the first of its class that of all classes, and before any 0. Work ahead counts each job at the
estimate of its class, as drill 4's policy does; jobs in flight count in full.
"""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import pandas as pd

from lab.contract.scenario import Scenario
from lab.contract.workload_spec import UniformDeadline
from lab.reporter.read import Tables
from lab.reporter.timeline import Timeline

RECENT_SERVICES = 20
DONE = ("ok", "late")


@dataclass(frozen=True, slots=True)
class QueuedJob:
    """One job's stay in the queue and in a slot; seconds after the first due time, infinite where it never came."""

    job_class: str
    enqueued_s: float
    dequeued_s: float
    finished_s: float
    deadline_s: float


@dataclass(frozen=True, slots=True)
class Estimates:
    """Service times known so far, per class and over all; seconds."""

    by_class: dict[str, Timeline]
    pooled: Timeline

    def at(self, job_class: str, second: float) -> float:
        """What was expected of a job of this class at a moment; 0 before anything was known."""
        own = self.by_class[job_class].last(second) if job_class in self.by_class else math.nan
        known = own if not math.isnan(own) else self.pooled.last(second)
        return 0.0 if math.isnan(known) else known


def estimates_of(outcomes: pd.DataFrame, start_at: float, least_count: int = 1) -> Estimates:
    """The estimates that a journal's outcomes allow, each once it rests on `least_count` service times."""
    done = outcomes[outcomes["outcome"].isin(DONE) & ~outcomes["duplicate"].astype(bool)].sort_values("finished_at")
    by_class = {str(name): _recent_mean(part, start_at, least_count) for name, part in done.groupby("job_class")}
    return Estimates(by_class, _recent_mean(done, start_at, least_count))


def _recent_mean(done: pd.DataFrame, start_at: float, least_count: int) -> Timeline:
    recent = done["slot_s"].rolling(RECENT_SERVICES, min_periods=least_count).mean()
    return Timeline.of(done["finished_at"] - start_at, recent)


def queued_jobs(tables: Tables, scenario: Scenario, start_at: float) -> list[QueuedJob]:
    """The stays of the admitted jobs, in the order in which they were enqueued.

    Of a job that never settled the journal holds no deadline; it is taken as the latest that its class declares.
    """
    outcomes, decisions = tables["outcome"], tables["decision"]
    settled = outcomes[~outcomes["duplicate"].astype(bool)]
    columns = ("enqueued_at", "dequeued_at", "finished_at", "deadline_at")
    times = zip(*(settled[column] - start_at for column in columns), strict=True)
    stays = [QueuedJob(str(name), *map(float, each)) for name, each in zip(settled["job_class"], times, strict=True)]
    left = decisions[decisions["job_id"].notna() & ~decisions["job_id"].isin(settled["job_id"])]
    for name, at in zip(left["job_class"], left["at"] - start_at, strict=True):
        stays.append(QueuedJob(str(name), float(at), math.inf, math.inf, float(at) + _latest_deadline(scenario, name)))
    return sorted(stays, key=lambda job: job.enqueued_s)


def _latest_deadline(scenario: Scenario, job_class: str) -> float:
    declared = scenario.workload.classes.get(job_class)
    if declared is None:
        return math.inf
    return declared.deadline.high if isinstance(declared.deadline, UniformDeadline) else declared.deadline


def negative_slack(
    jobs: Iterable[QueuedJob], estimates: Estimates, slots: Timeline, moments_s: Iterable[float]
) -> Timeline:
    """At each moment, in order, the share of the queued jobs with negative projected slack; 0 of an empty queue."""
    return Timeline.of_pairs(_shares(list(jobs), estimates, slots, moments_s))


def _shares(
    jobs: list[QueuedJob], estimates: Estimates, slots: Timeline, moments_s: Iterable[float]
) -> Iterator[tuple[float, float]]:
    present: list[QueuedJob] = []
    entered = 0
    for second in moments_s:
        while entered < len(jobs) and jobs[entered].enqueued_s <= second:
            present.append(jobs[entered])
            entered += 1
        present = [job for job in present if job.finished_s > second]
        yield second, _share(present, estimates, slots.last(second), second)


def _share(present: list[QueuedJob], estimates: Estimates, slots: float, second: float) -> float:
    expected = {name: estimates.at(name, second) for name in {job.job_class for job in present}}
    queued = [job for job in present if job.dequeued_s > second]
    ahead_s = sum(expected[job.job_class] for job in present if job.dequeued_s <= second)
    negative = 0
    for job in queued:
        wait_s = ahead_s / slots if slots > 0 else math.inf
        negative += job.deadline_s < second + wait_s + expected[job.job_class]
        ahead_s += expected[job.job_class]
    return negative / len(queued) if queued else 0.0
