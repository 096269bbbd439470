"""The one place that drives a Toxiproxy, real or embedded, through `toxiproxy-python`.

The library's traps, and what is done about each here:
- its host and port are class attributes, one server per process: set under a lock, for each call anew
- it knows no time-outs, and takes the proxy settings of the environment: every request goes through `_GuardedRequests`
- it swallows 403, 500 and 503: so does `_GuardedRequests` turn them into ToxiproxyRefusedError
- it does not escape names: they are checked against a pattern that needs none
- `add_toxic` returns nothing, `disable` believes itself: after every change the server is read again
- `populate` deletes what it does not recognise, `running` only opens a socket: neither is used
"""

import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import quote

import requests
import toxiproxy.api
from requests.exceptions import RequestException
from toxiproxy import Toxiproxy
from toxiproxy.api import APIConsumer
from toxiproxy.exceptions import InvalidToxic, NotFound, ProxyExists

Result = TypeVar("Result")
_NAME = re.compile(r"^[A-Za-z0-9_-]{1,64}$")
_ERROR_STATUS = 400
TOXICITY_TOLERANCE = 1e-6
# The statuses that the library turns into exceptions of its own.
_LIBRARY_STATUSES = (400, 404, 409)


class ToxiproxyError(Exception):
    """Anything that keeps a call from having happened; one sentence.

    ToxiproxyUnreachableError   no answer, or none in time
    ToxiproxyRefusedError       the server said no
    ToxiproxyUnverifiedError    the server said yes, and reads differently
    """


class ToxiproxyUnreachableError(ToxiproxyError):
    """No answer from the proxy's API."""


class ToxiproxyRefusedError(ToxiproxyError):
    """The proxy's API refused the call."""


class ToxiproxyUnverifiedError(ToxiproxyError):
    """What was asked for is not what is read back."""


@dataclass(frozen=True, slots=True)
class ToxicState:
    """A toxic as the server tells it."""

    name: str
    type: str
    stream: str
    toxicity: float
    attributes: dict[str, int]

    def is_told_by(self, told: "ToxicState") -> bool:
        """Whether what the server tells is this toxic; attributes left out are the server's to fill."""
        same = (told.name, told.type, told.stream) == (self.name, self.type, self.stream)
        # The server keeps toxicity as a 32-bit float.
        close = abs(told.toxicity - self.toxicity) < TOXICITY_TOLERANCE
        return same and close and self.attributes.items() <= told.attributes.items()


@dataclass(frozen=True, slots=True)
class ProxyState:
    """A proxy as the server tells it."""

    name: str
    listen: str
    upstream: str
    enabled: bool
    toxics: tuple[ToxicState, ...]


