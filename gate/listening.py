"""A listening socket, and uvicorn's settings for it."""

import logging
import socket

import uvicorn

GRACE_S = 5
BACKLOG = 2048


def listen(host: str, port: int) -> socket.socket:
    """A listening socket.

    Raises:
        OSError: the address cannot be used, such as a port in use.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio sets TCP_NODELAY only where the socket names its protocol; without it an answer waits 40 ms for an ACK.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(BACKLOG)
    except OSError:
        listener.close()
        raise
    return listener


def server_config(app: object) -> uvicorn.Config:
    """The settings of uvicorn: no access log, and its log goes where this process sends it, not to standard output."""
    logging.getLogger("uvicorn").setLevel(logging.WARNING)
    return uvicorn.Config(
        app,  # type: ignore[arg-type]  # any ASGI application; uvicorn's own union of protocols is not exported
        log_config=None,
        access_log=False,
        server_header=False,
        ws="none",
        timeout_graceful_shutdown=GRACE_S,
    )
