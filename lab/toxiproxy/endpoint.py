"""One socket of a connection: source of the link that leads away from it, sink of the other.

Knows transports. Must not know toxics.
"""

import asyncio
import socket
import struct
from collections.abc import Callable

from lab.toxiproxy.toxics import Chunk

CHUNK_BYTES = 32 * 1024
_READ_INTO = memoryview(bytearray(CHUNK_BYTES))  # shared: what one read gave is copied before the next read
_RESET_ON_CLOSE = struct.pack("ii", 1, 0)


class Endpoint(asyncio.BufferedProtocol):
    """Its owner sets what becomes of what it reads."""

    def __init__(self, on_open: Callable[[], None], on_lost: Callable[[], None]) -> None:
        self.on_data: Callable[[bytes], None] = _drop
        self.on_end: Callable[[], None] = _nothing
        self.source: Endpoint | None = None
        self.transport: asyncio.Transport | None = None
        self.received_bytes = 0
        self.sent_bytes = 0
        self._on_open = on_open
        self._on_lost = on_lost
        self._holds: set[object] = set()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The socket is open."""
        if not isinstance(transport, asyncio.Transport):
            raise TypeError(f"{transport!r} is no stream")
        self.transport = transport
        self._on_open()

    def get_buffer(self, _sizehint: int) -> memoryview:
        """Where to read into; its size is what makes a chunk."""
        return _READ_INTO

    def buffer_updated(self, nbytes: int) -> None:
        """One read."""
        self.received_bytes += nbytes
        self.on_data(bytes(_READ_INTO[:nbytes]))

    def eof_received(self) -> bool:
        """The other side writes no more. The socket stays open: when it closes is for the links to say."""
        self.on_end()
        return True

    def connection_lost(self, _reason: Exception | None) -> None:
        """The socket is closed, or broken, which ends its stream too."""
        self.on_end()
        self._on_lost()

    def pause_writing(self) -> None:
        """Too much waits to be sent."""
        if self.source is not None:
            self.source.hold(self)

    def resume_writing(self) -> None:
        """There is room again."""
        if self.source is not None:
            self.source.let_go(self)

    def hold(self, why: object) -> None:
        """Reads nothing until `why`, and every other reason to hold, is gone."""
        if not self._holds and self.transport is not None:
            self.transport.pause_reading()
        self._holds.add(why)

    def let_go(self, why: object) -> None:
        """That reason to hold is gone."""
        if why in self._holds:
            self._holds.remove(why)
            if not self._holds and self.transport is not None:
                self.transport.resume_reading()

    def feed(self, chunk: Chunk) -> None:
        """Writes."""
        if self.transport is not None and not self.transport.is_closing():
            self.sent_bytes += len(chunk.data)
            self.transport.write(chunk.data)

    def feed_end(self) -> None:
        """Closes both directions, once what was written is sent: half a close is not passed on."""
        if self.transport is not None:
            self.transport.close()

    def abort(self) -> None:
        """Closes at once."""
        if self.transport is not None:
            self.transport.abort()

    def reset_on_close(self) -> None:
        """Makes the close a TCP reset."""
        if self.transport is not None:
            connected: socket.socket = self.transport.get_extra_info("socket")
            connected.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)


def _drop(_data: bytes) -> None:
    pass


def _nothing() -> None:
    pass
