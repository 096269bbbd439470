"""The worker's settings, read once from the environment. Knows names and bounds; must not know where they are used."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from lab.contract import environment as env
from worker.breaker import BreakerRule
from worker.values import address, api_key, ca_file, count, model_url, ratio, redis_url, seconds, switch, word

DEFAULT_HOST = "127.0.0.1"
MOST_PORT = 65_535
MOST_SLOTS = 4096
MOST_ATTEMPTS = 100
MOST_FAILURES = 1000


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything a worker is told. `worker_id` is its name as a consumer; no two running workers may share one."""

    redis_url: str = field(repr=False)
    worker_id: str
    slots: int
    model_url: str
    model_name: str
    model_api_key: str = field(repr=False)
    model_connect: str | None
    model_ca_file: str | None
    lab_headers: bool
    connect_timeout_s: float
    first_token_timeout_s: float
    total_timeout_s: float
    max_attempts: int
    heartbeat_s: float
    reclaim_after_s: float
    drain_s: float
    alive_file: Path | None
    host: str
    metrics_port: int | None
    breaker: BreakerRule | None
    retry_budget_ratio: float | None


def read_settings(environ: Mapping[str, str]) -> Settings:
    """The settings in `environ`; what it does not name has the default of the contract's Stack.

    Raises:
        SettingsError: a value that cannot be used. The sentence holds no secret.
    """
    return Settings(
        redis_url=redis_url(environ),
        worker_id=word(environ, env.SERVICE_ID, environ.get(env.HOSTNAME) or "worker-1"),
        slots=count(environ, env.WORKER_SLOTS, 4, MOST_SLOTS),
        model_url=model_url(environ),
        model_name=word(environ, env.MODEL_NAME, env.DEFAULT_MODEL_NAME),
        model_api_key=api_key(environ),
        model_connect=address(environ, env.MODEL_CONNECT),
        model_ca_file=ca_file(environ),
        lab_headers=switch(environ, env.MODEL_LAB_HEADERS, default=not _is_real_endpoint(environ)),
        connect_timeout_s=seconds(environ, env.CONNECT_TIMEOUT_S, 2.0),
        first_token_timeout_s=seconds(environ, env.FIRST_TOKEN_TIMEOUT_S, 30.0),
        total_timeout_s=seconds(environ, env.TOTAL_TIMEOUT_S, 60.0),
        max_attempts=count(environ, env.MAX_ATTEMPTS, 1, MOST_ATTEMPTS),
        heartbeat_s=seconds(environ, env.HEARTBEAT_S, 0.5),
        reclaim_after_s=seconds(environ, env.RECLAIM_AFTER_S, 3.0),
        drain_s=seconds(environ, env.DRAIN_S, env.WORKER_DRAIN_S),
        alive_file=Path(environ[env.ALIVE_FILE]) if environ.get(env.ALIVE_FILE) else None,
        host=word(environ, env.HOST, DEFAULT_HOST),
        metrics_port=_metrics_port(environ),
        breaker=_breaker(environ),
        retry_budget_ratio=ratio(environ, env.RETRY_BUDGET_RATIO),
    )


def _metrics_port(environ: Mapping[str, str]) -> int | None:
    return count(environ, env.METRICS_PORT, 0, MOST_PORT) if environ.get(env.METRICS_PORT) else None


def _is_real_endpoint(environ: Mapping[str, str]) -> bool:
    # The lab's own model speaks plain http and needs no key, and workers go to a proxy in front of it by MODEL_URL.
    return bool(api_key(environ) or environ.get(env.MODEL_CONNECT)) or model_url(environ).startswith("https:")


def _breaker(environ: Mapping[str, str]) -> BreakerRule | None:
    if not environ.get(env.BREAKER_FAILURES):
        return None
    return BreakerRule(
        failures=count(environ, env.BREAKER_FAILURES, 5, MOST_FAILURES),
        open_for_s=seconds(environ, env.BREAKER_OPEN_FOR_S, 2.0),
        probes=count(environ, env.BREAKER_PROBES, 1, MOST_SLOTS),
    )
