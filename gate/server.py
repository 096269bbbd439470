"""uvicorn, shut down in phases.

SIGTERM or SIGINT --> draining: new requests are refused with 503, so that whoever balances the load looks elsewhere
                  --> after DRAIN_NOTICE_S the listener closes and what is under way is finished
                  --> the admission core ends, exit code 0
"""

import logging
import socket
import time
from types import FrameType

import uvicorn

from gate.admission import Admission

DRAIN_NOTICE_S = 0.5
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


class GateServer(uvicorn.Server):
    """A server that drains before it closes."""

    def __init__(self, admission: Admission, config: uvicorn.Config) -> None:
        """Serves until a signal, or until the admission core fails."""
        super().__init__(config)
        self._admission = admission
        self._closes_at_s: float | None = None

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:  # noqa: ARG002 - uvicorn's signature
        """Begins to drain; a second signal ends the notice, not what is under way."""
        if self._closes_at_s is not None:
            self.should_exit = True
        self._drain()

    async def on_tick(self, counter: int) -> bool:
        """Whether it is time to close the listener."""
        if self._admission.failed:
            self._drain()
        ends = await super().on_tick(counter)
        return ends or (self._closes_at_s is not None and time.monotonic() >= self._closes_at_s)

    def _drain(self) -> None:
        self._admission.draining = True
        if self._closes_at_s is None:
            self._closes_at_s = time.monotonic() + DRAIN_NOTICE_S


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
