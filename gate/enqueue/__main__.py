"""`python -m gate.enqueue`: serves until SIGTERM. Exit 0 ended in order, 2 bad settings, 3 could not run."""

import functools
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
from gate.lifecycle import run_service
from gate.listening import server_config
from gate.settings import Settings, read_settings
from lab.contract import environment as env
from lab.contract.names import EXIT_COULD_NOT_RUN, EXIT_OK

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
    serve = functools.partial(_serve, stdout=stdout)
    return run_service("enqueue", lambda: _settings(environ), serve, stdout, stderr)


def _settings(environ: Mapping[str, str]) -> Settings:
    return read_settings({**DEFAULTS, **{name: environ[name] for name in HEEDED if name in environ}})


async def _serve(settings: Settings, listener: socket.socket, *, stdout: TextIO) -> int:
    queue = EntryQueue(settings.redis_url)
    jobs = Jobs(queue, JournalLines(stdout))
    server = EnqueueServer(jobs, server_config(create_app(jobs, queue)))
    await server.serve(sockets=[listener])
    return EXIT_OK if server.started and not jobs.failed else EXIT_COULD_NOT_RUN


if __name__ == "__main__":
    sys.exit(main(os.environ, sys.stdout, sys.stderr))
