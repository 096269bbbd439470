"""Accepts connections on a listening socket, until it is told to stop.

asyncio's own server is not used: closed between the accept and the making of a transport, it loses the accepted socket
without closing it, and its client waits for ever.
"""

import asyncio
import socket
from collections.abc import Callable

from lab.toxiproxy.addresses import BACKLOG

# Where the process has no descriptor left, the next try waits, or it would fail without pause.
RETRY_S = 0.5


class Acceptor:
    """Owns the listening socket; `on_accept` owns what was accepted."""

    def __init__(self, listener: socket.socket, on_accept: Callable[[socket.socket], None]) -> None:
        self._listener = listener
        self._on_accept = on_accept
        self._retry: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """Accepts from now on."""
        self._listener.setblocking(False)
        asyncio.get_running_loop().add_reader(self._listener, self._accept_all)

    def stop(self) -> None:
        """Closes the socket; who connects is refused."""
        if self._retry is not None:
            self._retry.cancel()
        asyncio.get_running_loop().remove_reader(self._listener)
        self._listener.close()

    def _accept_all(self) -> None:
        # Bounded, so that a storm of connects does not starve the open connections.
        for _ in range(BACKLOG):
            try:
                accepted, _address = self._listener.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError:
                self._pause()
                return
            self._on_accept(accepted)

    def _pause(self) -> None:
        loop = asyncio.get_running_loop()
        loop.remove_reader(self._listener)
        self._retry = loop.call_later(RETRY_S, self.start)
