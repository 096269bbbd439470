from pathlib import Path
from types import SimpleNamespace

import pytest

from lab.contract.environment import DEFAULT_MODEL_NAME, model_environment
from lab.contract.loading import load_scenario
from mock_model.settings import SettingsError, read_settings


def test_it_binds_to_loopback_unless_told_otherwise() -> None:
    settings = read_settings({})
    assert (settings.host, settings.port, settings.model_name) == ("127.0.0.1", 8090, DEFAULT_MODEL_NAME)


def test_what_the_environment_says_is_taken() -> None:
    settings = read_settings({"PORT": "9000", "MODEL_SLOTS": "3", "SEED": str(2**63 - 1), "MODEL_NAME": "gpt-x"})
    assert (settings.port, settings.slots, settings.seed, settings.model_name) == (9000, 3, 2**63 - 1, "gpt-x")


def test_no_fallback_is_known_unless_named() -> None:
    assert read_settings({"FALLBACK_MODELS": ""}).model_names == (DEFAULT_MODEL_NAME,)
    assert read_settings({"FALLBACK_MODELS": "small,org/tiny:1"}).model_names[1:] == ("small", "org/tiny:1")


def test_the_models_that_policies_degrade_to_are_told_to_it() -> None:
    shipped = load_scenario(Path(__file__).parents[2] / "scenarios" / "quick_check.yaml").scenario
    assert "FALLBACK_MODELS" not in model_environment(shipped)
    degrades = [None, SimpleNamespace(model=None), SimpleNamespace(model="small"), SimpleNamespace(model="a/tiny")]
    policies = {letter: SimpleNamespace(degrade=one) for letter, one in zip("ABCD", degrades, strict=True)}
    degrading = shipped.model_copy(update={"policies": policies | {"E": SimpleNamespace()}})
    assert read_settings(model_environment(degrading)).fallback_models == ("a/tiny", "small")


BAD = {
    "PORT": ("0", "65536", "http", "", "-1"),
    "MODEL_SLOTS": ("0", "4097", "1.5"),
    "SEED": ("-1", str(2**63), "x"),
    "HOST": ("", "\n"),
    "FALLBACK_MODELS": (",", "small,", " ", "a\tb"),
    "MODEL_NAME": ("", "a\tb"),
}


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in BAD.items() for value in values])
def test_a_value_that_cannot_be_used_is_refused_by_name(name: str, value: str) -> None:
    with pytest.raises(SettingsError, match=f"^{name} is "):
        read_settings({name: value})


@pytest.mark.parametrize(
    "files",
    [
        {"TLS_CERT_FILE": __file__},
        {"TLS_KEY_FILE": __file__},
        {"TLS_CERT_FILE": "/nowhere/at-all.pem", "TLS_KEY_FILE": "/nowhere/at-all.key"},
        {"TLS_CERT_FILE": __file__, "TLS_KEY_FILE": __file__},
        {"TLS_CERT_FILE": "\0", "TLS_KEY_FILE": ""},
    ],
)
def test_a_certificate_that_cannot_be_used_is_one_sentence(files: dict[str, str]) -> None:
    with pytest.raises(SettingsError, match=r"^TLS_CERT_FILE .*TLS_KEY_FILE "):
        read_settings(files)
