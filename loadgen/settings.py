"""The load generator's settings, read once from the environment. Knows names and bounds; must not know their use."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from lab.contract import environment as env

DEFAULT_HOST = "127.0.0.1"
MOST_PORT = 65_535
DEFAULT_LEAD_S = 1.0
DEFAULT_ANSWER_TIMEOUT_S = 10.0
MOST_SECONDS = 86_400.0


class SettingsError(Exception):
    """A setting that cannot be used; the sentence names it."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything the load generator is told.

    `lead_s` passes between the word that the schedule starts and its time 0; an answer is given up `answer_timeout_s`
    after its request. Locust's own page is served at `host`:`page_port`; None: headless.
    """

    schedule_file: Path
    target_url: str
    lead_s: float
    answer_timeout_s: float
    host: str
    page_port: int | None


def read_settings(environ: Mapping[str, str]) -> Settings:
    """The settings in `environ`, with defaults for the times.

    Raises:
        SettingsError: a value is missing or cannot be used.
    """
    return Settings(
        schedule_file=_path(environ, env.SCHEDULE_FILE),
        target_url=_url(environ, env.TARGET_URL),
        lead_s=_seconds(environ, env.SCHEDULE_LEAD_S, DEFAULT_LEAD_S, zero_is_fine=True),
        answer_timeout_s=_seconds(environ, env.ANSWER_TIMEOUT_S, DEFAULT_ANSWER_TIMEOUT_S, zero_is_fine=False),
        host=environ.get(env.HOST) or DEFAULT_HOST,
        page_port=_port(environ, env.LOAD_PAGE_PORT),
    )


def _path(environ: Mapping[str, str], name: str) -> Path:
    text = environ.get(name, "")
    if not text.strip():
        raise SettingsError(f"{name} is not set; it must be the path of a schedule (JSON lines)")
    return Path(text)


def _port(environ: Mapping[str, str], name: str) -> int | None:
    text = environ.get(name, "")
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and len(text) <= len(str(MOST_PORT)) and 1 <= int(text) <= MOST_PORT):
        raise SettingsError(f"{name} is {text!r}; it must be from 1 to {MOST_PORT}, or empty for no page")
    return int(text)


def _url(environ: Mapping[str, str], name: str) -> str:
    text = environ.get(name, "")
    if not _is_base_url(text):
        shown = repr(text) if text else "not set"
        raise SettingsError(f"{name} is {shown}; it must be the gate's base URL, such as http://127.0.0.1:8080")
    return text.rstrip("/")


def _is_base_url(text: str) -> bool:
    try:
        parts = urlsplit(text)
        has_host = bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
    plain = text.isascii() and text.isprintable() and not set(text) & set(" @?#")
    return parts.scheme in ("http", "https") and has_host and plain


def _seconds(environ: Mapping[str, str], name: str, default: float, *, zero_is_fine: bool) -> float:
    text = environ.get(name, repr(default))
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value <= MOST_SECONDS or (value == 0 and not zero_is_fine):
        least = "at least 0" if zero_is_fine else "above 0"
        raise SettingsError(f"{name} is {text!r}; it must be a number of seconds {least} and at most {MOST_SECONDS:g}")
    return value
