"""report.json and comparison.csv: the report for programs. Pure: values in, text out.

JSON knows no infinity: an infinite number is the text "infinite" in both, and what is not known or was not measured is
null, in the CSV an empty cell. A recovery time is a number, "never" (not within the drill), "nothing_to_recover_from",
or null where too few jobs came after the fault to tell.
"""

import csv
import io
import json
import math
from typing import Any

from lab.contract.scenario import Scenario
from lab.reporter.alerts import AlertReport, Firing
from lab.reporter.arm import ArmReport
from lab.reporter.catalogue import CATALOGUE
from lab.reporter.claims import ClaimReport, claim_reports
from lab.reporter.comparison import by_policy, judge_together
from lab.reporter.doubt_groups import DoubtGroup
from lab.reporter.interval import Interval
from lab.reporter.measures import PhaseMeasures
from lab.reporter.recovery import nothing_to_recover_from
from lab.reporter.rollback import Rollback

DECIMALS = 6
RECOVERY_PHASES = ("recovery", "all")
SURE = ("slo_interval_low_s", "slo_interval_high_s", "too_close")


def report_json(arms: tuple[ArmReport, ...], doubts: tuple[DoubtGroup, ...]) -> str:
    """The whole report as JSON, in the shape that DESIGN.md fixes."""
    header = arms[0].header
    document = {
        "scenario": header.scenario_name,
        "scenario_sha256": header.scenario_sha256,
        "run_id": header.run_id,
        "runtime": header.runtime,
        "endpoint": header.endpoint,
        "sandbox_observation": header.is_sandbox,
        "speed": header.speed,
        "seed": header.seed,
        "valid": is_valid(arms, doubts),
        "slo": {
            "measure": header.scenario.slo.measure,
            "percentile": header.scenario.slo.percentile,
            "within_s": header.scenario.slo.within,
            "phases": list(header.scenario.slo.phases),
        },
        "doubts": [
            {"code": doubt.code, "arms": list(doubt.arms), "sentence": doubt.sentence, "advice": doubt.advice}
            for doubt in doubts
        ],
        "policies": [_policy(letter, mine) for letter, mine in by_policy(arms).items()],
        "arms": [_arm(arm) for arm in arms],
        "claims": [_claim(report) for report in claim_reports(arms)],
    }
    return json.dumps(document, indent=2, allow_nan=False, ensure_ascii=False) + "\n"


def is_valid(arms: tuple[ArmReport, ...], doubts: tuple[DoubtGroup, ...]) -> bool:
    """Whether the numbers may be compared: no arm is void and no generator was late."""
    return not any(arm.void for arm in arms) and not any(doubt.code == "generator_late" for doubt in doubts)


def _claim(report: ClaimReport) -> dict[str, Any]:
    claim = report.claim
    return {
        "policy": claim.policy,
        "repeat": report.repeat,
        "measure": claim.measure,
        "phase": claim.phase,
        "claimed": claim.value,
        "measured": _rounded(report.measured),
        "ruled_out": report.ruled_out,
        "why_ruled_out": report.why if report.ruled_out else "",
        "text": claim.text,
    }


def _arm(arm: ArmReport) -> dict[str, Any]:
    header, judgement, ledger = arm.header, arm.judgement, arm.ledger
    return {
        "policy": header.policy,
        "kind": header.kind,
        "mode": header.mode,
        "repeat": header.repeat,
        "verdict": judgement.verdict,
        "expected": judgement.expected,
        "as_expected": judgement.as_expected,
        "too_close": judgement.too_close,
        "void_reasons": list(arm.void_reasons),
        "ledger": {
            "offered": ledger.offered,
            "admitted": ledger.admitted,
            "shed": ledger.shed,
            "degraded": ledger.degraded,
            "refused_in_error": ledger.refused_in_error,
            "unanswered": ledger.unanswered,
            "unsent": ledger.unsent,
            "answer_lost": ledger.answer_lost,
            "duplicates": ledger.duplicates,
            "outcomes": ledger.outcomes,
            "degraded_outcomes": ledger.degraded_outcomes,
            "projected_shed": ledger.projected_shed,
            "hard_backoffs": ledger.hard_backoffs,
            "balanced": ledger.balanced,
            "discrepancies": list(ledger.discrepancies),
        },
        "phases": {name: _phase(phase) | _phase_of_arm(arm, name) for name, phase in arm.phases.items()},
        "classes": {
            job_class: {name: _phase(phase) for name, phase in phases.items()}
            for job_class, phases in arm.classes.items()
        },
        "slo_breach_s": _rounded(arm.moves.breach_s),
        "first_signal": arm.moves.first,
        "second_signal": arm.moves.second,
        "first_signal_ahead_s": _rounded(arm.moves.ahead_s),
        "signals": {
            crossing.signal: {
                "threshold": _rounded(crossing.threshold),
                "threshold_from": crossing.threshold_from,
                "crossed_s": _rounded(crossing.crossed_s),
                "since_fault_s": _rounded(crossing.since_fault_s),
                "lead_time_s": _rounded(crossing.lead_s),
                "false_alarm": crossing.false_alarm,
            }
            for crossing in arm.moves.crossings
        },
        "alerts": [_alert(alert) for alert in arm.alerts],
        "rollback": None if arm.rollback is None else _rollback(arm.rollback),
        "expectations": [
            {"name": check.name, "met": check.met, "sentence": check.sentence} for check in judgement.checks
        ],
        "host": {
            "cores": arm.host.cores,
            "busy_ratio": _rounded(arm.host.busy_ratio),
            "other_cpu_cores": _rounded(arm.host.other_cores),
            "cpu_pressure_ratio": _rounded(arm.host.pressure_ratio),
        },
        "schedule_sha256": header.schedule_sha256,
    }


