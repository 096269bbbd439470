from pathlib import Path
from typing import Any

import pytest

from lab.contract.environment import WORKER_DRAIN_S, worker_environment
from lab.contract.loading import load_scenario
from lab.contract.scenario import Scenario, Stack
from lab.contract.speed import scaled
from worker.breaker import BreakerRule
from worker.settings import read_settings
from worker.values import SettingsError


def test_the_defaults_are_the_contracts() -> None:
    settings, stack = read_settings({}), Stack()
    assert settings.slots == stack.slots
    assert settings.max_attempts == stack.max_attempts
    assert settings.heartbeat_s == stack.heartbeat
    assert settings.reclaim_after_s == stack.reclaim_after
    assert settings.drain_s == WORKER_DRAIN_S
    assert (settings.connect_timeout_s, settings.first_token_timeout_s, settings.total_timeout_s) == (
        stack.connect_timeout,
        stack.first_token_timeout,
        stack.total_timeout,
    )


def test_a_worker_with_no_name_takes_its_containers() -> None:
    assert read_settings({"HOSTNAME": "4f0c2d"}).worker_id == "4f0c2d"
    assert read_settings({"HOSTNAME": "4f0c2d", "SERVICE_ID": "worker-2"}).worker_id == "worker-2"
    assert read_settings({"HOSTNAME": ""}).worker_id == "worker-1"


def test_an_alive_file_is_touched_only_where_one_is_named() -> None:
    assert read_settings({}).alive_file is None
    assert read_settings({"ALIVE_FILE": "/run/alive"}).alive_file == Path("/run/alive")


def test_a_models_url_loses_its_last_slash() -> None:
    assert read_settings({"MODEL_URL": "http://model:9000/v1/"}).model_url == "http://model:9000/v1"


BAD = {
    "WORKER_SLOTS": ("0", "-1", "4.5", "", "one", "99999999999999999999", "٤"),
    "MAX_ATTEMPTS": ("0", "101"),
    "HEARTBEAT_S": ("0", "-1", "nan", "inf", "", "1s"),
    "DRAIN_S": ("90000",),
    "REDIS_URL": ("", "localhost:6379", "redis://", "redis://host:port/0", "http://host"),
    "MODEL_URL": ("", "ftp://host", "http://", "http://user:word@host/v1", "http://host:99999/v1", "http://a b/v1"),
    "SERVICE_ID": ("", " ", "a\nb"),
    "METRICS_PORT": ("0", "65536", "http"),
    "BREAKER_FAILURES": ("0", "1001", " "),
    "RETRY_BUDGET_RATIO": ("-0.1", "1.1", "20%", "nan", " "),
    "MODEL_API_KEY": ("a\nb", "é", "a b", " "),
    "MODEL_CONNECT": ("host", ":80", "host:0", "host:99999", "user@host:80", "host:80/v1", "a b:80", "http://h:80"),
    "MODEL_CA_FILE": ("/nowhere/at-all.pem", __file__, "\0"),
    "MODEL_LAB_HEADERS": ("yes", "2"),
}


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in BAD.items() for value in values])
def test_a_value_that_cannot_be_used_is_refused_by_name(name: str, value: str) -> None:
    with pytest.raises(SettingsError, match=f"^{name} "):
        read_settings({name: value})


def test_what_may_be_missing_may_be_empty() -> None:
    optional = ("BREAKER_FAILURES", "RETRY_BUDGET_RATIO", "MODEL_API_KEY", "MODEL_CONNECT", "MODEL_CA_FILE")
    assert read_settings(dict.fromkeys([*optional, "MODEL_LAB_HEADERS", "METRICS_PORT"], "")) == read_settings({})


def test_no_secret_is_shown() -> None:
    secrets = {"REDIS_URL": "redis://:hidden@host/0", "MODEL_API_KEY": "hidden"}
    assert "hidden" not in repr(read_settings(secrets))
    with pytest.raises(SettingsError) as refused:
        read_settings({"REDIS_URL": "http://:hidden@host/0"})
    assert "hidden" not in str(refused.value)


def test_breaker_and_retry_budget_are_off_unless_declared() -> None:
    settings = read_settings(worker_environment(scenario_with({})))
    assert (settings.breaker, settings.retry_budget_ratio) == (None, None)


def test_what_a_scenario_declares_of_them_reaches_the_worker() -> None:
    stack = {"breaker": {"failures": 7, "open_for": "1500ms", "probes": 2}, "retry_budget": "20%"}
    settings = read_settings(worker_environment(scenario_with(stack)))
    assert settings.breaker == BreakerRule(failures=7, open_for_s=1.5, probes=2)
    assert settings.retry_budget_ratio == 0.2
    faster = read_settings(worker_environment(scaled(scenario_with(stack), 2)))
    assert faster.breaker == BreakerRule(failures=7, open_for_s=0.75, probes=2)


def test_an_empty_breaker_has_the_same_defaults_on_both_sides() -> None:
    declared = read_settings(worker_environment(scenario_with({"breaker": {}})))
    assert declared.breaker == read_settings({"BREAKER_FAILURES": "5"}).breaker


def scenario_with(stack: dict[str, Any]) -> Scenario:
    shipped = load_scenario(Path(__file__).parents[2] / "scenarios" / "quick_check.yaml").scenario
    return shipped.model_copy(update={"stack": Stack.model_validate(stack)})
