"""A proxy: where it listens, where it leads, its toxics and its open connections."""

import socket
from typing import Any

from lab.toxiproxy import addresses
from lab.toxiproxy.acceptor import Acceptor
from lab.toxiproxy.addresses import AddressError
from lab.toxiproxy.connection import Connection
from lab.toxiproxy.draws import ConnectionDraws
from lab.toxiproxy.errors import cannot_listen, toxic_not_found
from lab.toxiproxy.go_json import Object
from lab.toxiproxy.placed_toxic import Direction, PlacedToxic, place_toxic


class Proxy:
    """Stopped when made; `listen` is as given until the proxy has started, and resolved from then on."""

    def __init__(self, name: str, listen: str, upstream: str, seed: int) -> None:
        self.name = name
        self.listen = listen
        self.upstream = upstream
        self._seed = seed
        self._acceptor: Acceptor | None = None
        self._chains: dict[Direction, list[PlacedToxic]] = {direction: [] for direction in Direction}
        self._connections: set[Connection] = set()
        self._accepted_count = 0
        self._received_bytes = dict.fromkeys(Direction, 0)
        self._sent_bytes = dict.fromkeys(Direction, 0)

    @property
    def enabled(self) -> bool:
        """Whether it listens."""
        return self._acceptor is not None

    @property
    def toxics(self) -> list[PlacedToxic]:
        """Upstream first, then downstream, each in the order of creation."""
        return [toxic for direction in Direction for toxic in self._chains[direction]]

    async def start(self) -> None:
        """Listens, unless it does already.

        Raises:
            ApiError: it cannot.
        """
        if self._acceptor is None:
            try:
                listening = await addresses.listen(self.listen)
            except AddressError as error:
                raise cannot_listen(str(error)) from None
            self.listen = addresses.listening_address(listening)
            self._acceptor = Acceptor(listening, self._accept)
            self._acceptor.start()

    def stop(self) -> None:
        """Listens no more and closes every connection."""
        if self._acceptor is not None:
            self._acceptor.stop()
            self._acceptor = None
        for connection in list(self._connections):
            connection.abort()

    async def update(self, listen: str, upstream: str, enabled: bool) -> None:
        """Moves it, which restarts it and closes its connections, and starts or stops it.

        Raises:
            ApiError: the address is bad, which changes nothing, or cannot be listened on, which leaves it stopped.
        """
        if await self.differs(listen, upstream):
            self.stop()
            self.listen, self.upstream = listen, upstream
        if enabled:
            await self.start()
        else:
            self.stop()

    async def differs(self, listen: str, upstream: str) -> bool:
        """Whether the addresses are others; port 0, or a wildcard spelled otherwise than as resolved, is another one.

        Raises:
            ApiError: `listen` is no address.
        """
        try:
            host, port = await addresses.resolve(listen)
        except AddressError as error:
            raise cannot_listen(str(error)) from None
        return self.listen != addresses.join_address(host, port) or self.upstream != upstream

    def toxic(self, name: str) -> PlacedToxic:
        """The toxic of this name.

        Raises:
            ApiError: there is none.
        """
        for toxic in self.toxics:
            if toxic.name == name:
                return toxic
        raise toxic_not_found()

    def add_toxic(self, fields: Object) -> PlacedToxic:
        """Adds a toxic, on open connections too.

        Raises:
            ApiError: as place_toxic says.
        """
        toxic = place_toxic(fields, {known.name for known in self.toxics})
        self._chains[toxic.direction].append(toxic)
        for connection in list(self._connections):
            for link in connection.link(toxic.direction):
                link.add(toxic)
        return toxic

    def update_toxic(self, name: str, fields: Object) -> PlacedToxic:
        """Changes a toxic, on open connections too.

        Raises:
            ApiError: there is none, or a value is wrong; nothing has changed then.
        """
        toxic = self.toxic(name)
        toxic.update(fields)
        for connection in list(self._connections):
            for link in connection.link(toxic.direction):
                link.update(toxic)
        return toxic

    def remove_toxic(self, name: str) -> None:
        """Removes a toxic, from open connections too.

        Raises:
            ApiError: there is none.
        """
        toxic = self.toxic(name)
        self._chains[toxic.direction].remove(toxic)
        for connection in list(self._connections):
            for link in connection.link(toxic.direction):
                link.remove(toxic)

    def remove_all_toxics(self) -> None:
        """As one after another."""
        for toxic in self.toxics:
            self.remove_toxic(toxic.name)

    def as_json(self) -> dict[str, Any]:
        """As on the wire; the empty Logger is Toxiproxy's."""
        return {
            "name": self.name,
            "listen": self.listen,
            "upstream": self.upstream,
            "enabled": self.enabled,
            "Logger": {},
            "toxics": [toxic.as_json() for toxic in self.toxics],
        }

    def counts_as_json(self) -> dict[str, Any]:
        """Live counts, open connections included, by the direction of the data."""
        received, sent = self._received_bytes, self._sent_bytes
        return {
            "connections_accepted": self._accepted_count,
            "connections_open": len(self._connections),
            "received_bytes": {
                way.value: received[way] + sum(open_.received_bytes(way) for open_ in self._connections)
                for way in Direction
            },
            "sent_bytes": {
                way.value: sent[way] + sum(open_.sent_bytes(way) for open_ in self._connections) for way in Direction
            },
            "toxics": {toxic.name: toxic.touched_count for toxic in self.toxics},
        }

    def _accept(self, accepted: socket.socket) -> None:
        self._accepted_count += 1
        draws = ConnectionDraws(self._seed, self.name, self._accepted_count)
        connection = Connection(self.upstream, self._chains, draws, self._over)
        self._connections.add(connection)
        connection.open(accepted)

    def _over(self, connection: Connection) -> None:
        self._connections.discard(connection)
        for direction in Direction:
            self._received_bytes[direction] += connection.received_bytes(direction)
            self._sent_bytes[direction] += connection.sent_bytes(direction)