def _policy(letter: str, arms: tuple[ArmReport, ...]) -> dict[str, Any]:
    """The verdict by the jobs of all repeats together."""
    together, percent = judge_together(arms), arms[0].header.scenario.slo.percentile
    return {
        "policy": letter,
        "repeats": sum(not arm.void for arm in arms),
        "verdict": together.verdict,
        "too_close": together.too_close,
        "phases": {
            phase.phase: {
                "slo_percentile_s": _rounded(phase.value_s),
                f"p{percent:g}_interval_s": _interval(phase.interval),
                "held": phase.held,
                "too_close": phase.too_close,
            }
            for phase in together.phases
        },
    }


def _phase_of_arm(arm: ArmReport, name: str) -> dict[str, Any]:
    """What a phase says of the arm as a whole and not of each class: how sure it is, and the recovery."""
    scenario, judged = arm.header.scenario, {phase.phase: phase.too_close for phase in arm.judgement.phases}
    return {
        f"p{scenario.slo.percentile:g}_interval_s": _interval(arm.judgement.intervals[name]),
        **({"too_close": judged[name]} if name in judged else {}),
        **({"recovery_time_s": _recovery(_recovery_s(arm, name), scenario)} if name in RECOVERY_PHASES else {}),
    }


def _recovery_s(arm: ArmReport, phase: str) -> float | None:
    return arm.phases[phase].numbers["recovery_time_s"]


def _alert(report: AlertReport) -> dict[str, Any]:
    declared = report.alert
    return {
        "name": declared.name,
        "signal": declared.signal,
        "severity": declared.severity,
        "threshold": declared.threshold,
        "for_s": declared.hold,
        "action": declared.action,
        "result": report.result,
        "fired_s": _rounded(report.fired_s),
        "since_fault_s": _rounded(report.since_fault_s),
        "lead_time_s": _rounded(report.lead_s),
        "firings": [_firing(each) for each in report.firings],
        "false_alarms": [_firing(each) for each in report.false_alarms],
    }


def _rollback(found: Rollback) -> dict[str, Any]:
    return {
        "change": found.change,
        "applied_s": _rounded(found.applied_s),
        "detected_by": found.detected_by,
        "detected_s": _rounded(found.detected_s),
        "time_to_detect_s": _rounded(found.time_to_detect_s),
        "reverted_by": found.reverted_by,
        "reverted_s": _rounded(found.reverted_s),
        "time_to_revert_s": _rounded(found.time_to_revert_s),
        "exposed_s": _rounded(found.exposed_s),
        "shed_count": found.shed_count,
        "shed_wrongly_count": found.shed_wrongly_count,
    }


def _firing(firing: Firing) -> dict[str, float | str | None]:
    return {"began_s": _rounded(firing.began_s), "ended_s": _rounded(firing.ended_s)}


def _phase(phase: PhaseMeasures) -> dict[str, Any]:
    numbers: dict[str, Any] = {"start_s": phase.span.start_s, "end_s": phase.span.end_s}
    numbers |= {name: _rounded(value) for name, value in phase.numbers.items()}
    return numbers | {
        name: {reason: _rounded(share) for reason, share in shares.items()}
        for name, shares in (
            ("shed_by_reason", phase.shed_by_reason),
            ("degraded_by_reason", phase.degraded_by_reason),
            ("projected_by_reason", phase.projected_by_reason),
        )
    }


def _interval(interval: Interval) -> list[float | str | None]:
    return [_rounded(interval.low_s), _rounded(interval.high_s)]


def _recovery(value_s: float | None, scenario: Scenario) -> float | str | None:
    if value_s is None:
        return "nothing_to_recover_from" if nothing_to_recover_from(scenario) else None
    return "never" if math.isinf(value_s) else _rounded(value_s)


def _rounded(value: float | None) -> float | str | None:
    if value is not None and math.isinf(value):
        return "infinite" if value > 0 else "-infinite"
    return value if value is None or isinstance(value, int) else round(value, DECIMALS)


def comparison_csv(arms: tuple[ArmReport, ...]) -> str:
    """One line per arm and phase, with every measure of the catalogue."""
    written = io.StringIO()
    table = csv.writer(written, lineterminator="\n")
    names = [measure.name for measure in CATALOGUE]
    table.writerow(["policy", "kind", "mode", "repeat", "verdict", "expected", "phase", *names, *SURE])
    for arm in arms:
        header, judgement = arm.header, arm.judgement
        who = [header.policy, header.kind, header.mode, header.repeat, judgement.verdict, judgement.expected or ""]
        for name, phase in arm.phases.items():
            numbers = _phase(phase) | _phase_of_arm(arm, name)
            numbers |= dict(zip(SURE, _interval(judgement.intervals[name]), strict=False))
            table.writerow([*who, name, *(_cell(numbers.get(column)) for column in (*names, *SURE))])
    return written.getvalue()


def _cell(value: float | str | bool | None) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else str(value)
