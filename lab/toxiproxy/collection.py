"""The proxies by name, and what acts on several of them."""

from dataclasses import dataclass
from typing import Any

from lab.toxiproxy.errors import ApiError, bad_request_body, missing_field, proxy_already_exists, proxy_not_found
from lab.toxiproxy.go_json import Object, as_object, flag_field, text_field
from lab.toxiproxy.proxy import Proxy


@dataclass(frozen=True, slots=True)
class ProxySpec:
    """What a proxy is made from."""

    name: str
    listen: str
    upstream: str
    enabled: bool

    @classmethod
    def from_fields(cls, fields: Object, where: str = "") -> "ProxySpec":
        """Reads and checks; `where` ends the sentence about a missing field.

        Raises:
            ApiError: it is not usable.
        """
        try:
            name, listen, upstream = (text_field(fields, key, "Proxy") for key in ("name", "listen", "upstream"))
            spec = cls(name, listen, upstream, flag_field(fields, "enabled", "Proxy", default=True))
        except ValueError as error:
            raise bad_request_body(str(error)) from None
        for field in ("name", "upstream"):
            if not getattr(spec, field):
                raise missing_field(f"{field}{where}")
        return spec


class Proxies:
    """A proxy is kept only once it could start."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._by_name: dict[str, Proxy] = {}

    def get(self, name: str) -> Proxy:
        """The proxy of this name.

        Raises:
            ApiError: there is none.
        """
        try:
            return self._by_name[name]
        except KeyError:
            raise proxy_not_found() from None

    def all(self) -> list[Proxy]:
        """Ordered by name, as Toxiproxy writes them."""
        return [self._by_name[name] for name in sorted(self._by_name)]

    async def add(self, spec: ProxySpec) -> Proxy:
        """A new proxy.

        Raises:
            ApiError: it was not added.
        """
        if spec.name in self._by_name:
            raise proxy_already_exists()
        return await self._keep(spec)

    async def add_or_replace(self, spec: ProxySpec) -> Proxy:
        """The proxy that already is so, toxics and state included; else a new one, in place of any other of its name.

        Raises:
            ApiError: it cannot start; the one it was to replace is stopped then.
        """
        existing = self._by_name.get(spec.name)
        if existing is not None:
            if not await existing.differs(spec.listen, spec.upstream):
                return existing
            existing.stop()
        return await self._keep(spec)

    async def populate(self, entries: list[Any]) -> tuple[list[Proxy], ApiError | None]:
        """All of a list, in order; on an error, those done so far and the error. A faulty list is refused whole."""
        done: list[Proxy] = []
        try:
            for spec in proxy_specs(entries):
                done.append(await self.add_or_replace(spec))  # noqa: PERF401 - what is done before an error counts
        except ApiError as error:
            return done, error
        return done, None

    async def reset(self) -> None:
        """Starts every proxy and removes every toxic, up to the first that cannot start.

        Raises:
            ApiError: that one's.
        """
        for proxy in self.all():
            await proxy.start()
            proxy.remove_all_toxics()

    def remove(self, name: str) -> None:
        """Stops and forgets a proxy.

        Raises:
            ApiError: there is none.
        """
        self.get(name).stop()
        del self._by_name[name]

    def stop(self) -> None:
        """Stops every proxy."""
        for proxy in self.all():
            proxy.stop()

    async def _keep(self, spec: ProxySpec) -> Proxy:
        proxy = Proxy(spec.name, spec.listen, spec.upstream, self._seed)
        if spec.enabled:
            await proxy.start()
        self._by_name[spec.name] = proxy
        return proxy


def proxy_specs(entries: list[Any]) -> list[ProxySpec]:
    """Reads every entry before any of them is acted on; errors count entries from 1.

    Raises:
        ApiError: the first that is not usable.
    """
    try:
        fields = [as_object(entry, "value of type toxiproxy.Proxy") or {} for entry in entries]
    except ValueError as error:
        raise bad_request_body(str(error)) from None
    return [ProxySpec.from_fields(entry, f" at proxy {place}") for place, entry in enumerate(fields, start=1)]
