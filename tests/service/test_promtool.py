"""Prometheus itself on the rules files: their syntax, and when they fire on a run's own series."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.contract.alert_spec import LatencyCondition
from lab.contract.loading import load_scenario, parse_scenario
from lab.contract.scenario import Scenario
from lab.reporter.alerts import evaluation_times, firings, truths
from lab.reporter.prometheus_rules import COUNTERS, ESTIMATE, FAULT, GAUGES, HISTOGRAMS, prometheus_duration, rules_file
from lab.reporter.read import read_arm
from lab.reporter.telemetry import Telemetry, telemetry_of
from lab.reporter.timeline import Timeline
from tests.journals import SCENARIOS, SMALL, START_AT, arm_events, small, write_arm

# Thresholds of latencies are bounds of the histograms' buckets, where both count the same jobs.
ALERTS = """\
alert_interval: 500ms
alerts:
  - {name: old, signal: queue_age, threshold: 300ms, for: 1s, severity: warn, action: Look.}
  - {name: old, signal: queue_age, threshold: 1s, for: 1500ms, severity: page, action: Look.}
  - {name: deep, signal: queue_depth, threshold: 2, severity: warn, action: Look.}
  - {name: busy, signal: utilization, threshold: 70%, for: 2s, severity: warn, action: Look.}
  - {name: hopeless, signal: negative_slack_ratio, threshold: 5%, severity: page, action: Look.}
  - {name: slow, signal: provider_latency, threshold: 1s, window: 3s, severity: page, action: "Look {{ here }}."}
  - {name: turnaround, signal: p95_turnaround, threshold: 2s, window: 3s, severity: page, action: Look.}
  - {name: first_token, signal: p95_ttft, threshold: 1s, window: 2500ms, severity: page, action: Look.}
  - {name: shedding, signal: rejection_rate, threshold: 7%, for: 1s, window: 4s, severity: page, action: Look.}
  - {name: errors, signal: refused_in_error_rate, threshold: 1%, window: 4s, severity: page, action: Look.}
  - {name: missing, signal: deadline_miss_rate, threshold: 3%, window: 4s, severity: page, action: Look.}
  - {name: too_tight, signal: shed_without_fault, threshold: 7%, window: 1s, severity: page, action: Look.}
  - {name: drift, signal: drift, threshold: 1.4, window: 5s, severity: warn, action: Look.}
  - name: both
    signal: queue_age
    threshold: 200ms
    severity: page
    action: Look.
    only_when: {signal: rejection_rate, threshold: 7%, window: 4s}
"""
EXPECTED_TO_FIRE = {
    "old",
    "deep",
    "busy",
    "slow",
    "turnaround",
    "first_token",
    "shedding",
    "too_tight",
    "drift",
    "both",
}


@pytest.fixture(scope="module")
def promtool() -> str:
    path = os.environ.get("LAB_PROMTOOL") or shutil.which("promtool")
    if path is None:
        if os.environ.get("LAB_REQUIRE_PROMTOOL") == "1":
            pytest.fail("LAB_REQUIRE_PROMTOOL=1 and there is no promtool on PATH; Debian's package is prometheus")
        pytest.skip("no promtool on PATH; Debian's package is prometheus")
    return path


def run(*words: str) -> str:
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def check(promtool: str, scenario: Scenario, folder: Path) -> str:
    file = folder / f"{scenario.name}.rules.yaml"
    file.write_text(rules_file(scenario))
    return run(promtool, "check", "rules", str(file))


def test_promtool_accepts_every_signals_rule(promtool: str, tmp_path: Path) -> None:
    assert "14 rules found" in check(promtool, parse_scenario(SMALL + ALERTS, "small"), tmp_path)


@pytest.mark.parametrize("path", sorted(SCENARIOS.glob("*.yaml")), ids=lambda path: path.stem)
def test_promtool_accepts_the_rules_of_every_shipped_scenario(promtool: str, path: Path, tmp_path: Path) -> None:
    scenario = load_scenario(path).scenario
    if scenario.alerts:
        assert f"{len(scenario.alerts)} rules found" in check(promtool, scenario, tmp_path)


def test_promtool_and_the_report_agree_on_when_every_alert_of_a_run_fires(promtool: str, tmp_path: Path) -> None:
    scenario, text = small(SMALL + ALERTS)
    write_arm(tmp_path, "B-1", arm_events(scenario, text, "B", rate_per_s=3.0))
    telemetry = telemetry_of(read_arm(tmp_path / "B-1").tables, scenario, START_AT)
    expected = firing_at(scenario, telemetry)
    assert {name for name, _, moments in expected if any(moments)} >= EXPECTED_TO_FIRE
    (tmp_path / "rules.yaml").write_text(rules_file(scenario))
    (tmp_path / "test.yaml").write_text("\n".join(rule_test(scenario, telemetry, expected)))
    assert "SUCCESS" in run(promtool, "test", "rules", str(tmp_path / "test.yaml"))


Expected = list[tuple[str, str, list[bool]]]


def firing_at(scenario: Scenario, telemetry: Telemetry) -> Expected:
    """Per alert whether it fires, at each evaluation."""
    grid = evaluation_times(scenario, telemetry)
    found: Expected = []
    for alert in scenario.alerts:
        fired = firings(grid, truths(alert, telemetry, grid), alert.hold)
        spans = [(each.began_s, grid[-1] + 1 if each.ended_s is None else each.ended_s) for each in fired]
        found.append((alert.name, alert.severity, [any(a <= second < b for a, b in spans) for second in grid]))
    return found


def rule_test(scenario: Scenario, telemetry: Telemetry, expected: Expected) -> Iterator[str]:
    """A file of promtool's: the series as scraped at every evaluation, and which alerts fire at each."""
    grid = evaluation_times(scenario, telemetry)
    interval = prometheus_duration(scenario.alert_interval)
    yield f"rule_files: [rules.yaml]\nevaluation_interval: {interval}\ntests:\n  - interval: {interval}"
    yield "    input_series:"
    for name, values in series(scenario, telemetry, grid):
        yield f"      - series: '{name}'\n        values: '{' '.join(values)}'"
    yield "    alert_rule_test:"
    for name in dict.fromkeys(name for name, _, _ in expected):
        for number, second in enumerate(grid):
            severities = [severity for other, severity, moments in expected if other == name and moments[number]]
            yield f"      - {{eval_time: {prometheus_duration(second)}, alertname: {name}, exp_alerts: ["
            for severity in severities:
                labels = f"exp_labels: {{severity: {severity}, scenario: {scenario.name}}}"
                yield f'          {{{labels}, exp_annotations: {{action: "{action_of(scenario, name)}"}}}},'
            yield "        ]}"


