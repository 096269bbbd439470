"""The routes: what each answers, byte by byte as Toxiproxy does.

Knows requests and proxies. Must not know how a request is read from a socket.
"""

import asyncio
import base64
import os
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from urllib.parse import quote, unquote

from lab.toxiproxy import COMPATIBLE_VERSION
from lab.toxiproxy.collection import Proxies, ProxySpec
from lab.toxiproxy.errors import ApiError, bad_request_body
from lab.toxiproxy.go_json import GoJsonError, Object, decode, decode_object, encode, flag_field, text_field
from lab.toxiproxy.proxy import Proxy

HANDLER_TIMEOUT_S = 25.0
_JSON = {"Content-Type": "application/json"}
_TEXT = {"Content-Type": "text/plain; charset=utf-8", "X-Content-Type-Options": "nosniff"}
_ID_BYTES = 12


@dataclass(frozen=True, slots=True)
class Request:
    """`target` is the path as sent; header names are lower case."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class Response:
    """A status, a body and the headers that are not the same for all."""

    status: int
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)


Handler = Callable[[Request, dict[str, str]], Awaitable[Response]]


class Api:
    """Requests are handled one at a time, so that none sees another's half-done work."""

    def __init__(self, proxies: Proxies) -> None:
        self._proxies = proxies
        self._lock = asyncio.Lock()
        self._routes: tuple[tuple[str, str, Handler], ...] = (
            ("POST", "/reset", self._reset),
            ("GET", "/proxies", self._index),
            ("POST", "/proxies", self._create),
            ("POST", "/populate", self._populate),
            ("GET", "/proxies/{proxy}", self._show),
            ("POST PATCH", "/proxies/{proxy}", self._update),
            ("DELETE", "/proxies/{proxy}", self._delete),
            ("GET", "/proxies/{proxy}/toxics", self._toxics),
            ("POST", "/proxies/{proxy}/toxics", self._add_toxic),
            ("GET", "/proxies/{proxy}/toxics/{toxic}", self._show_toxic),
            ("POST PATCH", "/proxies/{proxy}/toxics/{toxic}", self._update_toxic),
            ("DELETE", "/proxies/{proxy}/toxics/{toxic}", self._delete_toxic),
            ("GET", "/version", self._version),
            ("GET", "/lab/connections", self._connections),
        )

    async def answer(self, request: Request) -> Response:
        """The answer; no request makes this raise."""
        path = unquote(request.target.partition("?")[0], errors="replace")
        if "//" in path:
            return Response(301, headers={"Location": quote(re.sub("/+", "/", path))})
        matches = [
            (methods, names, handler)
            for methods, pattern, handler in self._routes
            if (names := _match(pattern, path)) is not None
        ]
        if not matches:
            return Response(404, b"404 page not found\n", _TEXT)
        for methods, names, handler in matches:
            if request.method in methods.split():
                return _with_id(await self._handle(handler, request, names))
        return Response(405)

    async def _handle(self, handler: Handler, request: Request, names: dict[str, str]) -> Response:
        # Toxiproxy keeps web pages away from its API by what their browsers call themselves.
        if request.headers.get("user-agent", "").startswith("Mozilla/"):
            return Response(403, b"User agent not allowed\n", _TEXT)
        try:
            async with asyncio.timeout(HANDLER_TIMEOUT_S), self._lock:
                return await handler(request, names)
        except TimeoutError:
            return Response(503)
        except ApiError as error:
            return Response(error.status, encode(_error_json(error)) + b"\n", _TEXT)

    async def _reset(self, _request: Request, _names: dict[str, str]) -> Response:
        await self._proxies.reset()
        return Response(204)

    async def _index(self, _request: Request, _names: dict[str, str]) -> Response:
        return _json(200, {proxy.name: proxy.as_json() for proxy in self._proxies.all()})

    async def _create(self, request: Request, _names: dict[str, str]) -> Response:
        proxy = await self._proxies.add(ProxySpec.from_fields(_fields(request, "toxiproxy.Proxy")))
        return _json(201, proxy.as_json())

    async def _populate(self, request: Request, _names: dict[str, str]) -> Response:
        try:
            done, error = await self._proxies.populate(_entries(request.body))
        except ApiError as refused:
            done, error = [], refused
        proxies = {"proxies": [proxy.as_json() for proxy in done] or None}
        return _json(201, proxies) if error is None else _json(error.status, {**_error_json(error), **proxies})

    async def _show(self, _request: Request, names: dict[str, str]) -> Response:
        return _json(200, self._proxies.get(names["proxy"]).as_json())

    async def _update(self, request: Request, names: dict[str, str]) -> Response:
        proxy = self._proxies.get(names["proxy"])
        await proxy.update(*_changes(proxy, _fields(request, "toxiproxy.Proxy")))
        return _json(200, proxy.as_json())

    async def _delete(self, _request: Request, names: dict[str, str]) -> Response:
        self._proxies.remove(names["proxy"])
        return Response(204)

    async def _toxics(self, _request: Request, names: dict[str, str]) -> Response:
        return _json(200, [toxic.as_json() for toxic in self._proxies.get(names["proxy"]).toxics])

    async def _add_toxic(self, request: Request, names: dict[str, str]) -> Response:
        proxy = self._proxies.get(names["proxy"])
        return _json(200, proxy.add_toxic(_fields(request, "toxics.ToxicWrapper")).as_json())

    async def _show_toxic(self, _request: Request, names: dict[str, str]) -> Response:
        return _json(200, self._proxies.get(names["proxy"]).toxic(names["toxic"]).as_json())

    async def _update_toxic(self, request: Request, names: dict[str, str]) -> Response:
        proxy = self._proxies.get(names["proxy"])
        proxy.toxic(names["toxic"])
        return _json(200, proxy.update_toxic(names["toxic"], _fields(request, "a toxic")).as_json())

    async def _delete_toxic(self, _request: Request, names: dict[str, str]) -> Response:
        self._proxies.get(names["proxy"]).remove_toxic(names["toxic"])
        return Response(204)

    async def _version(self, _request: Request, _names: dict[str, str]) -> Response:
        body = f'{{"version": "{COMPATIBLE_VERSION}"}}\n'.encode()
        return Response(200, body, {"Content-Type": "application/json;charset=utf-8"})

    async def _connections(self, _request: Request, _names: dict[str, str]) -> Response:
        return _json(200, {proxy.name: proxy.counts_as_json() for proxy in self._proxies.all()})


