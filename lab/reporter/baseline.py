"""What a run's baseline measured of the service, for thresholds to be derived from. Reads journals; judges nothing."""

from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from lab.contract.journal import JOURNAL_NAME
from lab.reporter.arm import report_arm, start_at_of
from lab.reporter.errors import ReportError
from lab.reporter.header import Header
from lab.reporter.measures import DONE
from lab.reporter.percentile import percentile
from lab.reporter.read import Journal, read_arm

LEAST_JOBS = 20


@dataclass(frozen=True, slots=True)
class Baseline:
    """Service as measured before any fault, in seconds at SPEED 1; `endpoint_s` is the endpoint's part in the SLO."""

    run_id: str
    job_count: int
    mean_service_s: float
    p95_service_s: float
    endpoint_s: float
    p95_wait_s: float


def read_baseline(run_dir: Path, scenario_name: str) -> Baseline:
    """The baseline of all arms of a run of this scenario together, but for void arms, of which nothing counts.

    Raises:
        ReportError: there is no such run, it played another scenario, all of its arms are void, or fewer than
            LEAST_JOBS jobs were done in its baseline.
    """
    journals = [read_arm(path.parent) for path in sorted(run_dir.glob(f"*/{JOURNAL_NAME}"))]
    known = [(journal, journal.header) for journal in journals if journal.header is not None]
    if not known:
        raise ReportError(f"{run_dir}: no journal of this run can be read, so nothing can be derived from it")
    played = known[0][1].scenario_name
    if played != scenario_name:
        raise ReportError(f"{run_dir}: this is a run of {played}; nothing can be derived from it for {scenario_name}")
    jobs = pd.concat([_done(journal, header) for journal, header in _counting(run_dir, known)])
    if len(jobs) < LEAST_JOBS:
        raise ReportError(
            f"{run_dir}: {len(jobs)} jobs were done in its baseline; at least {LEAST_JOBS} are needed to derive from"
        )
    header = known[0][1]
    speed, slo = header.speed, header.scenario.slo
    part = jobs["ttft_s"] if slo.measure == "ttft" else jobs["slot_s"]
    return Baseline(
        run_id=header.run_id,
        job_count=len(jobs),
        mean_service_s=float(jobs["slot_s"].mean()) * speed,
        p95_service_s=(percentile(jobs["slot_s"], 95) or 0.0) * speed,
        endpoint_s=(percentile(part, slo.percentile) or 0.0) * speed,
        p95_wait_s=(percentile(jobs["wait_s"], 95) or 0.0) * speed,
    )


def _counting(run_dir: Path, known: list[tuple[Journal, Header]]) -> list[tuple[Journal, Header]]:
    """The arms that are not void."""
    reports = [report_arm(journal, header) for journal, header in known]
    counting = [pair for pair, report in zip(known, reports, strict=True) if not report.void]
    if not counting:
        raise ReportError(
            f"{run_dir}: all arms of this run are void, so nothing can be derived from it; of {reports[0].name}, "
            f"{reports[0].void_reasons[0]}"
        )
    return counting


def _done(journal: Journal, header: Header) -> pd.DataFrame:
    """Service, endpoint's first token and wait of the jobs that were done and left the queue in the baseline."""
    outcomes = journal.tables["outcome"]
    begin_s, end_s = header.scenario.phase_windows().get("baseline", (0.0, 0.0))
    seconds = outcomes["dequeued_at"] - start_at_of(journal)
    chosen = outcomes[
        outcomes["outcome"].isin(DONE)
        & ~outcomes["duplicate"].astype(bool)
        & seconds.ge(begin_s)
        & (outcomes["finished_at"] - start_at_of(journal)).lt(end_s)
    ]
    return pd.DataFrame(
        {
            "slot_s": chosen["slot_s"],
            "ttft_s": chosen["first_token_at"] - chosen["dequeued_at"],
            "wait_s": chosen["dequeued_at"] - chosen["enqueued_at"],
        }
    )
