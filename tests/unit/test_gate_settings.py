"""The gate reads its settings from a mapping and refuses each value it cannot use by name."""

import pytest

from gate.settings import SettingsError, read_settings
from lab.contract.environment import policy_json
from lab.contract.policy_spec import NoPolicy, QueueAgePolicy


def test_an_empty_environment_gives_the_defaults() -> None:
    settings = read_settings({})
    assert (settings.host, settings.port, settings.redis_url) == ("127.0.0.1", 8080, "redis://127.0.0.1:6379/0")
    assert (settings.service_id, settings.policy, settings.policy_letter) == ("gate-1", NoPolicy(kind="none"), None)
    assert (settings.utilization_smoothing_s, settings.heartbeat_s) == (1.0, 0.5)


def test_the_policy_is_read_as_the_contract_writes_it() -> None:
    policy = QueueAgePolicy(kind="queue_age", max_age="1.6s", mode="log_only")  # type: ignore[arg-type]  # as in YAML
    assert read_settings({"POLICY": policy_json(policy)}).policy == policy


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("HOST", ""),
        ("PORT", "0"),
        ("PORT", "65536"),
        ("PORT", "eighty"),
        ("PORT", ""),
        ("REDIS_URL", "http://127.0.0.1:6379"),
        ("REDIS_URL", "redis://127.0.0.1:notaport"),
        ("REDIS_URL", "redis://127.0.0.1/0?socket_timeout=x"),
        ("POLICY", "queue_age"),
        ("POLICY", '{"kind":"queue_age"}'),
        ("POLICY", '{"kind":"queue_age","max_age":2}'),
        ("POLICY", '{"kind":"sorcery"}'),
        ("UTILIZATION_SMOOTHING_S", "0"),
        ("UTILIZATION_SMOOTHING_S", "nan"),
        ("HEARTBEAT_S", "-1"),
        ("HEARTBEAT_S", "inf"),
        ("HEARTBEAT_S", "soon"),
        ("ADMIT_ALWAYS", "yes"),
        ("ON_QUEUE_FAILURE", "open"),
    ],
)
def test_a_value_it_cannot_use_is_refused_in_one_sentence_that_names_the_setting(name: str, value: str) -> None:
    with pytest.raises(SettingsError) as refused:
        read_settings({name: value})
    assert str(refused.value).startswith(name)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(("text", "mode"), [("1", "off"), ("0", "log_only"), ("", "log_only")])
def test_admit_always_is_the_declared_policy_in_mode_off(text: str, mode: str) -> None:
    environ = {"POLICY": '{"kind":"slack_v1","mode":"log_only"}', "ADMIT_ALWAYS": text}
    assert (read_settings(environ).policy.kind, read_settings(environ).policy.mode) == ("slack_v1", mode)


def test_the_gate_fails_closed_unless_told_otherwise() -> None:
    settings = read_settings({"BYPASS_URL": "http://127.0.0.1:8081/v1/jobs"})
    assert (settings.on_queue_failure, settings.bypass_url) == ("closed", None)
    assert read_settings({"ON_QUEUE_FAILURE": "reject"}).on_queue_failure == "reject"
    url = "http://127.0.0.1:8081/v1/jobs"
    settings = read_settings({"ON_QUEUE_FAILURE": "bypass", "BYPASS_URL": url})
    assert (settings.on_queue_failure, settings.bypass_url) == ("bypass", url)


@pytest.mark.parametrize("url", ["", "ftp://127.0.0.1/jobs", "http://", "http://127.0.0.1:x/jobs"])
def test_a_bypass_without_a_usable_address_is_refused_and_its_address_not_repeated(url: str) -> None:
    with pytest.raises(SettingsError, match=r"^BYPASS_URL") as refused:
        read_settings({"ON_QUEUE_FAILURE": "bypass", "BYPASS_URL": url})
    assert str(refused.value).endswith("write one such as http://127.0.0.1:8081/v1/jobs")


def test_a_refused_redis_url_is_not_repeated_since_it_may_hold_a_password() -> None:
    with pytest.raises(SettingsError) as refused:
        read_settings({"REDIS_URL": "rediss://:hunter2@host:port"})
    assert "hunter2" not in str(refused.value)
