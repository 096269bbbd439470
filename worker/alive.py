"""Shows that the loop turns, to whoever looks at a file's age. Must not know Redis: a lost queue is no dead worker."""

import asyncio
import logging
from pathlib import Path
from typing import Final

TOUCH_EVERY_S: Final = 2.0

_log = logging.getLogger(__name__)


async def show_alive(file: Path | None) -> None:
    """Touches `file` every TOUCH_EVERY_S until cancelled; None: nobody looks."""
    while file is not None:
        try:
            # Quick, on a tmpfs; a thread per touch would say nothing of the loop.
            file.touch()  # noqa: ASYNC240
        except OSError as error:
            _log.warning("%s cannot be touched, so this worker will look dead: %s", file, error.strerror or error)
        await asyncio.sleep(TOUCH_EVERY_S)
