from pathlib import Path

import pytest

from lab.contract.environment import WORKER_DRAIN_S
from lab.contract.scenario import Stack
from worker.settings import SettingsError, read_settings


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
    "MODEL_API_KEY": ("a\nb", "é"),
}


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in BAD.items() for value in values])
def test_a_value_that_cannot_be_used_is_refused_by_name(name: str, value: str) -> None:
    with pytest.raises(SettingsError, match=f"^{name} "):
        read_settings({name: value})


def test_no_secret_is_shown() -> None:
    secrets = {"REDIS_URL": "redis://:hidden@host/0", "MODEL_API_KEY": "hidden"}
    assert "hidden" not in repr(read_settings(secrets))
    with pytest.raises(SettingsError) as refused:
        read_settings({"REDIS_URL": "http://:hidden@host/0"})
    assert "hidden" not in str(refused.value)
