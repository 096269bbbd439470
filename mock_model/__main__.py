"""`python -m mock_model`: the port, the server and the exit code. Knows uvicorn; must not know routes or behaviour."""

import os
import signal
import socket
import sys

import uvicorn

from lab.contract.names import EXIT_COULD_NOT_RUN, EXIT_OK, EXIT_USAGE
from mock_model.app import MockModel, create_app
from mock_model.floor import Floor
from mock_model.settings import Settings, SettingsError, read_settings

KEEP_ALIVE_S = 60
# Enough for an answer that was just ending; the floor ends all others at once.
SHUTDOWN_S = 1
BACKLOG = 2048


class ModelServer(uvicorn.Server):
    """A server whose stop does not wait for open answers."""

    def __init__(self, config: uvicorn.Config, floor: Floor) -> None:
        """`floor` is closed before the server waits for its connections."""
        super().__init__(config)
        self._floor = floor

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Ends every answer, then every connection."""
        self._floor.close()
        await super().shutdown(sockets)


def model_server(settings: Settings) -> ModelServer:
    """A server of one model; it takes its socket when it is run."""
    model = MockModel(settings, Floor(settings.slots))
    config = uvicorn.Config(
        create_app(model),
        access_log=False,
        log_level="error",
        lifespan="off",
        backlog=BACKLOG,
        server_header=False,
        date_header=False,
        timeout_keep_alive=KEEP_ALIVE_S,
        timeout_graceful_shutdown=SHUTDOWN_S,
        ssl_certfile=settings.tls_cert_file,
        ssl_keyfile=settings.tls_key_file,
    )
    return ModelServer(config, model.floor)


def main() -> int:
    """Serves until a signal: 0 stopped, 2 settings that cannot be used, 3 the port cannot be had."""
    # uvicorn raises the signal again once it has shut down; this makes of it the exit code.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: sys.exit(EXIT_OK))
    try:
        settings = read_settings(os.environ)
    except SettingsError as error:
        sys.stderr.write(f"mock_model: {error}\n")
        return EXIT_USAGE
    try:
        held = bound_socket(settings.host, settings.port)
    except OSError as error:
        where = f"{settings.host}:{settings.port}"
        sys.stderr.write(f"mock_model: cannot listen on {where}: {error.strerror or error}\n")
        return EXIT_COULD_NOT_RUN
    model_server(settings).run(sockets=[held])
    return EXIT_OK


def bound_socket(host: str, port: int) -> socket.socket:
    """A listening socket, had before the server is made so that a busy port is one sentence.

    Raises:
        OSError: the port cannot be had.
    """
    held = socket.create_server((host, port), family=_family(host), backlog=BACKLOG)
    # asyncio sets this only on sockets that it made itself; without it each small event waits 40 ms for a delayed ACK.
    held.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return held


def _family(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in host else socket.AF_INET


if __name__ == "__main__":
    sys.exit(main())
