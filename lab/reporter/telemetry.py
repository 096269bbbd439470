"""What one who watched the arm through its metrics would have seen, rebuilt from the journal. Pure.

Gauges hold their last value. Arrivals, settled jobs and latencies are events that a window counts; an event is seen
when its service said so: an arrival when it was decided, a job when it settled, an attempt when it ended.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass

import pandas as pd

from lab.contract.scenario import Scenario
from lab.reporter.queue_walk import DONE, estimates_of, negative_slack, queued_jobs
from lab.reporter.read import Tables
from lab.reporter.timeline import Timeline

# Steps on the timeline that no provider causes.
NO_FAULT_KINDS = ("noop", "policy", "mode")
# So many moments of the queue are looked at; more would show nothing that a page can.
MOST_MOMENTS = 600
MS_PER_S = 1000
# The mean of fewer service times moves by chance alone.
LEAST_SERVICES = 10


@dataclass(frozen=True, slots=True)
class Telemetry:
    """One arm over time, from the first due request to `end_s`.

    `gauges`, `shares` and `samples` are by the signal's name in `lab.contract.alert_spec`; of a share's events each is
    1 where it counts and 0 where not. `estimates` holds each class's service time estimate, `faults` when each acted.
    """

    end_s: float
    gauges: dict[str, Timeline]
    shares: dict[str, Timeline]
    samples: dict[str, Timeline]
    estimates: dict[str, Timeline]
    faults: tuple[tuple[float, float], ...]


def telemetry_of(tables: Tables, scenario: Scenario, start_at: float) -> Telemetry:
    """The telemetry of one arm's journal."""
    signals, decisions, settled = tables["signals"], tables["decision"], _firsts(tables["outcome"])
    seconds = signals["at"] - start_at
    done = settled[settled["outcome"].isin(DONE)]
    ended, first = done["finished_at"] - start_at, done["first_token_at"] - done["enqueued_at"]
    attempts = tables["attempt"]
    attempted = attempts["started_at"] + attempts["endpoint_latency_s"] - start_at
    return Telemetry(
        end_s=max([scenario.workload.duration, *(float(each.max()) for each in (seconds, ended) if len(each))]),
        gauges={
            "queue_age": Timeline.of(seconds, signals["queue_age_s"]),
            "queue_depth": Timeline.of(seconds, signals["queue_depth"]),
            "utilization": Timeline.of(seconds, signals["utilization_ratio"]),
            "negative_slack_ratio": _negative_slack(tables, scenario, start_at),
        },
        shares={
            **_arrivals(decisions, tables["refusal"], start_at),
            "deadline_miss_rate": Timeline.of(
                settled["finished_at"] - start_at, settled["outcome"].ne("ok").astype(float)
            ),
        },
        samples={
            "provider_latency": Timeline.of(attempted, attempts["endpoint_latency_s"]),
            "p95_turnaround": Timeline.of(ended, done["finished_at"] - done["enqueued_at"]),
            "p95_ttft": Timeline.of(ended, first),
        },
        estimates=_estimates(decisions, tables["outcome"], start_at),
        faults=tuple(fault_spans(tables["fault"], start_at)),
    )


def _firsts(outcomes: pd.DataFrame) -> pd.DataFrame:
    return outcomes[~outcomes["duplicate"].astype(bool)]


def _negative_slack(tables: Tables, scenario: Scenario, start_at: float) -> Timeline:
    signals = tables["signals"].sort_values("at")
    slots = Timeline.of(signals["at"] - start_at, signals["slots"])
    every = math.ceil(len(slots.seconds) / MOST_MOMENTS) or 1
    moments = slots.seconds[::every]
    return negative_slack(
        queued_jobs(tables, scenario, start_at), estimates_of(tables["outcome"], start_at), slots, moments
    )


def _arrivals(decisions: pd.DataFrame, refusals: pd.DataFrame, start_at: float) -> dict[str, Timeline]:
    """Every arrival that the gate answered, with what it said."""
    said = pd.DataFrame({"second": decisions["at"] - start_at, "shed": decisions["decision"].eq("shed")})
    said["refused"] = False
    errors = pd.DataFrame({"second": refusals["at"] - start_at, "shed": False, "refused": True})
    both = pd.concat([said, errors]) if len(errors) else said
    shed = Timeline.of(both["second"], both["shed"].astype(float))
    return {
        "rejection_rate": shed,
        "shed_without_fault": shed,
        "refused_in_error_rate": Timeline.of(both["second"], both["refused"].astype(float)),
    }


def _estimates(decisions: pd.DataFrame, outcomes: pd.DataFrame, start_at: float) -> dict[str, Timeline]:
    """What the gate said it expected of each class; where its policy estimates nothing, what the outcomes allow."""
    said = decisions[decisions["est_service_ms"].notna()]
    if said.empty:
        return estimates_of(outcomes, start_at, LEAST_SERVICES).by_class
    return {
        str(name): Timeline.of(part["at"] - start_at, part["est_service_ms"] / MS_PER_S)
        for name, part in said.groupby("job_class")
    }


def fault_spans(faults: pd.DataFrame, start_at: float) -> Iterable[tuple[float, float]]:
    """When each fault acted, switches of policy and controls left out; infinite where it was not undone."""
    undone = {
        fault["name"]: float(fault["applied_at"]) - start_at
        for fault in faults[faults["action"].eq("revert")].to_dict("records")
    }
    for fault in faults[faults["action"].eq("inject") & ~faults["kind"].isin(NO_FAULT_KINDS)].to_dict("records"):
        yield float(fault["applied_at"]) - start_at, undone.get(fault["name"], math.inf)
