"""The config file: Toxiproxy's JSON array of proxies, each of which may also hold `toxics`, as the API takes them."""

from pathlib import Path

from lab.toxiproxy.collection import Proxies, ProxySpec, proxy_specs
from lab.toxiproxy.errors import ApiError, bad_request_body
from lab.toxiproxy.go_json import GoJsonError, Object, as_object, decode
from lab.toxiproxy.placed_toxic import place_toxic


class ConfigError(Exception):
    """A config file that cannot be used; one sentence that names it."""


class Config:
    """A file that was read and found right, toxics included."""

    def __init__(self, path: Path) -> None:
        """Reads the file.

        Raises:
            ConfigError: it cannot be read, or something in it is wrong.
        """
        try:
            entries = decode(path.read_bytes())
            if not isinstance(entries, list):
                raise bad_request_body("a config file is a JSON array of proxies")
            self._specs = proxy_specs(entries)
            self._toxics = [_toxics_of(entry, place) for place, entry in enumerate(entries, start=1)]
        except OSError as error:
            raise ConfigError(f"{path}: cannot be read: {error.strerror}") from None
        except (ApiError, GoJsonError) as error:
            raise ConfigError(f"{path}: {error}") from None

    async def apply(self, proxies: Proxies) -> None:
        """Creates the proxies with their toxics.

        Raises:
            ApiError: a proxy cannot listen.
        """
        for spec, toxics in zip(self._specs, self._toxics, strict=True):
            await self._create(proxies, spec, toxics)

    async def _create(self, proxies: Proxies, spec: ProxySpec, toxics: list[Object]) -> None:
        proxy = await proxies.add_or_replace(spec)
        for toxic in toxics:
            proxy.add_toxic(toxic)


def _toxics_of(entry: Object | None, place: int) -> list[Object]:
    listed = (entry or {}).get("toxics") or []
    if not isinstance(listed, list):
        raise bad_request_body(f"toxics of proxy {place} must be a list")
    toxics = [as_object(each, f"toxic of proxy {place}") or {} for each in listed]
    names: set[str] = set()
    for fields in toxics:
        names.add(place_toxic(fields, names).name)
    return toxics
