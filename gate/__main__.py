"""`python -m gate`: serves until SIGTERM. Exit 0 drained, 2 bad settings, 3 could not run."""

import contextlib
import functools
import os
import socket
import sys
from collections.abc import Mapping
from typing import TextIO

from gate.admission import Admission
from gate.app import Gate, create_app
from gate.bypass import Bypass
from gate.events import EventWriter
from gate.lifecycle import run_service
from gate.listening import server_config
from gate.metrics import GateMetrics
from gate.server import GateServer
from gate.settings import Settings, read_settings
from gate.stream import JobStream
from gate.waiting import ActivePolicy
from gate.without_queue import WithoutQueue
from lab.contract.names import EXIT_COULD_NOT_RUN, EXIT_OK


def main(environ: Mapping[str, str], stdout: TextIO, stderr: TextIO) -> int:
    """Runs the gate and returns its exit code."""
    serve = functools.partial(_serve, stdout=stdout)
    return run_service("gate", lambda: read_settings(environ), serve, stdout, stderr)


async def _serve(settings: Settings, listener: socket.socket, *, stdout: TextIO) -> int:
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
