"""Ports of one stack on loopback."""

import socket
from contextlib import ExitStack
from dataclasses import dataclass

LOOPBACK = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class Ports:
    """One stack's ports on loopback."""

    redis: int
    gate: int
    model: int
    proxy: int
    model_link: int
    redis_link: int
    enqueue: int
    edge: int


def free_ports() -> Ports:
    """One stack's ports, which nobody listens on now."""
    return Ports(*several_free_ports(len(Ports.__dataclass_fields__)))


def several_free_ports(count: int) -> list[int]:
    """Ports nobody listens on now; all are held until all are known, so that they differ."""
    with ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind((LOOPBACK, 0))
        return [one.getsockname()[1] for one in sockets]
