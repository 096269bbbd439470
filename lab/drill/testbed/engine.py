"""The one way to the container engine: the `docker` command, which knows the user's contexts, hosts and credentials."""

import asyncio
import contextlib
import os
import shutil
import signal
import subprocess
from collections.abc import Coroutine, Mapping
from pathlib import Path
from typing import Any

from lab.drill.testbed import StackError

PROJECT_ROOT = Path(__file__).parents[3]
COMPOSE_FILE = PROJECT_ROOT / "compose.yaml"
ANSWER_TIMEOUT_S = 20.0
END_GRACE_S = 5.0
SAID_LENGTH = 400
DAEMON_ANSWER = "Error response from daemon:"


class EngineError(StackError):
    """What the engine refused, in its own last words; or that there is no engine."""


def ask_engine(
    *arguments: str, environment: Mapping[str, str] | None = None, timeout_s: float = ANSWER_TIMEOUT_S
) -> str:
    """Runs `docker ARGUMENTS` and returns what it prints.

    Raises:
        EngineError: there is no docker command, it did not answer in time, or it said no.
    """
    try:
        done = subprocess.run(  # noqa: S603 - docker as found on PATH, with our own arguments
            [docker_program(), *arguments],
            env=None if environment is None else dict(environment),
            cwd=PROJECT_ROOT,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout_s,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise EngineError(f"docker {arguments[0]} did not answer within {timeout_s:g} s") from None
    except OSError as error:
        raise EngineError(f"docker cannot be run: {error.strerror or error}") from None
    if done.returncode:
        raise EngineError(f"docker {arguments[0]}: {reason(done.stderr or done.stdout)}")
    return done.stdout


async def drive_engine(*arguments: str, environment: Mapping[str, str] | None = None, timeout_s: float) -> str:
    """The same beside a running drill. Where it is cancelled, the command is ended before the cancellation goes on.

    Raises:
        EngineError: it did not end in time, or it said no.
    """
    process = await started(
        asyncio.create_subprocess_exec(
            docker_program(),
            *arguments,
            env=None if environment is None else dict(environment),
            cwd=PROJECT_ROOT,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            # A Ctrl-C at the terminal reaches the runner alone, which then ends what it started in order.
            start_new_session=True,
        )
    )
    try:
        # Not wait_for, which on Python 3.11 can swallow a cancellation that comes as the command ends.
        async with asyncio.timeout(timeout_s):
            out, err = await process.communicate()
    except TimeoutError:
        raise EngineError(f"docker {' '.join(arguments[:1])} did not end within {timeout_s:g} s") from None
    finally:
        if process.returncode is None:
            await _end(process)
    if process.returncode:
        raise EngineError(f"docker {arguments[0]}: {reason((err or out).decode('utf-8', 'replace'))}")
    return out.decode("utf-8", "replace")


async def started(starting: Coroutine[Any, Any, asyncio.subprocess.Process]) -> asyncio.subprocess.Process:
    """The process that `starting` makes. One whose caller is cancelled meanwhile would be nobody's, so it is ended."""
    start = asyncio.ensure_future(starting)
    try:
        return await asyncio.shield(start)
    except asyncio.CancelledError:
        await _end(await start)
        raise


async def _end(process: asyncio.subprocess.Process) -> None:
    """The whole session: the Compose plugin is a process of its own, and must not go on making what is then removed."""
    _signal(process, signal.SIGTERM)
    try:
        async with asyncio.timeout(END_GRACE_S):
            await process.communicate()
    except TimeoutError:
        _signal(process, signal.SIGKILL)
        await process.communicate()


def _signal(process: asyncio.subprocess.Process, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, number)


def docker_program() -> str:
    """The path of the `docker` command.

    Raises:
        EngineError: there is none.
    """
    found = shutil.which("docker")
    if found is None:
        raise EngineError("there is no docker command on PATH; install Docker with its Compose plugin")
    return found


def compose_command(project: str, *arguments: str) -> tuple[str, ...]:
    """`docker compose` for one project of this checkout, the load and the edge included."""
    named = ("compose", "--file", str(COMPOSE_FILE), "--project-name", project)
    return (*named, "--profile", "load", "--profile", "edge", *arguments)


def engine_environment(variables: Mapping[str, str]) -> dict[str, str]:
    """The user's environment, which holds what docker needs, with the stack's variables on top."""
    return {**os.environ, **variables}


def reason(said: str) -> str:
    """Why the engine refused: what its daemon answered, where it did; the last line only repeats the order."""
    answers = [line.strip() for line in said.splitlines() if DAEMON_ANSWER in line]
    return last_words(answers[-1] if answers else said)


def last_words(said: str) -> str:
    """The last line that says something."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    return lines[-1][:SAID_LENGTH] if lines else "it failed without a word"
