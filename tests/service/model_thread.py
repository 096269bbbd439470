"""A real mock model for service tests: uvicorn on a free port of loopback, in a thread of its own."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import httpx

from mock_model.__main__ import bound_socket, model_server
from mock_model.settings import read_settings
from tests.service.redis_servers import LOOPBACK

STARTS_WITHIN_S = 10


@contextmanager
def running_model(*, slots: int = 16, seed: int = 7, **environ: str) -> Iterator[str]:
    """The root URL of a model that is at rest and runs until the block ends; `environ` adds settings by name."""
    held = bound_socket(LOOPBACK, 0)
    server = model_server(read_settings({"MODEL_SLOTS": str(slots), "SEED": str(seed), **environ}))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [held]})
    thread.start()
    try:
        limit_at = time.monotonic() + STARTS_WITHIN_S
        while not server.started and time.monotonic() < limit_at:
            time.sleep(0.01)
        yield f"{'https' if 'TLS_CERT_FILE' in environ else 'http'}://{LOOPBACK}:{held.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()


def disturb(model_url: str, **disturbance: object) -> None:
    """Sets how the model misbehaves from now on."""
    httpx.post(f"{model_url}/admin/config", json=disturbance, trust_env=False).raise_for_status()


def state(model_url: str) -> dict[str, object]:
    """What the model says of itself."""
    answer = httpx.get(f"{model_url}/admin/config", trust_env=False)
    return dict(answer.raise_for_status().json())


def wait_for(model_url: str, **wanted: object) -> None:
    """Returns once the model's state has these values; fails with what it had instead."""
    limit_at = time.monotonic() + STARTS_WITHIN_S
    while (found := {name: state(model_url)[name] for name in wanted}) != wanted:
        assert time.monotonic() < limit_at, f"awaited {wanted} of the model, which says {found}"
        time.sleep(0.01)
