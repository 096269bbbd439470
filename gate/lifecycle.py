"""From settings to an exit code: what the gate and the way past it do alike when they start and when they end."""

import asyncio
import logging
import socket
from collections.abc import Callable, Coroutine
from typing import Any, TextIO

from gate.event_pipe import forget_unwritten, widen_pipe
from gate.listening import listen
from gate.settings import Settings, SettingsError
from lab.contract.names import EXIT_COULD_NOT_RUN, EXIT_OK, EXIT_USAGE

Serve = Callable[[Settings, socket.socket], Coroutine[Any, Any, int]]


def run_service(name: str, read: Callable[[], Settings], serve: Serve, stdout: TextIO, stderr: TextIO) -> int:
    """Reads the settings, takes the port and serves; the exit code.

    Settings that cannot be used, and a port that cannot be had, are one sentence each that begins with `name`.
    """
    try:
        settings = read()
    except SettingsError as error:
        print(f"{name}: {error}", file=stderr)
        return EXIT_USAGE
    logging.basicConfig(
        stream=stderr, level=logging.WARNING, format=f"%(levelname)s {settings.service_id} %(name)s: %(message)s"
    )
    try:
        listener = listen(settings.host, settings.port)
    except OSError as error:
        print(f"{name}: cannot listen on {settings.host}:{settings.port}: {error.strerror or error}", file=stderr)
        return EXIT_COULD_NOT_RUN
    widen_pipe(stdout)
    exit_code = asyncio.run(serve(settings, listener))
    if exit_code != EXIT_OK:
        forget_unwritten(stdout)
    return exit_code
