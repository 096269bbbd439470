"""`python -m gate`: serves until SIGTERM. Exit 0 drained, 2 bad settings, 3 could not run."""

import asyncio
import contextlib
import logging
import os
import socket
import sys
from collections.abc import Mapping
from typing import TextIO

from gate.admission import Admission
from gate.app import Gate, create_app
from gate.bypass import Bypass
from gate.event_pipe import forget_unwritten, widen_pipe
from gate.events import EventWriter
from gate.listening import listen, server_config
from gate.metrics import GateMetrics
from gate.server import GateServer
from gate.settings import Settings, SettingsError, read_settings
from gate.stream import JobStream
from gate.waiting import ActivePolicy
from gate.without_queue import WithoutQueue
from lab.contract.names import EXIT_COULD_NOT_RUN, EXIT_OK, EXIT_USAGE


def main(environ: Mapping[str, str], stdout: TextIO, stderr: TextIO) -> int:
    """Runs the gate and returns its exit code."""
    try:
        settings = read_settings(environ)
    except SettingsError as error:
        print(f"gate: {error}", file=stderr)
        return EXIT_USAGE
    logging.basicConfig(
        stream=stderr, level=logging.WARNING, format=f"%(levelname)s {settings.service_id} %(name)s: %(message)s"
    )
    try:
        listener = listen(settings.host, settings.port)
    except OSError as error:
        print(f"gate: cannot listen on {settings.host}:{settings.port}: {error.strerror or error}", file=stderr)
        return EXIT_COULD_NOT_RUN
    widen_pipe(stdout)
    exit_code = asyncio.run(_serve(settings, listener, stdout))
    if exit_code != EXIT_OK:
        forget_unwritten(stdout)
    return exit_code


async def _serve(settings: Settings, listener: socket.socket, stdout: TextIO) -> int:
    metrics = GateMetrics()
    events = EventWriter(stdout, metrics)
    stream = JobStream(settings.redis_url, settings.utilization_smoothing_s, settings.heartbeat_s)
    admission = Admission(stream, ActivePolicy.of(settings.policy, settings.policy_letter), events)
    with contextlib.nullcontext() if settings.bypass_url is None else Bypass(settings.bypass_url) as bypass:
        without_queue = WithoutQueue(bypass, admission, events, rejects=settings.on_queue_failure == "reject")
        app = create_app(Gate(admission, stream, events, metrics, without_queue))
        server = GateServer(admission, server_config(app))
        await server.serve(sockets=[listener])
    return EXIT_OK if server.started and not admission.failed else EXIT_COULD_NOT_RUN


if __name__ == "__main__":
    sys.exit(main(os.environ, sys.stdout, sys.stderr))
