"""Settings come from a mapping, once, with a sentence for each that cannot be used."""

from pathlib import Path

import pytest

from loadgen.settings import Settings, SettingsError, read_settings

GIVEN = {"SCHEDULE_FILE": "schedule.jsonl", "TARGET_URL": "http://127.0.0.1:8080/"}


def test_times_have_defaults_and_the_url_loses_its_last_slash() -> None:
    assert read_settings(GIVEN) == Settings(
        Path("schedule.jsonl"), "http://127.0.0.1:8080", 1.0, 10.0, "127.0.0.1", None
    )


def test_an_empty_page_port_means_headless_as_an_unset_one_does() -> None:
    assert read_settings({**GIVEN, "LOAD_PAGE_PORT": ""}).page_port is None
    assert read_settings({**GIVEN, "LOAD_PAGE_PORT": "8089"}).page_port == 8089


def test_times_are_taken_from_the_environment() -> None:
    settings = read_settings({**GIVEN, "SCHEDULE_LEAD_S": "0", "ANSWER_TIMEOUT_S": "2.5"})
    assert (settings.lead_s, settings.answer_timeout_s) == (0.0, 2.5)


@pytest.mark.parametrize("name", sorted(GIVEN))
def test_what_has_no_default_must_be_set(name: str) -> None:
    with pytest.raises(SettingsError, match=f"^{name} is not set"):
        read_settings({key: value for key, value in GIVEN.items() if key != name})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("SCHEDULE_FILE", " "),
        ("TARGET_URL", "127.0.0.1:8080"),
        ("TARGET_URL", "ftp://host"),
        ("TARGET_URL", "http://"),
        ("TARGET_URL", "http://host:0"),
        ("TARGET_URL", "http://host:99999"),
        ("TARGET_URL", "http://user@host"),
        ("TARGET_URL", "http://host/?a=b"),
        ("TARGET_URL", "http://[::1"),
        ("LOAD_PAGE_PORT", "0"),
        ("LOAD_PAGE_PORT", "99999"),
        ("LOAD_PAGE_PORT", "page"),
        ("SCHEDULE_LEAD_S", "-1"),
        ("SCHEDULE_LEAD_S", "soon"),
        ("ANSWER_TIMEOUT_S", "0"),
        ("ANSWER_TIMEOUT_S", "nan"),
        ("ANSWER_TIMEOUT_S", "inf"),
    ],
)
def test_a_value_that_cannot_be_used_is_named(name: str, value: str) -> None:
    with pytest.raises(SettingsError, match=f"^{name} is "):
        read_settings({**GIVEN, name: value})
