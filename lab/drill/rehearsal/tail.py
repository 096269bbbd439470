"""Follows what services print: a local one's file, or a container by `docker logs`; the same lines either way."""

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from lab.drill.testbed.engine import EngineError, docker_program

# A file is not read from further back than this: some ten minutes of a busy gate.
MOST_TAIL_BYTES = 4_000_000
PIPE_READ_BYTES = 1_000_000
READ_WITHIN_S = 60.0


class LineCutter:
    """Cuts bytes into lines as they come; what has no end yet is kept."""

    def __init__(self) -> None:
        """Nothing has come yet."""
        self._partial = b""

    def cut(self, data: bytes) -> list[str]:
        """The lines that `data` completes."""
        *whole, self._partial = (self._partial + data).split(b"\n")
        return [line.decode("utf-8", "replace") for line in whole if line.strip()]


class FileTail:
    """A local service's output; a service that is started again appends to the same file."""

    def __init__(self, path: Path, most_bytes: int = MOST_TAIL_BYTES) -> None:
        """From the last `most_bytes` on. OSError if it cannot be opened."""
        self._file = path.open("rb")
        self._cutter = LineCutter()
        size = os.fstat(self._file.fileno()).st_size
        if size > most_bytes:
            self._file.seek(size - most_bytes)
            # The line that this cuts in two.
            self._file.readline()

    def new_lines(self) -> list[str]:
        """The whole lines printed since the last call."""
        return self._cutter.cut(self._file.read())

    @property
    def ended(self) -> bool:
        """Never: whatever comes, comes to this file."""
        return False

    def close(self) -> None:
        """Closes the file."""
        self._file.close()


class ContainerTail:
    """A container's output, through a pipe: should this process be killed, the follower ends at the next line."""

    def __init__(self, container: str, since_at: float) -> None:
        """Follows from `since_at` on. Raises EngineError where there is no docker."""
        self._cutter = LineCutter()
        self._process = subprocess.Popen(  # noqa: S603 - docker as found on PATH, with our own arguments
            logs_command(container, since_at, "--follow"),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        if self._process.stdout is not None:
            os.set_blocking(self._process.stdout.fileno(), False)

    def new_lines(self) -> list[str]:
        """The whole lines that have come since the last call."""
        lines: list[str] = []
        while data := self._read():
            lines += self._cutter.cut(data)
        return lines

    @property
    def ended(self) -> bool:
        """Whether the container has ended, or the engine has cut the line."""
        return self._process.poll() is not None

    def close(self) -> None:
        """Ends the follower."""
        self._process.kill()
        self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()

    def _read(self) -> bytes:
        if self._process.stdout is None:
            return b""
        try:
            return os.read(self._process.stdout.fileno(), PIPE_READ_BYTES)
        except BlockingIOError:
            return b""


def read_container(container: str, since_at: float) -> list[str]:
    """All that a container has printed since then.

    Raises:
        EngineError: the engine does not say.
    """
    done = _logs(container, since_at)
    if done.returncode:
        raise EngineError(f"docker logs {container}: {done.stderr.decode('utf-8', 'replace').strip()[:200]}")
    return LineCutter().cut(done.stdout + b"\n")


def last_error_line(container: str) -> str:
    """The last line of a container's standard error, empty where there is none. Raises EngineError."""
    lines = _logs(container, 0.0).stderr.decode("utf-8", "replace").strip().splitlines()
    return lines[-1][:300] if lines else ""


def _logs(container: str, since_at: float) -> "subprocess.CompletedProcess[bytes]":
    try:
        return subprocess.run(  # noqa: S603 - docker as found on PATH, with our own arguments
            logs_command(container, since_at), capture_output=True, timeout=READ_WITHIN_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise EngineError(f"docker logs {container}: {error}") from None


def logs_command(container: str, since_at: float, *flags: str) -> Sequence[str]:
    """`docker logs` of a container since a unix time."""
    return (docker_program(), "logs", *flags, "--since", f"{since_at:.3f}", container)
