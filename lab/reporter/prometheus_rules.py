"""A scenario's alerts as a Prometheus rules file. Pure; knows the exported metrics by name, and no journal.

    gate_queue_oldest_age_seconds, gate_queue_depth, gate_utilization_ratio, gate_queue_negative_slack_ratio,
    gate_expected_service_seconds{class}, gate_requests_total{decision="admit|degrade|shed|error"},
    gen_ai_client_operation_duration_seconds, job_turnaround_seconds, job_first_token_seconds (histograms),
    jobs_total{outcome}

and lab_fault_active{fault,kind}, which no lab service exports: whoever rehearses pushes it, and the file says so.
Every expression is one number without labels, so that two of them can be joined by `and`.
"""

import json
from collections.abc import Iterator

from lab.contract.alert_spec import AnyAlert, Condition, LatencyCondition, RateCondition
from lab.contract.scenario import Scenario
from lab.reporter.telemetry import NO_FAULT_KINDS

GAUGES = {
    "queue_age": "gate_queue_oldest_age_seconds",
    "queue_depth": "gate_queue_depth",
    "utilization": "gate_utilization_ratio",
    "negative_slack_ratio": "gate_queue_negative_slack_ratio",
}
HISTOGRAMS = {
    "provider_latency": "gen_ai_client_operation_duration_seconds",
    "p95_turnaround": "job_turnaround_seconds",
    "p95_ttft": "job_first_token_seconds",
}
# Of each share the counter, and the label that makes an event count.
COUNTERS = {
    "rejection_rate": ("gate_requests_total", 'decision="shed"'),
    "shed_without_fault": ("gate_requests_total", 'decision="shed"'),
    "refused_in_error_rate": ("gate_requests_total", 'decision="error"'),
    "deadline_miss_rate": ("jobs_total", 'outcome!="ok"'),
}
ESTIMATE = "gate_expected_service_seconds"
FAULT = "lab_fault_active"
# Above each rule that looks for it, since nothing else would tell its reader.
NO_FAULT_TOLD = (
    f"No lab service exports {FAULT}. In production it is absent, so this rule looks at every shed.",
    "In a rehearsal push it yourself, 1 as a fault begins and 0 as it ends, or silence the rule:",
    f'  echo \'{FAULT}{{fault="rehearsal",kind="latency"}} 1\' |',
    "    curl --data-binary @- http://PUSHGATEWAY/metrics/job/rehearsal",
    "  amtool silence add alertname=ALERT --duration=30m --comment=rehearsal",
)
MS_PER_S = 1000


def rules_file(scenario: Scenario) -> str:
    """The rules file's text, as YAML: one group, one rule per alert, in the scenario's order."""
    rules = [line for alert in scenario.alerts for line in _rule(alert, scenario.name)]
    return "\n".join(
        [
            "groups:",
            f"  - name: shedlab-{scenario.name}",
            f"    interval: {prometheus_duration(scenario.alert_interval)}",
            "    rules:",
            *rules,
            "",
        ]
    )


def _rule(alert: AnyAlert, scenario_name: str) -> Iterator[str]:
    if FAULT in expression(alert):
        yield from (f"      # {line.replace('ALERT', alert.name)}" for line in NO_FAULT_TOLD)
    # JSON's strings are YAML's, whatever is in them.
    yield f"      - alert: {alert.name}"
    yield f"        expr: {json.dumps(expression(alert))}"
    yield f"        for: {prometheus_duration(alert.hold)}"
    yield "        labels:"
    yield f"          severity: {alert.severity}"
    yield f"          scenario: {scenario_name}"
    yield "        annotations:"
    yield f"          action: {json.dumps(_untemplated(alert.action), ensure_ascii=False)}"


def _untemplated(text: str) -> str:
    """Prometheus reads annotations as templates, which a user's braces must not be."""
    return text.replace("{{", '{{ "{{" }}')


def expression(alert: AnyAlert) -> str:
    """When the alert is pending, as PromQL."""
    if alert.only_when is None:
        return _condition(alert)
    return f"({_condition(alert)}) and ({_condition(alert.only_when)})"


def _condition(condition: Condition) -> str:
    above = f"{_signal(condition)} > {condition.threshold:.12g}"
    if not isinstance(condition, RateCondition) or condition.signal != "shed_without_fault":
        return above
    window, kinds = prometheus_duration(condition.window), "|".join(NO_FAULT_KINDS)
    return f'({above}) unless (max(max_over_time({FAULT}{{kind!~"{kinds}"}}[{window}])) > 0)'


def _signal(condition: Condition) -> str:
    if condition.signal in GAUGES:
        return f"max({GAUGES[condition.signal]})"
    window = prometheus_duration(getattr(condition, "window", 0.0))
    if isinstance(condition, LatencyCondition):
        return f"histogram_quantile(0.95, sum by (le) (rate({HISTOGRAMS[condition.signal]}_bucket[{window}])))"
    if isinstance(condition, RateCondition):
        name, label = COUNTERS[condition.signal]
        return f"sum(rate({name}{{{label}}}[{window}])) / sum(rate({name}[{window}]))"
    return f"max({ESTIMATE} / min_over_time({ESTIMATE}[{window}]))"


def prometheus_duration(seconds: float) -> str:
    """A duration as Prometheus reads it, in whole seconds or milliseconds; at least 1 ms unless it is 0."""
    ms = max(round(seconds * MS_PER_S), 1) if seconds > 0 else 0
    return f"{ms}ms" if ms % MS_PER_S else f"{ms // MS_PER_S}s"