def action_of(scenario: Scenario, name: str) -> str:
    return next(alert.action for alert in scenario.alerts if alert.name == name)


def series(scenario: Scenario, telemetry: Telemetry, grid: tuple[float, ...]) -> Iterator[tuple[str, Iterator[str]]]:
    for signal, name in GAUGES.items():
        yield f'{name}{{instance="gate-1"}}', scraped(telemetry.gauges[signal], grid)
    for job_class, estimate in telemetry.estimates.items():
        yield f'{ESTIMATE}{{class="{job_class}"}}', scraped(estimate, grid)
    for signal, kept in (("rejection_rate", "shed"), ("refused_in_error_rate", "error")):
        counted = [second for second, one in pairs(telemetry.shares[signal]) if one]
        yield f'gate_requests_total{{decision="{kept}"}}', counts(counted, grid)
    admitted = zip(
        pairs(telemetry.shares["rejection_rate"]), pairs(telemetry.shares["refused_in_error_rate"]), strict=True
    )
    yield (
        'gate_requests_total{decision="admit"}',
        counts([s for (s, shed), (_, bad) in admitted if not shed + bad], grid),
    )
    missed = pairs(telemetry.shares["deadline_miss_rate"])
    for outcome, wanted in (("ok", 0.0), ("late", 1.0)):
        yield (
            f'{COUNTERS["deadline_miss_rate"][0]}{{outcome="{outcome}"}}',
            counts([second for second, one in missed if one == wanted], grid),
        )
    for signal, name in HISTOGRAMS.items():
        bounds = {alert.threshold for alert in scenario.alerts if isinstance(alert, LatencyCondition)} | {0.1, 5.0}
        for bound in sorted(bounds):
            below = [second for second, value in pairs(telemetry.samples[signal]) if value <= bound]
            yield f'{name}_bucket{{le="{bound:g}"}}', counts(below, grid)
        yield f'{name}_bucket{{le="+Inf"}}', counts(telemetry.samples[signal].seconds, grid)
    for number, (begin_s, end_s) in enumerate(telemetry.faults):
        active = (f"{begin_s <= second < end_s:d}" for second in grid)
        yield f'{FAULT}{{fault="{number}",kind="latency"}}', active


def pairs(timeline: Timeline) -> list[tuple[float, float]]:
    return list(zip(timeline.seconds, timeline.readings, strict=True))


def scraped(timeline: Timeline, grid: tuple[float, ...]) -> Iterator[str]:
    for second in grid:
        value = timeline.last(second)
        yield "_" if value != value else f"{value:.9f}"  # noqa: PLR0124 - NaN is what does not equal itself


def counts(seconds: list[float], grid: tuple[float, ...]) -> Iterator[str]:
    for second in grid:
        yield str(sum(each <= second for each in seconds))
