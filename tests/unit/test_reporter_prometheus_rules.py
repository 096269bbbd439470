import pytest
from ruamel.yaml import YAML

from lab.contract.loading import parse_scenario
from lab.reporter.prometheus_rules import prometheus_duration, rules_file
from tests.journals import SMALL

AROUND = "severity: page, action: Look."
SHEDDING = 'sum(rate(gate_requests_total{decision="shed"}[60s])) / sum(rate(gate_requests_total[60s])) > 0.05'
FAULTY = 'max(max_over_time(lab_fault_active{kind!~"noop|policy|mode"}[60s])) > 0'


def expr(alert: str) -> str:
    scenario = parse_scenario(SMALL + f"alerts:\n  - {{name: a, {alert}, {AROUND}}}\n", "small")
    rule = YAML(typ="safe").load(rules_file(scenario))["groups"][0]["rules"][0]
    return str(rule["expr"])


@pytest.mark.parametrize(
    ("alert", "expected"),
    [
        ("signal: queue_age, threshold: 1500ms", "max(gate_queue_oldest_age_seconds) > 1.5"),
        (
            "signal: p95_turnaround, threshold: 45s, window: 5m",
            "histogram_quantile(0.95, sum by (le) (rate(job_turnaround_seconds_bucket[300s]))) > 45",
        ),
        (
            "signal: rejection_rate, threshold: 5%",
            SHEDDING,
        ),
        (
            "signal: drift, window: 60s",
            "max(gate_expected_service_seconds / min_over_time(gate_expected_service_seconds[60s])) > 2",
        ),
        (
            "signal: shed_without_fault, threshold: 5%, window: 1m",
            f"({SHEDDING}) unless ({FAULTY})",
        ),
        (
            "signal: queue_depth, threshold: 3, only_when: {signal: utilization, threshold: 80%}",
            "(max(gate_queue_depth) > 3) and (max(gate_utilization_ratio) > 0.8)",
        ),
    ],
)
def test_each_kind_of_signal_as_an_expression(alert: str, expected: str) -> None:
    assert expr(alert) == expected


@pytest.mark.parametrize(("seconds", "text"), [(0, "0s"), (120, "120s"), (1.5, "1500ms"), (0.0001, "1ms")])
def test_durations_are_written_as_prometheus_reads_them(seconds: float, text: str) -> None:
    assert prometheus_duration(seconds) == text


def test_what_a_user_wrote_cannot_become_a_template_or_another_key() -> None:
    hostile = '"{{ $labels }}: \\"x\\"\\n- alert: evil"'
    text = SMALL + f"alerts:\n  - {{name: a, signal: drift, severity: warn, action: {hostile}}}\n"
    rules = YAML(typ="safe").load(rules_file(parse_scenario(text, "small")))["groups"][0]["rules"]
    assert len(rules) == 1
    assert rules[0]["annotations"]["action"] == '{{ "{{" }} $labels }}: "x"\n- alert: evil'


def test_above_a_rule_that_looks_for_faults_stands_who_tells_of_them_and_how_to_silence_it() -> None:
    other = f"  - {{name: other, signal: drift, {AROUND}}}\n"
    shed = "signal: shed_without_fault, threshold: 5%"
    alone = f"  - {{name: tight, {shed}, {AROUND}}}\n"
    joined = f"  - {{name: joined, signal: queue_depth, threshold: 3, only_when: {{{shed}}}, {AROUND}}}\n"
    text = rules_file(parse_scenario(SMALL + f"alerts:\n{other}{alone}{joined}", "small"))
    lines = [line.strip() for line in text.splitlines()]
    above = [lines[lines.index(f"- alert: {name}") - 1] for name in ("other", "tight", "joined")]
    assert above == [
        "rules:",
        "#   amtool silence add alertname=tight --duration=30m --comment=rehearsal",
        "#   amtool silence add alertname=joined --duration=30m --comment=rehearsal",
    ]
    told = "# No lab service exports lab_fault_active. In production it is absent, so this rule looks at every shed."
    assert lines.count(told) == 2
    assert '#   echo \'lab_fault_active{fault="rehearsal",kind="latency"} 1\' |' in lines