def _match(pattern: str, path: str) -> dict[str, str] | None:
    wanted, given = pattern.split("/"), path.split("/")
    if len(wanted) != len(given):
        return None
    names = {}
    for part, value in zip(wanted, given, strict=True):
        if part.startswith("{") and value:
            names[part[1:-1]] = value
        elif part != value:
            return None
    return names


def _fields(request: Request, go_type: str) -> Object:
    try:
        return decode_object(request.body, go_type)
    except GoJsonError as error:
        raise bad_request_body(str(error)) from None


def _changes(proxy: Proxy, fields: Object) -> tuple[str, str, bool]:
    try:
        # The name is read, so that one of another type is refused, and then ignored.
        text_field(fields, "name", "Proxy")
        listen = text_field(fields, "listen", "Proxy", proxy.listen)
        upstream = text_field(fields, "upstream", "Proxy", proxy.upstream)
        return listen, upstream, flag_field(fields, "enabled", "Proxy", default=proxy.enabled)
    except GoJsonError as error:
        raise bad_request_body(str(error)) from None


def _entries(body: bytes) -> list[object]:
    try:
        value = decode(body)
    except GoJsonError as error:
        raise bad_request_body(str(error)) from None
    if not isinstance(value, list | None):
        raise bad_request_body("json: cannot unmarshal it into Go value of type []Proxy")
    return value or []


def _json(status: int, value: object) -> Response:
    return Response(status, encode(value), _JSON)


def _error_json(error: ApiError) -> dict[str, object]:
    return {"error": str(error), "status": error.status}


def _with_id(response: Response) -> Response:
    request_id = base64.b32hexencode(os.urandom(_ID_BYTES)).decode().rstrip("=").lower()
    return Response(response.status, response.body, {**response.headers, "X-Toxiproxy-Request-Id": request_id})
