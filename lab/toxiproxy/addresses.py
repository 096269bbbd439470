"""TCP addresses as Go reads and prints them, and listening sockets on them."""

import asyncio
import errno
import os
import socket
from ipaddress import ip_address

BACKLOG = 1024
_LARGEST_PORT = 65535


class AddressError(ValueError):
    """An address that cannot be understood or had; the sentence is Go's."""


def split_address(address: str) -> tuple[str, int]:
    """Host and port of `host:port`, `[host]:port` or `:port`; an empty address is any host, any port.

    Raises:
        AddressError: it is neither.
    """
    if not address:
        return "", 0
    host, colon, port = address.rpartition(":")
    if not colon or address.endswith("]"):
        raise AddressError(f"address {address}: missing port in address")
    if host.startswith("[") and host.endswith("]"):
        return host[1:-1], _port_number(port)
    if ":" in host:
        raise AddressError(f"address {address}: too many colons in address")
    return host, _port_number(port)


def join_address(host: str, port: int) -> str:
    """`host:port`, with brackets around an IPv6 host."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


async def resolve(address: str) -> tuple[str, int]:
    """The IP address, IPv4 where there is one, and the port; a missing host stays empty.

    Raises:
        AddressError: the address cannot be understood, or its host has none.
    """
    host, port = split_address(address)
    if not host or _is_ip(host):
        return host, port
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise AddressError(f"lookup {host}: no such host") from None
    found.sort(key=lambda entry: entry[0] != socket.AF_INET)
    return str(found[0][4][0]), port


async def listen(address: str) -> socket.socket:
    """A listening socket; on all of IPv4 and IPv6 where the host is missing or a wildcard.

    Raises:
        AddressError: the address cannot be understood, or cannot be had.
    """
    try:
        host, port = await resolve(address)
    except AddressError as error:
        raise AddressError(f"listen tcp: {error}") from None
    try:
        return _bound(host, port)
    except OSError as error:
        reason = os.strerror(error.errno).lower() if error.errno else str(error)
        raise AddressError(f"listen tcp {join_address(host, port)}: bind: {reason}") from None


def listening_address(listener: socket.socket) -> str:
    """Where a socket listens, as Go prints it."""
    name = listener.getsockname()
    return join_address(name[0], name[1])


def _bound(host: str, port: int) -> socket.socket:
    if host in ("", "0.0.0.0", "::"):
        try:
            return _bound_on(socket.AF_INET6, "::", port)
        except OSError as error:
            if error.errno not in (errno.EAFNOSUPPORT, errno.EADDRNOTAVAIL):
                raise
            return _bound_on(socket.AF_INET, "0.0.0.0", port)
    return _bound_on(socket.AF_INET6 if ":" in host else socket.AF_INET, host, port)


def _bound_on(family: socket.AddressFamily, host: str, port: int) -> socket.socket:
    # asyncio sets TCP_NODELAY on what it accepts only where the socket names its protocol.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, int(host != "::"))
        listener.bind((host, port))
        listener.listen(BACKLOG)
    except OSError:
        listener.close()
        raise
    return listener


def _port_number(port: str) -> int:
    if port.isascii() and port.isdigit():
        if len(port) > len(str(_LARGEST_PORT)) or int(port) > _LARGEST_PORT:
            raise AddressError(f"address {port}: invalid port")
        return int(port)
    if not port:
        return 0
    try:
        return socket.getservbyname(port, "tcp")
    except (OSError, UnicodeError):
        raise AddressError(f"lookup tcp/{port}: unknown port") from None


def _is_ip(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True