class ToxiproxyClient:
    """One server's API. Calls block, each at most `timeout_s` per request; safe to use from several threads."""

    def __init__(self, host: str, port: int, timeout_s: float) -> None:
        """Nothing is contacted yet."""
        self._host, self._port, self._timeout_s = host, port, timeout_s

    def version(self) -> str:
        """What the server calls its version."""
        answer = self._raw("/version")
        return str(answer["version"]) if isinstance(answer, dict) and "version" in answer else str(answer)

    def proxies(self) -> dict[str, ProxyState]:
        """Every proxy by name, toxics included."""
        told = self._raw("/proxies")
        return self._call(lambda _server: {name: _proxy_state(proxy) for name, proxy in told.items()})

    def create_proxy(self, name: str, listen: str, upstream: str) -> None:
        """Makes a proxy; one of the same name, listen and upstream that is there already is kept with its toxics."""
        _check_name(name)
        there = self.proxies().get(name)
        if there is None or not (_same_listen(there.listen, listen) and there.upstream == upstream):
            self._call(lambda server: server.create(upstream=upstream, name=name, listen=listen))
        self._verify(name, lambda proxy: proxy.enabled and proxy.upstream == upstream, f"proxy {name} at {listen}")

    def point_proxy(self, name: str, listen: str, upstream: str) -> None:
        """Makes a proxy, in place of one of the same name that leads elsewhere."""
        _check_name(name)
        there = self.proxies().get(name)
        if there is not None and there.upstream != upstream:
            self._call(lambda server: _proxy_of(server, name).destroy())
        self.create_proxy(name, listen, upstream)

    def add_toxic(
        self, proxy: str, name: str, kind: str, *, stream: str, toxicity: float, attributes: dict[str, int]
    ) -> None:
        """Adds a toxic, acting on live connections too."""
        _check_name(name)
        self._call(
            lambda server: _proxy_of(server, proxy).add_toxic(
                name=name, type=kind, stream=stream, toxicity=toxicity, attributes=attributes
            )
        )
        asked = ToxicState(name, kind, stream, toxicity, attributes)
        self._verify(proxy, lambda state: any(asked.is_told_by(toxic) for toxic in state.toxics), str(asked))

    def update_toxic(self, proxy: str, name: str, *, attributes: dict[str, int]) -> None:
        """Changes the attributes of a toxic that is there, for live connections too."""
        _check_name(name)
        path = f"/proxies/{quote(proxy)}/toxics/{name}"
        self._call(lambda _server: APIConsumer.post(path, json={"attributes": attributes}))
        self._verify(
            proxy,
            lambda state: any(
                toxic.name == name and attributes.items() <= toxic.attributes.items() for toxic in state.toxics
            ),
            f"toxic {name} with {attributes}",
        )

    def remove_toxic(self, proxy: str, name: str) -> None:
        """Removes a toxic; one that is not there is fine."""
        _check_name(name)
        state = self.proxies().get(proxy)
        if state is not None and any(toxic.name == name for toxic in state.toxics):
            self._call(lambda server: _proxy_of(server, proxy).destroy_toxic(name))
        self._verify(proxy, lambda state: all(toxic.name != name for toxic in state.toxics), f"toxic {name} gone")

    def set_enabled(self, proxy: str, enabled: bool) -> None:
        """Enables a proxy, or disables it: new connections refused, open ones dropped."""
        self._call(lambda server: _switch(_proxy_of(server, proxy), enabled=enabled))
        wanted = f"proxy {proxy} {'enabled' if enabled else 'disabled'}"
        self._verify(proxy, lambda state: state.enabled == enabled, wanted)

    def reset(self) -> None:
        """Removes every toxic and enables every proxy."""
        self._call(lambda server: server.reset())
        if left := self.leftovers():
            raise ToxiproxyUnverifiedError(f"after a reset: {'; '.join(left)}")

    def leftovers(self) -> list[str]:
        """A sentence for every toxic that is there and every proxy that is disabled."""
        left = []
        for proxy in self.proxies().values():
            left += [f"proxy {proxy.name} still has toxic {toxic.name}" for toxic in proxy.toxics]
            left += [] if proxy.enabled else [f"proxy {proxy.name} is still disabled"]
        return left

    def touched_connections(self, proxy: str, toxic: str) -> int | None:
        """How many connections a toxic acted on; None from a server that does not count, as Toxiproxy does not."""
        try:
            told = self._raw("/lab/connections")
        except ToxiproxyRefusedError:
            return None
        count = told.get(proxy, {}).get("toxics", {}).get(toxic) if isinstance(told, dict) else None
        return count if isinstance(count, int) else None

    def _raw(self, path: str) -> Any:
        """A route that the library does not speak, or does not return whole, read with its own consumer."""
        answer = self._call(lambda _server: APIConsumer.get(quote(path)))
        try:
            return answer.json()
        except ValueError:
            raise ToxiproxyRefusedError(f"the proxy's API answered {path} with something that is not JSON") from None

    def _call(self, call: Callable[[Toxiproxy], Result]) -> Result:
        with _pointed_at(self._host, self._port, self._timeout_s):
            try:
                return call(Toxiproxy())
            except (ProxyExists, NotFound, InvalidToxic) as error:
                raise ToxiproxyRefusedError(f"the proxy's API refused: {_text(error)}") from None
            except (KeyError, TypeError, AttributeError, ValueError) as error:
                # The library takes a reply apart without looking at it first.
                raise ToxiproxyRefusedError(
                    f"the proxy's API gave a reply that is none of Toxiproxy's: {type(error).__name__} {error}"
                ) from None
            except RequestException as error:
                raise ToxiproxyUnreachableError(
                    f"the proxy's API at {self._host}:{self._port} does not answer: {type(error).__name__}"
                ) from None

    def _verify(self, proxy: str, holds: Callable[[ProxyState], bool], wanted: str) -> None:
        state = self.proxies().get(proxy)
        if state is None or not holds(state):
            raise ToxiproxyUnverifiedError(f"asked for {wanted}, but the proxy's API reads {state}")


