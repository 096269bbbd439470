"""The worker's settings, read once from the environment. Knows names and bounds; must not know where they are used."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from lab.contract import environment as env

DEFAULT_REDIS_URL = "redis://127.0.0.1:6379/0"
DEFAULT_MODEL_URL = "http://127.0.0.1:8090/v1"
MOST_SLOTS = 4096
MOST_ATTEMPTS = 100
MOST_SECONDS = 86_400.0


class SettingsError(Exception):
    """A setting that cannot be used; the sentence names it."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything a worker is told. `worker_id` is its name as a consumer; no two running workers may share one."""

    redis_url: str = field(repr=False)
    worker_id: str
    slots: int
    model_url: str
    model_name: str
    model_api_key: str = field(repr=False)
    connect_timeout_s: float
    first_token_timeout_s: float
    total_timeout_s: float
    max_attempts: int
    heartbeat_s: float
    reclaim_after_s: float
    drain_s: float
    alive_file: Path | None


def read_settings(environ: Mapping[str, str]) -> Settings:
    """The settings in `environ`; what it does not name has the default of the contract's Stack.

    Raises:
        SettingsError: a value that cannot be used. The sentence holds no secret.
    """
    return Settings(
        redis_url=_redis_url(environ.get(env.REDIS_URL, DEFAULT_REDIS_URL)),
        worker_id=_word(environ, env.SERVICE_ID, environ.get(env.HOSTNAME) or "worker-1"),
        slots=_count(environ, env.WORKER_SLOTS, 4, MOST_SLOTS),
        model_url=_model_url(environ.get(env.MODEL_URL, DEFAULT_MODEL_URL)),
        model_name=_word(environ, env.MODEL_NAME, env.DEFAULT_MODEL_NAME),
        model_api_key=_api_key(environ.get(env.MODEL_API_KEY, "")),
        connect_timeout_s=_seconds(environ, env.CONNECT_TIMEOUT_S, 2.0),
        first_token_timeout_s=_seconds(environ, env.FIRST_TOKEN_TIMEOUT_S, 30.0),
        total_timeout_s=_seconds(environ, env.TOTAL_TIMEOUT_S, 60.0),
        max_attempts=_count(environ, env.MAX_ATTEMPTS, 1, MOST_ATTEMPTS),
        heartbeat_s=_seconds(environ, env.HEARTBEAT_S, 0.5),
        reclaim_after_s=_seconds(environ, env.RECLAIM_AFTER_S, 3.0),
        drain_s=_seconds(environ, env.DRAIN_S, env.WORKER_DRAIN_S),
        alive_file=Path(environ[env.ALIVE_FILE]) if environ.get(env.ALIVE_FILE) else None,
    )


def _count(environ: Mapping[str, str], name: str, default: int, most: int) -> int:
    text = environ.get(name, str(default))
    if not (text.isascii() and text.isdigit() and len(text) <= len(str(most)) and 1 <= int(text) <= most):
        raise SettingsError(f"{name} is {text!r}; it must be a whole number from 1 to {most}")
    return int(text)


def _seconds(environ: Mapping[str, str], name: str, default: float) -> float:
    text = environ.get(name, repr(default))
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value <= MOST_SECONDS:
        raise SettingsError(f"{name} is {text!r}; it must be a number of seconds above 0 and at most {MOST_SECONDS:g}")
    return value


def _word(environ: Mapping[str, str], name: str, default: str) -> str:
    text = environ.get(name, default)
    if not text.strip() or not text.isprintable():
        raise SettingsError(f"{name} is {text!r}; it must be a printable name that is not empty")
    return text


def _redis_url(text: str) -> str:
    # The value stays out of the sentence: a Redis URL may hold a password.
    if not _is_url(text, ("redis", "rediss")):
        raise SettingsError(f"{env.REDIS_URL} must be a URL such as {DEFAULT_REDIS_URL}")
    return text


def _model_url(text: str) -> str:
    if not _is_url(text, ("http", "https")) or "@" in text or "?" in text:
        raise SettingsError(
            f"{env.MODEL_URL} must be a base URL such as {DEFAULT_MODEL_URL}, with no user and no query"
        )
    return text.rstrip("/")


def _is_url(text: str, schemes: tuple[str, ...]) -> bool:
    try:
        parts = urlsplit(text)
        has_host = bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
    return parts.scheme in schemes and has_host and text.isascii() and text.isprintable() and " " not in text


def _api_key(text: str) -> str:
    if text and not (text.isascii() and text.isprintable()):
        raise SettingsError(f"{env.MODEL_API_KEY} holds characters that no HTTP header can carry")
    return text
