"""`python -m gate.enqueue`: serves until SIGTERM. Exit 0 ended in order, 2 bad settings, 3 could not run."""

import asyncio
import logging
import os
import socket
import sys
from collections.abc import Mapping
from types import FrameType
from typing import TextIO

import uvicorn

from gate.enqueue.app import create_app
from gate.enqueue.jobs import Jobs
from gate.enqueue.journal_lines import JournalLines
from gate.enqueue.queue import EntryQueue
from gate.event_pipe import forget_unwritten, widen_pipe
from gate.listening import listen, server_config
from gate.settings import Settings, SettingsError, read_settings
from lab.contract import environment as env
from lab.contract.names import EXIT_COULD_NOT_RUN, EXIT_OK, EXIT_USAGE

# The gate's settings that mean something here. Its policy is not even looked at: it may be what is wrong.
HEEDED = (env.HOST, env.PORT, env.REDIS_URL, env.SERVICE_ID)
DEFAULTS = {env.PORT: "8081", env.SERVICE_ID: "enqueue-1"}


class EnqueueServer(uvicorn.Server):
    """A server that ends in order, with exit code 0, and by itself once the jobs have failed."""

    def __init__(self, jobs: Jobs, config: uvicorn.Config) -> None:
        """Serves until a signal."""
        super().__init__(config)
        self._jobs = jobs

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:  # noqa: ARG002 - uvicorn's signature
        """Closes the listener and finishes what is under way."""
        self.should_exit = True

    async def on_tick(self, counter: int) -> bool:
        """Whether it is time to end."""
        return await super().on_tick(counter) or self._jobs.failed


def main(environ: Mapping[str, str], stdout: TextIO, stderr: TextIO) -> int:
    """Runs the endpoint and returns its exit code."""
    try:
        settings = read_settings({**DEFAULTS, **{name: environ[name] for name in HEEDED if name in environ}})
    except SettingsError as error:
        print(f"enqueue: {error}", file=stderr)
        return EXIT_USAGE
    logging.basicConfig(
        stream=stderr, level=logging.WARNING, format=f"%(levelname)s {settings.service_id} %(name)s: %(message)s"
    )
    try:
        listener = listen(settings.host, settings.port)
    except OSError as error:
        print(f"enqueue: cannot listen on {settings.host}:{settings.port}: {error.strerror or error}", file=stderr)
        return EXIT_COULD_NOT_RUN
    widen_pipe(stdout)
    exit_code = asyncio.run(_serve(settings, listener, stdout))
    if exit_code != EXIT_OK:
        forget_unwritten(stdout)
    return exit_code


async def _serve(settings: Settings, listener: socket.socket, stdout: TextIO) -> int:
    queue = EntryQueue(settings.redis_url)
    jobs = Jobs(queue, JournalLines(stdout))
    server = EnqueueServer(jobs, server_config(create_app(jobs, queue)))
    await server.serve(sockets=[listener])
    return EXIT_OK if server.started and not jobs.failed else EXIT_COULD_NOT_RUN


if __name__ == "__main__":
    sys.exit(main(os.environ, sys.stdout, sys.stderr))
