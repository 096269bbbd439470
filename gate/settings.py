"""The gate's settings, read once from an environment mapping; the names are the contract's.

Defaults are those of a gate started by hand beside a Redis on its usual port.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args
from urllib.parse import urlsplit

from pydantic import ValidationError

from lab.contract import environment as names
from lab.contract.policy_spec import POLICY_ADAPTER, NoPolicy, PolicySpec

DEFAULT_HOST = "127.0.0.1"
DEFAULT_PORT = 8080
DEFAULT_SERVICE_ID = "gate-1"
DEFAULT_UTILIZATION_SMOOTHING_S = 1.0
DEFAULT_HEARTBEAT_S = 0.5
DEFAULT_REDIS_URL = "redis://127.0.0.1:6379/0"
HIGHEST_PORT = 65_535
REDIS_SCHEMES = ("redis", "rediss", "unix")
OnQueueFailure = Literal["closed", "reject", "bypass"]


class SettingsError(Exception):
    """A setting that cannot be used; its text is one sentence that names it."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What the gate is told when it starts. `policy_letter` is None where the policy has no letter.

    `policy` is in mode off where the gate is told to admit always. `bypass_url` is None unless `on_queue_failure` is
    bypass.
    """

    host: str
    port: int
    redis_url: str
    service_id: str
    policy: PolicySpec
    policy_letter: str | None
    utilization_smoothing_s: float
    heartbeat_s: float
    on_queue_failure: OnQueueFailure
    bypass_url: str | None


def read_settings(environ: Mapping[str, str]) -> Settings:
    """The settings in `environ`, with defaults for what it does not name.

    Raises:
        SettingsError: a value cannot be used.
    """
    on_queue_failure = _on_queue_failure(environ)
    return Settings(
        host=_host(environ),
        port=_port(environ),
        redis_url=_redis_url(environ),
        service_id=environ.get(names.SERVICE_ID, DEFAULT_SERVICE_ID),
        policy=_policy(environ),
        policy_letter=environ.get(names.POLICY_LETTER),
        utilization_smoothing_s=_seconds(environ, names.UTILIZATION_SMOOTHING_S, DEFAULT_UTILIZATION_SMOOTHING_S),
        heartbeat_s=_seconds(environ, names.HEARTBEAT_S, DEFAULT_HEARTBEAT_S),
        on_queue_failure=on_queue_failure,
        bypass_url=_bypass_url(environ) if on_queue_failure == "bypass" else None,
    )


def _host(environ: Mapping[str, str]) -> str:
    host = environ.get(names.HOST, DEFAULT_HOST)
    if not host.strip():
        # The empty address would be every interface of the machine.
        raise SettingsError(f"{names.HOST} is empty; name the address to listen on, such as {DEFAULT_HOST}")
    return host


def _port(environ: Mapping[str, str]) -> int:
    text = environ.get(names.PORT, str(DEFAULT_PORT))
    if not (text.isascii() and text.isdigit() and 0 < int(text) <= HIGHEST_PORT):
        raise SettingsError(f"{names.PORT} is {text!r}; it must be a whole number from 1 to {HIGHEST_PORT}")
    return int(text)


def _redis_url(environ: Mapping[str, str]) -> str:
    url = environ.get(names.REDIS_URL, DEFAULT_REDIS_URL)
    try:
        parts = urlsplit(url)
        usable = parts.scheme in REDIS_SCHEMES and parts.port != 0 and not parts.query
        usable = usable and bool(parts.hostname or parts.path)
    except ValueError:
        usable = False
    if not usable:
        # The URL itself may hold a password.
        raise SettingsError(
            f"{names.REDIS_URL} is not the URL of a Redis server; write one such as {DEFAULT_REDIS_URL}"
        )
    return url


def _on_queue_failure(environ: Mapping[str, str]) -> OnQueueFailure:
    text = environ.get(names.ON_QUEUE_FAILURE, "closed")
    for known in get_args(OnQueueFailure):
        if text == known:
            return known  # type: ignore[no-any-return]  # the arguments of the literal type are its values
    raise SettingsError(f"{names.ON_QUEUE_FAILURE} is {text!r}; it must be closed, reject or bypass")


def _bypass_url(environ: Mapping[str, str]) -> str:
    url = environ.get(names.BYPASS_URL, "")
    try:
        parts = urlsplit(url)
        usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        raise SettingsError(
            f"{names.BYPASS_URL} is not the URL of an enqueue endpoint, which {names.ON_QUEUE_FAILURE}=bypass needs; "
            "write one such as http://127.0.0.1:8081/v1/jobs"
        )
    return url


def _policy(environ: Mapping[str, str]) -> PolicySpec:
    policy = _declared_policy(environ)
    return policy.model_copy(update={"mode": "off"}) if _admits_always(environ) else policy


def _admits_always(environ: Mapping[str, str]) -> bool:
    text = environ.get(names.ADMIT_ALWAYS, "0")
    if text not in {"", "0", "1"}:
        raise SettingsError(f"{names.ADMIT_ALWAYS} is {text!r}; it must be 1 to admit everything, or 0")
    return text == "1"


def _declared_policy(environ: Mapping[str, str]) -> PolicySpec:
    text = environ.get(names.POLICY)
    if text is None:
        return NoPolicy(kind="none")
    try:
        return POLICY_ADAPTER.validate_json(text)
    except ValidationError as error:
        detail = error.errors(include_url=False)[0]
        place = ".".join(str(part) for part in detail["loc"]) or "the text"
        raise SettingsError(f"{names.POLICY} is not a policy: {place}: {detail['msg']}") from None


def _seconds(environ: Mapping[str, str], name: str, default_s: float) -> float:
    text = environ.get(name, str(default_s))
    try:
        value_s = float(text)
    except ValueError:
        value_s = math.nan
    if not (math.isfinite(value_s) and value_s > 0):
        raise SettingsError(f"{name} is {text!r}; it must be a number of seconds above 0")
    return value_s
