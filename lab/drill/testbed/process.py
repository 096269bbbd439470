"""One process of a local stack: started in a session of its own, its output in files, ended for certain."""

import asyncio
import contextlib
import os
import signal
from dataclasses import dataclass
from pathlib import Path

from lab.drill.testbed import ServiceExit, StackError

STOP_GRACE_S = 3.0


@dataclass(frozen=True, slots=True)
class Command:
    """How a service is started; `environment` is all of it, nothing is inherited."""

    service: str
    argv: tuple[str, ...]
    environment: dict[str, str]
    cwd: Path


class ServiceProcess:
    """A service that can be started, paused, killed, started again and stopped."""

    def __init__(self, command: Command, log_dir: Path) -> None:
        """Nothing starts yet; `log_dir` must exist."""
        self.command = command
        self.output_path = log_dir / f"{command.service}.out"
        self.error_path = log_dir / f"{command.service}.err"
        self._process: asyncio.subprocess.Process | None = None
        # While a fault or a stop is at work, an end of the process is expected.
        self.end_expected = False

    async def start(self) -> None:
        """Starts it in a session of its own, so that a Ctrl-C at the terminal reaches the runner alone.

        Raises:
            StackError: the program cannot be started.
        """
        self.end_expected = False
        try:
            with self.output_path.open("ab") as output, self.error_path.open("ab") as errors:
                self._process = await asyncio.create_subprocess_exec(
                    *self.command.argv,
                    stdin=asyncio.subprocess.DEVNULL,
                    stdout=output,
                    stderr=errors,
                    env=self.command.environment,
                    cwd=self.command.cwd,
                    start_new_session=True,
                )
        except OSError as error:
            raise StackError(f"{self.command.service} cannot be started: {error}") from None

    @property
    def running(self) -> bool:
        """Whether it was started and has not ended."""
        return self._process is not None and self._process.returncode is None

    async def wait(self) -> ServiceExit:
        """Returns when the process has ended."""
        if self._process is None:
            raise StackError(f"{self.command.service} was never started")
        code = await self._process.wait()
        return ServiceExit(self.command.service, code, self.last_words())

    def last_words(self) -> str:
        """The last line of its standard error, empty where it said nothing."""
        try:
            lines = self.error_path.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        except OSError:
            return ""
        return lines[-1][:500] if lines else ""

    def send(self, number: signal.Signals) -> None:
        """Sends a signal to the whole session; one that has ended is left alone."""
        if self._process is not None and self.running:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, number)

    async def stop(self, grace_s: float = STOP_GRACE_S) -> None:
        """SIGTERM, then SIGKILL after the grace; returns when the process has ended."""
        self.end_expected = True
        self.send(signal.SIGCONT)
        self.send(signal.SIGTERM)
        if not await self._ends_within(grace_s):
            await self.kill()

    async def kill(self) -> None:
        """SIGKILL; returns when the process has ended."""
        self.end_expected = True
        self.send(signal.SIGKILL)
        if self._process is not None:
            await self._process.wait()

    async def _ends_within(self, grace_s: float) -> bool:
        if self._process is None:
            return True
        try:
            async with asyncio.timeout(grace_s):
                await self._process.wait()
        except TimeoutError:
            return False
        return True
