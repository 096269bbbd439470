"""Standard output as a pipe that events go through: how wide it is, and what is left in it when nobody reads it."""

import contextlib
import fcntl
import os
import sys
from typing import TextIO

# Room for some two thousand lines while whoever reads them is held up; a full pipe would hold up the service.
PIPE_BYTES = 1 << 20


def forget_unwritten(stdout: TextIO) -> None:
    """Drops what is left for a closed pipe; at its end the interpreter would fail again, noisily, flushing it."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stdout.fileno())
    os.close(nowhere)


def widen_pipe(stdout: TextIO) -> None:
    """Makes the pipe as wide as it may be; no pipe is left as it is."""
    if sys.platform == "linux":
        # Not a pipe, or the machine allows no more.
        with contextlib.suppress(OSError):
            fcntl.fcntl(stdout.fileno(), fcntl.F_SETPIPE_SZ, PIPE_BYTES)
