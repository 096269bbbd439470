"""The alerts as the page shows them: one group of rows per alert, one row per arm. Pure."""

from dataclasses import dataclass

from lab.contract.alert_spec import UNITS, AnyAlert, Condition
from lab.reporter.alerts import AlertReport, Firing
from lab.reporter.arm import ArmReport
from lab.reporter.wording import measured, signed

SIGNAL_WORDS = {
    "queue_age": "queue age",
    "queue_depth": "queue depth",
    "utilization": "utilization",
    "negative_slack_ratio": "queued jobs with negative slack",
    "provider_latency": "p95 provider latency",
    "p95_turnaround": "p95 turnaround",
    "p95_ttft": "p95 time to first token",
    "rejection_rate": "rejection rate",
    "refused_in_error_rate": "refused in error",
    "deadline_miss_rate": "deadline misses",
    "shed_without_fault": "rejection rate without a fault",
    "drift": "drift of a service time estimate",
}


@dataclass(frozen=True, slots=True)
class AlertCells:
    """What came of an alert on one arm, as text."""

    arm: str
    result: str
    times: str
    fired: str
    since_fault: str
    lead: str


@dataclass(frozen=True, slots=True)
class AlertRows:
    """One alert: what it says, and every arm."""

    name: str
    severity: str
    condition: str
    action: str
    arms: tuple[AlertCells, ...]


def alert_rows(arms: tuple[ArmReport, ...]) -> tuple[AlertRows, ...]:
    """Every declared alert, in the scenario's order; none where none is declared."""
    return tuple(
        AlertRows(
            name=alert.name.replace("_", " "),
            severity=alert.severity,
            condition=condition_words(alert),
            action=alert.action,
            arms=tuple(_cells(arm.name, arm.alerts[number]) for arm in arms),
        )
        for number, alert in enumerate(arms[0].header.scenario.alerts)
    )


def condition_words(alert: AnyAlert) -> str:
    """Such as `rejection rate > 5.0 % over 60 s for 300 s`."""
    only = "" if alert.only_when is None else f", and {_one(alert.only_when)}"
    return f"{_one(alert)}{only} for {alert.hold:g} s" if alert.hold else f"{_one(alert)}{only}"


def _one(condition: Condition) -> str:
    window = getattr(condition, "window", None)
    over = "" if window is None else f" over {window:g} s"
    limit = measured(condition.threshold, UNITS[condition.signal])
    return f"{SIGNAL_WORDS[condition.signal]} > {limit}{over}"


def _cells(arm: str, report: AlertReport) -> AlertCells:
    return AlertCells(
        arm=arm,
        result=report.result,
        times="; ".join([*map(_span, report.firings[1:]), *(f"false {_span(each)}" for each in report.false_alarms)]),
        fired=measured(report.fired_s, "s"),
        since_fault=measured(report.since_fault_s, "s"),
        lead=signed(report.lead_s, "s"),
    )


def _span(firing: Firing) -> str:
    end = "the end" if firing.ended_s is None else f"{firing.ended_s:g} s"
    return f"from {firing.began_s:g} s to {end}"
