"""HTTP/1.1 for a small API: keep-alive, Content-Length and chunked bodies, bounded in size and time.

Knows bytes and requests. Must not know the routes. A web framework would take longer to import than the proxy to start.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from email.utils import formatdate
from http import HTTPStatus

from lab.toxiproxy.api import Request, Response

HEAD_LIMIT_BYTES = 64 * 1024
BODY_LIMIT_BYTES = 4 * 1024 * 1024
IDLE_TIMEOUT_S = 60.0
READ_TIMEOUT_S = 15.0
STOP_TIMEOUT_S = 2.0

Answer = Callable[[Request], Awaitable[Response]]


class _RefusedError(Exception):
    """A request that cannot be read; the connection ends with this status."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


class HttpServer:
    """Serves one handler on one listening socket."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self._writers: dict[asyncio.StreamWriter, asyncio.Task[None] | None] = {}
        self._server: asyncio.Server | None = None

    async def start(self, host: str, port: int) -> None:
        """Listens; OSError where it cannot."""
        self._server = await asyncio.start_server(self._serve, host, port, limit=HEAD_LIMIT_BYTES)

    async def stop(self) -> None:
        """Listens no more, closes every connection and waits a moment for the requests under way."""
        if self._server is not None:
            self._server.close()
        for writer in self._writers:
            writer.transport.abort()
        under_way = [task for task in self._writers.values() if task is not None]
        if under_way:
            await asyncio.wait(under_way, timeout=STOP_TIMEOUT_S)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers[writer] = asyncio.current_task()
        try:
            while await self._serve_one(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError, TimeoutError):
            pass
        finally:
            del self._writers[writer]
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()

    async def _serve_one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Answers one request; True where the connection may carry another."""
        try:
            async with asyncio.timeout(IDLE_TIMEOUT_S):
                head = await _read_head(reader)
            method, target, version, headers = _parse_head(head)
            if headers.get("expect", "").lower() == "100-continue":
                writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            async with asyncio.timeout(READ_TIMEOUT_S):
                body = await _read_body(reader, headers)
        except _RefusedError as refused:
            writer.write(_rendered(Response(refused.status), "GET", keep_alive=False))
            await writer.drain()
            return False
        keep_alive = _keeps_alive(version, headers)
        response = await self._answer(Request(method, target, headers, body))
        writer.write(_rendered(response, method, keep_alive))
        await writer.drain()
        return keep_alive


async def _read_head(reader: asyncio.StreamReader) -> bytes:
    try:
        return await reader.readuntil(b"\r\n\r\n")
    except asyncio.LimitOverrunError:
        raise _RefusedError(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE) from None


def _parse_head(head: bytes) -> tuple[str, str, str, dict[str, str]]:
    first, *lines = head.decode("latin-1").rstrip("\r\n").split("\r\n")
    parts = first.split(" ")
    if len(parts) != len(("method", "target", "version")) or not parts[2].startswith("HTTP/1."):
        raise _RefusedError(HTTPStatus.BAD_REQUEST)
    headers = {}
    for line in lines:
        name, colon, value = line.partition(":")
        if not colon or name != name.strip():
            raise _RefusedError(HTTPStatus.BAD_REQUEST)
        headers[name.lower()] = value.strip()
    return parts[0], parts[1], parts[2], headers


async def _read_body(reader: asyncio.StreamReader, headers: dict[str, str]) -> bytes:
    if "transfer-encoding" in headers:
        return await _read_chunked(reader, headers["transfer-encoding"])
    length = headers.get("content-length", "0")
    if not length.isdecimal():
        raise _RefusedError(HTTPStatus.BAD_REQUEST)
    if int(length) > BODY_LIMIT_BYTES:
        raise _RefusedError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
    return await reader.readexactly(int(length))


async def _read_chunked(reader: asyncio.StreamReader, encoding: str) -> bytes:
    if encoding.lower() != "chunked":
        raise _RefusedError(HTTPStatus.NOT_IMPLEMENTED)
    body = b""
    while size := await _read_chunk_size(reader):
        if len(body) + size > BODY_LIMIT_BYTES:
            raise _RefusedError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
        body += await reader.readexactly(size)
        await reader.readexactly(2)
    while await reader.readline() not in (b"\r\n", b"\n", b""):
        pass
    return body


async def _read_chunk_size(reader: asyncio.StreamReader) -> int:
    line = await reader.readline()
    try:
        size = int(line.partition(b";")[0], 16)
    except ValueError:
        size = -1
    if size < 0:
        raise _RefusedError(HTTPStatus.BAD_REQUEST)
    return size


def _keeps_alive(version: str, headers: dict[str, str]) -> bool:
    wish = headers.get("connection", "").lower()
    return wish == "keep-alive" if version == "HTTP/1.0" else wish != "close"


def _rendered(response: Response, method: str, keep_alive: bool) -> bytes:
    headers = {**response.headers, "Date": formatdate(usegmt=True)}
    if response.status != HTTPStatus.NO_CONTENT:
        headers["Content-Length"] = str(len(response.body))
    if not keep_alive:
        headers["Connection"] = "close"
    lines = [f"HTTP/1.1 {response.status} {HTTPStatus(response.status).phrase}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    body = b"" if method == "HEAD" else response.body
    return "\r\n".join((*lines, "", "")).encode("latin-1") + body
