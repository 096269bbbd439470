import pytest

from lab.contract.alert_spec import UNITS
from lab.contract.loading import ScenarioError, parse_scenario
from lab.contract.scenario import Scenario
from lab.contract.speed import scaled
from tests.journals import SMALL

AGE = "{name: old, signal: queue_age, threshold: 15s, for: 2m, severity: warn, action: Look.}"
SHED = (
    "{name: shed, signal: rejection_rate, threshold: 5%, for: 5m, severity: page, action: Look., "
    "only_when: {signal: provider_latency, threshold: 2s, window: 30s}}"
)


def with_alerts(*alerts: str) -> Scenario:
    return parse_scenario(SMALL + "alerts:\n" + "".join(f"  - {alert}\n" for alert in alerts), "small.yaml")


def test_thresholds_hold_times_and_windows_follow_speed_each_in_its_unit() -> None:
    fast = scaled(with_alerts(AGE, SHED), 10)
    age, shed = fast.alerts
    assert (age.threshold, age.hold) == (1.5, 12.0)
    assert (shed.threshold, shed.hold, getattr(shed, "window", None)) == (0.05, 30.0, 6.0)
    assert shed.only_when is not None
    assert (shed.only_when.threshold, getattr(shed.only_when, "window", None)) == (0.2, 3.0)
    assert fast.alert_interval == 0.1


def test_alerts_survive_the_journals_header() -> None:
    declared = with_alerts(AGE, SHED)
    assert Scenario.model_validate(declared.model_dump(mode="json", by_alias=True)) == declared


def test_every_signal_of_the_schema_has_a_unit() -> None:
    conditions = ("Age", "Depth", "Share", "Latency", "Rate", "Drift")
    schema = Scenario.model_json_schema()["$defs"]
    signals = [schema[f"{name}Alert"]["properties"]["signal"] for name in conditions]
    named = {name for signal in signals for name in signal.get("enum", [signal.get("const")])}
    assert named == set(UNITS)


@pytest.mark.parametrize(
    ("alert", "said"),
    [
        ("signal: queu_age, threshold: 15s", "alerts[0]: signal 'queu_age' is unknown; known are 'queue_age'"),
        ("threshold: 15s", "alerts[0]: needs `signal:`"),
        ("signal: queue_age, threshold: 5", "alerts[0].threshold: 5 is not a duration"),
        ("signal: queue_age, thresold: 5s", "alerts[0].thresold: is not a known key; did you mean 'threshold'?"),
        ("signal: queue_age, threshold: 5s, window: 3s", "alerts[0].window: is not a known key"),
        ("signal: drift, threshold: 0.5", "alerts[0].threshold: input should be greater than or equal to 1"),
    ],
)
def test_a_wrong_alert_is_a_sentence_with_its_line(alert: str, said: str) -> None:
    with pytest.raises(ScenarioError) as found:
        with_alerts(f"{{name: a, severity: warn, action: Look., {alert}}}")
    assert f"small.yaml:20: {said}" in str(found.value)


def test_a_warning_and_a_page_may_share_a_name_and_two_pages_may_not() -> None:
    assert len(with_alerts(AGE, AGE.replace("warn", "page")).alerts) == 2
    with pytest.raises(ScenarioError, match=r"small.yaml:21: alerts\[1\].name: there are two alerts 'old'"):
        with_alerts(AGE, AGE)
