"""One client's connection: its two sockets and the two links between them."""

import asyncio
import socket
from collections.abc import Callable, Iterable, Mapping

from lab.toxiproxy.addresses import split_address
from lab.toxiproxy.draws import ConnectionDraws
from lab.toxiproxy.endpoint import Endpoint
from lab.toxiproxy.link import Link
from lab.toxiproxy.placed_toxic import Direction, PlacedToxic

DIAL_TIMEOUT_S = 10.0


class Connection:
    """Dials upstream once the client is there; starts when upstream is there too; is over when both are gone."""

    def __init__(
        self,
        upstream: str,
        chains: Mapping[Direction, list[PlacedToxic]],
        draws: ConnectionDraws,
        on_over: Callable[["Connection"], None],
    ) -> None:
        self._upstream_address = upstream
        self._chains = chains
        self._draws = draws
        self._on_over = on_over
        self._links: dict[Direction, Link] = {}
        self._setting_up: asyncio.Task[None] | None = None
        self._aborted = False
        self._open_count = 0
        self.client = Endpoint(self._client_open, self._client_lost)
        self.upstream = Endpoint(self._upstream_open, self._upstream_lost)

    def received_bytes(self, direction: Direction) -> int:
        """Read from the socket that the direction comes from."""
        return (self.client if direction is Direction.UPSTREAM else self.upstream).received_bytes

    def sent_bytes(self, direction: Direction) -> int:
        """Written to the socket that the direction leads to."""
        return (self.upstream if direction is Direction.UPSTREAM else self.client).sent_bytes

    def link(self, direction: Direction) -> Iterable[Link]:
        """The link of a direction, once the connection has started."""
        return (self._links[direction],) if direction in self._links else ()

    def open(self, accepted: socket.socket) -> None:
        """Takes over the client's socket."""
        self._setting_up = asyncio.get_running_loop().create_task(self._set_up(accepted))

    def abort(self) -> None:
        """Closes both sockets at once; what the toxics hold is dropped."""
        self._aborted = True
        # Before the client's transport is there, a cancelled task would leave its socket to nobody.
        if self._setting_up is not None and self._open_count > 0:
            self._setting_up.cancel()
        for link in self._links.values():
            link.abandon()
        self.client.abort()
        self.upstream.abort()

    def _client_open(self) -> None:
        self._open_count += 1
        self.client.hold(self)
        if self._aborted:
            self.client.abort()

    async def _set_up(self, accepted: socket.socket) -> None:
        # The name is looked up here too, so that a slow resolver cannot hold other clients up.
        try:
            await asyncio.get_running_loop().connect_accepted_socket(lambda: self.client, accepted)
            if self._aborted:
                return
            host, port = split_address(self._upstream_address)
            async with asyncio.timeout(DIAL_TIMEOUT_S):
                await asyncio.get_running_loop().create_connection(lambda: self.upstream, host or "localhost", port)
        except (OSError, ValueError):
            self.client.abort()

    def _upstream_open(self) -> None:
        self._open_count += 1
        if self._aborted or self._open_count == 1:
            self.upstream.abort()
            return
        self.client.source, self.upstream.source = self.upstream, self.client
        if any(placed.toxic.lingers_zero for chain in self._chains.values() for placed in chain):
            self.client.reset_on_close()
            self.upstream.reset_on_close()
        self._start(Direction.UPSTREAM, self.client, self.upstream)
        self._start(Direction.DOWNSTREAM, self.upstream, self.client)
        self.client.let_go(self)

    def _start(self, direction: Direction, source: Endpoint, sink: Endpoint) -> None:
        link = Link(source, sink, asyncio.get_running_loop(), self._draws)
        self._links[direction] = link
        source.on_data, source.on_end = link.feed, link.feed_end
        link.start(self._chains[direction])

    def _client_lost(self) -> None:
        self._lost(Direction.DOWNSTREAM)

    def _upstream_lost(self) -> None:
        self._lost(Direction.UPSTREAM)

    def _lost(self, direction: Direction) -> None:
        for link in self.link(direction):
            link.abandon()
        self._open_count -= 1
        if self._open_count == 0:
            self._on_over(self)
