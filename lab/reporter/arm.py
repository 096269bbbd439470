"""One arm from its journal: the book, the numbers, the verdict, the doubts. Pure."""

from dataclasses import dataclass
from typing import Any

import pandas as pd

from lab.reporter.alerts import AlertReport, Causes, evaluate_alerts
from lab.reporter.doubts import Doubt, Evidence, find_doubts
from lab.reporter.header import Header
from lab.reporter.host import HostLoad, host_load
from lab.reporter.ledger import Ledger, balance
from lab.reporter.measures import (
    PhaseMeasures,
    Span,
    measure_classes,
    measure_phases,
    phase_of,
    spans_of,
    timed,
)
from lab.reporter.read import Journal
from lab.reporter.rollback import Rollback, measure_rollback
from lab.reporter.series import Series, series_of
from lab.reporter.signals import FirstMoves, first_moves, slo_breach_s
from lab.reporter.telemetry import telemetry_of
from lab.reporter.verdict import Judgement, judge


@dataclass(frozen=True, slots=True)
class Moment:
    """Something on the arm's timeline; seconds after the first due time. `ok` is False where it went wrong."""

    name: str
    what: str
    intended_s: float | None
    actual_s: float
    ok: bool
    detail: str
    touched_connections: int | None


@dataclass(frozen=True, slots=True)
class ArmReport:
    """All that the report says of one arm."""

    name: str
    header: Header
    ledger: Ledger
    void_reasons: tuple[str, ...]
    judgement: Judgement
    spans: tuple[Span, ...]
    phases: dict[str, PhaseMeasures]
    classes: dict[str, dict[str, PhaseMeasures]]
    moves: FirstMoves
    alerts: tuple[AlertReport, ...]
    rollback: Rollback | None
    doubts: tuple[Doubt, ...]
    moments: tuple[Moment, ...]
    series: Series
    capacity: dict[str, Any] | None
    host: HostLoad
    breakdown_s: dict[str, float]

    @property
    def void(self) -> bool:
        """Whether nothing of this arm counts."""
        return bool(self.void_reasons)


def report_arm(journal: Journal, header: Header) -> ArmReport:
    """Everything of one arm. `header` stands in where the journal's own could not be read."""
    scenario, tables = header.scenario, journal.tables
    start_at = start_at_of(journal)
    spans = spans_of(scenario)
    book = balance(tables, header.schedule_count)
    jobs = timed(book.jobs, start_at, spans)
    signals = _placed(tables["signals"], start_at, spans)
    phases = measure_phases(jobs, signals, scenario, spans)
    void_reasons = _void_reasons(journal, book.ledger)
    telemetry = telemetry_of(tables, scenario, start_at)
    causes = Causes(_injected_s(tables["fault"], start_at), slo_breach_s(jobs, scenario, 0.0))
    alerts, capacity = evaluate_alerts(scenario, telemetry, causes), _capacity(tables["check"])
    host = host_load(tables["host"], header.host, start_at, spans[-1].end_s)
    evidence = Evidence(scenario, spans, start_at, jobs, tables, phases, book.ledger, host)
    return ArmReport(
        name=journal.name,
        header=header,
        ledger=book.ledger,
        void_reasons=void_reasons,
        judgement=judge(phases, scenario, header.policy, void=bool(void_reasons)),
        spans=spans,
        phases=phases,
        classes=measure_classes(jobs, scenario, spans),
        moves=first_moves(
            jobs, tables, scenario, header.policy, start_at, slack=telemetry.gauges["negative_slack_ratio"]
        ),
        alerts=alerts,
        rollback=measure_rollback(tables["fault"], jobs, alerts, capacity, start_at),
        doubts=find_doubts(journal.name, evidence),
        moments=_moments(journal, start_at),
        series=series_of(jobs, signals, scenario.workload.duration),
        capacity=capacity,
        host=host,
        breakdown_s=_breakdown(tables["breakdown"]),
    )


def start_at_of(journal: Journal) -> float:
    """When the first request was due, in unix seconds; where the journal does not say, the first due of all."""
    started, requests = journal.tables["schedule_start"], journal.tables["request"]
    if not started.empty:
        return float(started["start_at"].iloc[0])
    return 0.0 if requests.empty else float(requests["due_at"].min())


def _injected_s(faults: pd.DataFrame, start_at: float) -> float | None:
    """When the first step of the timeline was applied; a control changes nothing."""
    applied = faults.loc[faults["action"].eq("inject") & faults["kind"].ne("noop"), "applied_at"]
    return None if applied.empty else float(applied.min()) - start_at


def _void_reasons(journal: Journal, ledger: Ledger) -> tuple[str, ...]:
    """Why the arm does not count: damage first, then what the runner said, then the book."""
    checks = journal.tables["check"]
    failed = checks.loc[checks["name"].eq("arm") & ~checks["ok"].astype(bool), "detail"]
    reasons = [f"its journal is damaged: {journal.damage}"] if journal.damage else []
    reasons += [f"the drill stopped: {detail}" for detail in failed]
    if not journal.tables["phase"]["phase"].eq("done").any():
        reasons.append("its journal is incomplete: the drill did not come to its end")
    elif journal.tables["schedule_start"].empty:
        reasons.append("its journal is incomplete: nothing says when the schedule started")
    return tuple(reasons + [f"its book does not balance: {sentence}" for sentence in ledger.discrepancies])


def _placed(signals: pd.DataFrame, start_at: float, spans: tuple[Span, ...]) -> pd.DataFrame:
    """The samples since the first due time, each in its phase; the drain counts to the last."""
    signals = signals.assign(second=signals["at"] - start_at)
    signals = signals[signals["second"].ge(0)].sort_values("second")
    return signals.assign(phase=phase_of(signals["second"], spans))


def _moments(journal: Journal, start_at: float) -> tuple[Moment, ...]:
    faults = [
        Moment(
            name=fault["name"],
            what=fault["action"].replace("_", " "),
            intended_s=fault["intended_at"] - start_at,
            actual_s=fault["applied_at"] - start_at,
            ok=bool(fault["ok"]),
            detail=fault["detail"],
            touched_connections=None if pd.isna(fault["touched_connections"]) else int(fault["touched_connections"]),
        )
        for fault in journal.tables["fault"].to_dict("records")
    ]
    exits = [
        Moment(
            name=end["service"],
            what="ended by itself",
            intended_s=None,
            actual_s=end["at"] - start_at,
            ok=False,
            detail="exit code unknown" if pd.isna(end["code"]) else f"exit code {end['code']:.0f}",
            touched_connections=None,
        )
        for end in journal.tables["exit"].to_dict("records")
        if not end["expected"]
    ]
    edge = [
        Moment("edge", "checked", None, check["at"] - start_at, bool(check["ok"]), check["detail"], None)
        for check in journal.tables["check"].to_dict("records")
        if check["name"] == "edge"
    ]
    return tuple(sorted(faults + exits + edge, key=lambda moment: moment.actual_s))


def _capacity(checks: pd.DataFrame) -> dict[str, Any] | None:
    found = checks.loc[checks["name"].eq("capacity"), "evidence"]
    evidence = None if found.empty else found.iloc[0]
    return evidence if isinstance(evidence, dict) else None


def _breakdown(table: pd.DataFrame) -> dict[str, float]:
    # Older journals tell of no waiting.
    told = table.tail(1).dropna(axis="columns").to_dict("records")
    return {str(name): float(value) for name, value in told[0].items()} if told else {}
