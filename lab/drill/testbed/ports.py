"""Ports of one stack on loopback.

They lie below the kernel's ephemeral range. A port from within that range may become the source port of any outgoing
connection between the moment it is chosen and the moment its service binds it, and again while a fault has killed the
service; the service then cannot start.
"""

import itertools
import random
import socket
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

LOOPBACK = "127.0.0.1"
EPHEMERAL_RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")
# Where the kernel does not say: Linux's own default, which other systems start above.
DEFAULT_EPHEMERAL_START = 32768
LOWEST = 20000
# A range that leaves fewer than this leaves too little to choose from.
LEAST_CHOICE = 1000

# What this process gave to stacks that have not bound it yet.
_given: set[int] = set()


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
    """Ports nobody listens on now, and that this process gave to nobody before.

    Raises:
        OSError: no port is free.
    """
    with ExitStack() as held:
        sockets = _bound(held, _candidates(ephemeral_start(), random.SystemRandom()))
        ports = [next(sockets).getsockname()[1] for _ in range(count)]
    _given.update(ports)
    return ports


def ephemeral_start(told: Path = EPHEMERAL_RANGE) -> int:
    """The first port that the kernel may give to an outgoing connection."""
    try:
        return int(told.read_text().split()[0])
    except (OSError, ValueError, IndexError):
        return DEFAULT_EPHEMERAL_START


def _candidates(end: int, chance: random.Random) -> Iterable[int]:
    """Ports to try, in a row from a place by chance, since two runs that choose at once then seldom meet."""
    choice = end - LOWEST
    if choice < LEAST_CHOICE:
        # Nothing is left below the range: the kernel chooses.
        return itertools.repeat(0)
    start = chance.randrange(choice)
    return (LOWEST + (start + step) % choice for step in range(choice))


def _bound(held: ExitStack, candidates: Iterable[int]) -> Iterator[socket.socket]:
    """A socket for each candidate that is free, held until `held` ends, so that they differ."""
    for port in candidates:
        if port in _given:
            continue
        one = held.enter_context(socket.socket())
        with suppress(OSError):
            one.bind((LOOPBACK, port))
            yield one
    raise OSError(f"no port of {LOOPBACK} from {LOWEST} up is free")
