"""The value of one setting out of its text. Knows what each kind of value looks like; must not know their use.

A setting that may be missing is missing too where its text is empty, which is how Compose hands on what nobody set.
"""

import math
import ssl
from collections.abc import Mapping
from urllib.parse import urlsplit

from lab.contract import environment as env

DEFAULT_REDIS_URL = "redis://127.0.0.1:6379/0"
DEFAULT_MODEL_URL = "http://127.0.0.1:8090/v1"
MOST_SECONDS = 86_400.0


class SettingsError(Exception):
    """A setting that cannot be used; the sentence names it and holds no secret."""


def count(environ: Mapping[str, str], name: str, default: int, most: int) -> int:
    """A whole number from 1 to `most`."""
    text = environ.get(name, str(default))
    if not (text.isascii() and text.isdigit() and len(text) <= len(str(most)) and 1 <= int(text) <= most):
        raise SettingsError(f"{name} is {text!r}; it must be a whole number from 1 to {most}")
    return int(text)


def seconds(environ: Mapping[str, str], name: str, default: float) -> float:
    """Seconds above 0."""
    text = environ.get(name, repr(default))
    value = _number(text)
    if not 0 < value <= MOST_SECONDS:
        raise SettingsError(f"{name} is {text!r}; it must be a number of seconds above 0 and at most {MOST_SECONDS:g}")
    return value


def ratio(environ: Mapping[str, str], name: str) -> float | None:
    """A number from 0 to 1, None where it is not set."""
    text = environ.get(name)
    if not text:
        return None
    value = _number(text)
    if not 0 <= value <= 1:
        raise SettingsError(f"{name} is {text!r}; it must be a number from 0 to 1")
    return value


def word(environ: Mapping[str, str], name: str, default: str) -> str:
    """A printable name."""
    text = environ.get(name, default)
    if not text.strip() or not text.isprintable():
        raise SettingsError(f"{name} is {text!r}; it must be a printable name that is not empty")
    return text


def redis_url(environ: Mapping[str, str]) -> str:
    """Where Redis is."""
    text = environ.get(env.REDIS_URL, DEFAULT_REDIS_URL)
    # The value stays out of the sentence: a Redis URL may hold a password.
    if not _is_url(text, ("redis", "rediss")):
        raise SettingsError(f"{env.REDIS_URL} must be a URL such as {DEFAULT_REDIS_URL}")
    return text


def model_url(environ: Mapping[str, str]) -> str:
    """The base of the model's routes, without a slash at its end."""
    text = environ.get(env.MODEL_URL, DEFAULT_MODEL_URL)
    if not _is_url(text, ("http", "https")) or any(mark in text for mark in "@?#"):
        raise SettingsError(
            f"{env.MODEL_URL} must be a base URL such as {DEFAULT_MODEL_URL}, with no user, query or fragment"
        )
    return text.rstrip("/")


def address(environ: Mapping[str, str], name: str) -> str | None:
    """A host and a port, None where it is not set."""
    text = environ.get(name)
    if not text:
        return None
    try:
        parts = urlsplit(f"//{text}")
        whole = bool(parts.hostname and parts.port) and parts.netloc == text and "@" not in text
    except ValueError:
        whole = False
    if not (whole and text.isascii() and text.isprintable() and " " not in text):
        raise SettingsError(f"{name} is {text!r}; it must be a host and a port, such as 127.0.0.1:8443")
    return text


def ca_file(environ: Mapping[str, str]) -> str | None:
    """A file of the authorities that certificates are checked against, None where it is not set."""
    path = environ.get(env.MODEL_CA_FILE)
    if not path:
        return None
    try:
        ssl.create_default_context(cafile=path)
    except (OSError, ValueError):
        raise SettingsError(
            f"{env.MODEL_CA_FILE} is {path!r}; it must be a readable PEM file of certificates"
        ) from None
    return path


def switch(environ: Mapping[str, str], name: str, *, default: bool) -> bool:
    """1 for on, 0 for off."""
    text = environ.get(name)
    if text and text not in {"0", "1"}:
        raise SettingsError(f"{name} is {text!r}; it must be 1 or 0")
    return text == "1" if text else default


def api_key(environ: Mapping[str, str]) -> str:
    """The key that the model is asked with, empty for none."""
    text = environ.get(env.MODEL_API_KEY, "")
    if text and not (text.isascii() and text.isprintable() and " " not in text):
        raise SettingsError(f"{env.MODEL_API_KEY} holds characters that no key in an HTTP header has")
    return text


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def _is_url(text: str, schemes: tuple[str, ...]) -> bool:
    try:
        parts = urlsplit(text)
        has_host = bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
    return parts.scheme in schemes and has_host and text.isascii() and text.isprintable() and " " not in text
