"""One container of a compose stack, seen by its name: what it prints goes to files, as a local process's does."""

import asyncio
import json
import os
from pathlib import Path
from typing import Any

from lab.drill.testbed import ServiceExit, StackError
from lab.drill.testbed.engine import docker_program, drive_engine, last_words, started

ORDER_TIMEOUT_S = 30.0
# How long its last lines may take to arrive once it has ended.
LAST_LINES_WITHIN_S = 5.0
FOLLOW_AGAIN_S = 0.2


class Container:
    """A container that can be followed, killed, paused, started again."""

    def __init__(self, service: str, name: str, log_dir: Path, marks: dict[str, str]) -> None:
        """`service` is its source name in the journal; `marks` go to the environment of what follows it."""
        self.service = service
        self.name = name
        self.output_path = log_dir / f"{service}.out"
        self.error_path = log_dir / f"{service}.err"
        self.end_expected = False
        self._marks = marks
        self._follower: asyncio.subprocess.Process | None = None

    async def follow(self) -> None:
        """Writes all that it printed, and prints from now on, to its files.

        After a restart the same lines are written again from the start, byte by byte, so that a reader who stands in
        the file goes on where it was.
        """
        with self.output_path.open("wb") as output, self.error_path.open("wb") as errors:
            self._follower = await started(
                asyncio.create_subprocess_exec(
                    docker_program(),
                    "logs",
                    "--follow",
                    self.name,
                    stdin=asyncio.subprocess.DEVNULL,
                    stdout=output,
                    stderr=errors,
                    env={**os.environ, **self._marks},
                    start_new_session=True,
                )
            )

    async def ended(self) -> ServiceExit:
        """Returns when the container has ended; a follower that was only cut off is started again."""
        while True:
            await self.said_all()
            state = await self.state()
            if not state["Running"]:
                return ServiceExit(self.service, int(state["ExitCode"]), self._said())
            # An engine that cannot tell its log just now is not asked in a rush.
            await asyncio.sleep(FOLLOW_AGAIN_S)
            await self.follow()

    async def said_all(self) -> None:
        """Returns when its last line is in its file."""
        if self._follower is not None:
            await self._follower.wait()

    async def finish_log(self) -> None:
        """Gives the last lines a moment, then stops following."""
        follower = self._follower
        if follower is None or follower.returncode is not None:
            return
        try:
            async with asyncio.timeout(LAST_LINES_WITHIN_S):
                await follower.wait()
        except TimeoutError:
            follower.terminate()
            await follower.wait()

    async def state(self) -> dict[str, Any]:
        """What the engine says of it: Running, Paused, ExitCode, OOMKilled.

        Raises:
            StackError: the engine does not know it.
        """
        told = await self.order("inspect", "--format", "{{json .State}}")
        state: dict[str, Any] = json.loads(told)
        return state

    async def order(self, *arguments: str) -> str:
        """`docker ARGUMENTS <container>`. Raises StackError."""
        return await drive_engine(*arguments, self.name, timeout_s=ORDER_TIMEOUT_S)

    async def carry_out(self, *command: str) -> str:
        """What a command prints inside it. Raises StackError."""
        return await drive_engine("exec", self.name, *command, timeout_s=ORDER_TIMEOUT_S)

    async def prove_running(self) -> None:
        """Raises StackError where it does not run, or stands still."""
        state = await self.state()
        if not state["Running"] or state["Paused"]:
            raise StackError(f"{self.service} should run again, but the engine says {state.get('Status', 'otherwise')}")

    def _said(self) -> str:
        try:
            return last_words(self.error_path.read_text(encoding="utf-8", errors="replace"))
        except OSError:
            return ""
