"""The mock model's settings, read once from the environment. Knows names and bounds; must not know their use."""

import ssl
from collections.abc import Mapping
from dataclasses import dataclass

from lab.contract import environment as env

DEFAULT_HOST = "127.0.0.1"
DEFAULT_PORT = 8090
MOST_PORT = 65_535
DEFAULT_SLOTS = 256
MOST_SLOTS = 4096
MOST_SEED = 2**63 - 1


class SettingsError(Exception):
    """A setting that cannot be used; the sentence names it."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything the mock model is told. `slots` requests are worked on at a time, whichever name they use."""

    host: str
    port: int
    slots: int
    seed: int
    model_name: str
    fallback_models: tuple[str, ...]
    tls_cert_file: str | None
    tls_key_file: str | None

    @property
    def model_names(self) -> tuple[str, ...]:
        """Every name it answers to, its own first."""
        return (self.model_name, *self.fallback_models)


def read_settings(environ: Mapping[str, str]) -> Settings:
    """The settings in `environ`, with defaults for what it does not name.

    Raises:
        SettingsError: a value that cannot be used.
    """
    tls_cert_file, tls_key_file = _tls_files(environ)
    return Settings(
        host=_word(environ, env.HOST, DEFAULT_HOST),
        port=_whole(environ, env.PORT, DEFAULT_PORT, 1, MOST_PORT),
        slots=_whole(environ, env.MODEL_SLOTS, DEFAULT_SLOTS, 1, MOST_SLOTS),
        seed=_whole(environ, env.SEED, 0, 0, MOST_SEED),
        model_name=_word(environ, env.MODEL_NAME, env.DEFAULT_MODEL_NAME),
        fallback_models=_words(environ, env.FALLBACK_MODELS),
        tls_cert_file=tls_cert_file,
        tls_key_file=tls_key_file,
    )


def _tls_files(environ: Mapping[str, str]) -> tuple[str | None, str | None]:
    cert_file, key_file = environ.get(env.TLS_CERT_FILE) or None, environ.get(env.TLS_KEY_FILE) or None
    if cert_file is None and key_file is None:
        return None, None
    if cert_file is None or key_file is None:
        raise SettingsError(f"{env.TLS_CERT_FILE} and {env.TLS_KEY_FILE} must be set together")
    try:
        # An empty password, since a key that needs one would be asked for at the terminal.
        ssl.create_default_context(ssl.Purpose.CLIENT_AUTH).load_cert_chain(cert_file, key_file, password="")
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise SettingsError(
            f"{env.TLS_CERT_FILE} is {cert_file!r} and {env.TLS_KEY_FILE} {key_file!r}; they must be a certificate and "
            f"its key, both PEM without a password: {why}"
        ) from None
    return cert_file, key_file


def _whole(environ: Mapping[str, str], name: str, default: int, least: int, most: int) -> int:
    text = environ.get(name, str(default))
    if not (text.isascii() and text.isdigit() and len(text) <= len(str(most)) and least <= int(text) <= most):
        raise SettingsError(f"{name} is {text!r}; it must be a whole number from {least} to {most}")
    return int(text)


def _words(environ: Mapping[str, str], name: str) -> tuple[str, ...]:
    text = environ.get(name, "")
    words = tuple(text.split(",")) if text else ()
    if not all(word.strip() and word.isprintable() for word in words):
        raise SettingsError(f"{name} is {text!r}; it must be printable names with commas between them")
    return words


def _word(environ: Mapping[str, str], name: str, default: str) -> str:
    text = environ.get(name, default)
    if not text.strip() or not text.isprintable():
        raise SettingsError(f"{name} is {text!r}; it must be a printable name that is not empty")
    return text
