"""The worker's settings, read once from the environment. Knows names and bounds; must not know where they are used."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from lab.contract import environment as env
from worker.breaker import BreakerRule
from worker.values import api_key, count, model_url, ratio, redis_url, seconds, word

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
    connect_timeout_s: float
    first_token_timeout_s: float
    total_timeout_s: float
    max_attempts: int
    heartbeat_s: float
    reclaim_after_s: float
    drain_s: float
    breaker: BreakerRule | None
    retry_budget_ratio: float | None


def read_settings(environ: Mapping[str, str]) -> Settings:
    """The settings in `environ`; what it does not name has the default of the contract's Stack.

    Raises:
        SettingsError: a value that cannot be used. The sentence holds no secret.
    """
    return Settings(
        redis_url=redis_url(environ),
        worker_id=word(environ, env.SERVICE_ID, "worker-1"),
        slots=count(environ, env.WORKER_SLOTS, 4, MOST_SLOTS),
        model_url=model_url(environ),
        model_name=word(environ, env.MODEL_NAME, env.DEFAULT_MODEL_NAME),
        model_api_key=api_key(environ),
        connect_timeout_s=seconds(environ, env.CONNECT_TIMEOUT_S, 2.0),
        first_token_timeout_s=seconds(environ, env.FIRST_TOKEN_TIMEOUT_S, 30.0),
        total_timeout_s=seconds(environ, env.TOTAL_TIMEOUT_S, 60.0),
        max_attempts=count(environ, env.MAX_ATTEMPTS, 1, MOST_ATTEMPTS),
        heartbeat_s=seconds(environ, env.HEARTBEAT_S, 0.5),
        reclaim_after_s=seconds(environ, env.RECLAIM_AFTER_S, 3.0),
        drain_s=seconds(environ, env.DRAIN_S, env.WORKER_DRAIN_S),
        breaker=_breaker(environ),
        retry_budget_ratio=ratio(environ, env.RETRY_BUDGET_RATIO),
    )


def _breaker(environ: Mapping[str, str]) -> BreakerRule | None:
    if env.BREAKER_FAILURES not in environ:
        return None
    return BreakerRule(
        failures=count(environ, env.BREAKER_FAILURES, 5, MOST_FAILURES),
        open_for_s=seconds(environ, env.BREAKER_OPEN_FOR_S, 2.0),
        probes=count(environ, env.BREAKER_PROBES, 1, MOST_SLOTS),
    )
