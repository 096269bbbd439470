"""`python -m lab.toxiproxy`: the flags of toxiproxy-server, plus a seed that works.

Exit codes: 0 after SIGTERM or SIGINT; 2 for wrong usage or a broken config; 3 where it cannot listen.
"""

import argparse
import asyncio
import signal
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import SystemRandom

from lab.toxiproxy import COMPATIBLE_VERSION
from lab.toxiproxy.addresses import join_address
from lab.toxiproxy.api import Api
from lab.toxiproxy.collection import Proxies
from lab.toxiproxy.config import Config, ConfigError
from lab.toxiproxy.errors import ApiError
from lab.toxiproxy.http_server import HttpServer

_HIGHEST_PORT = 65535
_SEED_BITS = 63


class StartError(Exception):
    """It cannot listen; one sentence says where and why."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What the command line says."""

    host: str
    port: int
    seed: int
    config: Path | None


def parse(arguments: Sequence[str]) -> Settings:
    """Reads the command line; ends the program with status 2 where it is wrong. One dash will do, as in Toxiproxy."""
    parser = argparse.ArgumentParser(prog="lab.toxiproxy", description="The embedded, Toxiproxy-compatible proxy.")
    parser.add_argument("--host", "-host", default="localhost", help="address of the API (default: %(default)s)")
    parser.add_argument("--port", "-port", type=_port, default=8474, help="port of the API (default: %(default)s)")
    parser.add_argument("--seed", "-seed", type=int, help="what all draws follow from (default: drawn)")
    parser.add_argument("--config", "-config", type=Path, help="JSON file of proxies, and their toxics, to start with")
    parser.add_argument(
        "--version", "-version", action="version", version=f"toxiproxy-server version {COMPATIBLE_VERSION} (embedded)"
    )
    given = parser.parse_args(arguments)
    seed = SystemRandom().getrandbits(_SEED_BITS) if given.seed is None else given.seed
    return Settings(given.host, given.port, seed, given.config)


async def serve(settings: Settings, config: Config | None) -> None:
    """Serves until SIGTERM or SIGINT.

    Raises:
        StartError: the API, or a proxy of the config, cannot listen.
    """
    told_to_stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, told_to_stop.set)
    proxies = Proxies(settings.seed)
    server = HttpServer(Api(proxies).answer)
    try:
        await _start(settings, config, proxies, server)
        await told_to_stop.wait()
    finally:
        await server.stop()
        proxies.stop()


async def _start(settings: Settings, config: Config | None, proxies: Proxies, server: HttpServer) -> None:
    try:
        if config is not None:
            await config.apply(proxies)
        await server.start(settings.host, settings.port)
    except ApiError as error:
        raise StartError(f"a proxy of {settings.config} cannot start: {error}") from None
    except OSError as error:
        where = join_address(settings.host, settings.port)
        raise StartError(f"cannot listen on {where}: {error.strerror or error}") from None
    print(
        f"listening on {join_address(settings.host, settings.port)}, seed {settings.seed}", file=sys.stderr, flush=True
    )


def main(arguments: Sequence[str]) -> int:
    """Runs the proxy; returns the exit code."""
    settings = parse(arguments)
    try:
        config = None if settings.config is None else Config(settings.config)
        asyncio.run(serve(settings, config))
    except ConfigError as error:
        return _failed(error, 2)
    except StartError as error:
        return _failed(error, 3)
    except KeyboardInterrupt:
        pass
    return 0


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > _HIGHEST_PORT:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port; write a number from 0 to {_HIGHEST_PORT}")
    return int(text)


def _failed(error: Exception, code: int) -> int:
    print(f"lab.toxiproxy: {error}", file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