class _GuardedRequests:
    """Stands where the library looks for `requests`: the same three calls, with a time-out and with errors raised."""

    def __init__(self) -> None:
        self.timeout_s = 10.0

    def get(self, url: str, **options: Any) -> requests.Response:
        return self._send("GET", url, options)

    def post(self, url: str, **options: Any) -> requests.Response:
        return self._send("POST", url, options)

    def delete(self, url: str, **options: Any) -> requests.Response:
        return self._send("DELETE", url, options)

    def _send(self, method: str, url: str, options: dict[str, Any]) -> requests.Response:
        with requests.Session() as session:
            # A proxy that the environment names for the outside world has no business here.
            session.trust_env = False
            answer = session.request(method, url, timeout=self.timeout_s, **options)
        if answer.status_code >= _ERROR_STATUS and answer.status_code not in _LIBRARY_STATUSES:
            raise ToxiproxyRefusedError(f"the proxy's API answered {answer.status_code}: {answer.text.strip()[:300]}")
        return answer


_LOCK = threading.RLock()
_GUARDED = _GuardedRequests()
toxiproxy.api.requests = _GUARDED


@contextmanager
def _pointed_at(host: str, port: int, timeout_s: float) -> Iterator[None]:
    with _LOCK:
        APIConsumer.host, APIConsumer.port, _GUARDED.timeout_s = host, port, timeout_s
        yield


def _same_listen(one: str, other: str) -> bool:
    """Whether two listen addresses are one; every interface is spelled in two ways."""
    (host, _, port), (other_host, _, other_port) = one.rpartition(":"), other.rpartition(":")
    every = ("[::]", "0.0.0.0", "")
    return port == other_port and (host == other_host or (host in every and other_host in every))


def _proxy_of(server: Toxiproxy, name: str) -> Any:
    proxy = server.get_proxy(name)
    if proxy is None:
        raise ToxiproxyRefusedError(f"there is no proxy {name!r}")
    return proxy


def _switch(proxy: Any, *, enabled: bool) -> None:
    if enabled:
        proxy.enable()
    else:
        proxy.disable()


def _proxy_state(told: dict[str, Any]) -> ProxyState:
    toxics = tuple(
        ToxicState(toxic["name"], toxic["type"], toxic["stream"], float(toxic["toxicity"]), dict(toxic["attributes"]))
        for toxic in told.get("toxics") or ()
    )
    return ProxyState(told["name"], told["listen"], told["upstream"], bool(told["enabled"]), toxics)


def _check_name(name: str) -> None:
    if not _NAME.match(name):
        raise ToxiproxyRefusedError(f"{name!r} cannot name a proxy or toxic; use up to 64 letters, digits, - and _")


def _text(error: Exception) -> str:
    said = error.args[0] if error.args else ""
    return (said.decode("utf-8", "replace") if isinstance(said, bytes) else str(said)).strip()[:300]
