"""A worker shows that its loop turns by a file's age."""

import asyncio
import contextlib
import logging
from pathlib import Path

import pytest

from worker.alive import show_alive


async def shown_once(file: Path | None) -> None:
    showing = asyncio.create_task(show_alive(file))
    await asyncio.sleep(0)
    showing.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await showing


def test_the_file_is_touched_at_once(tmp_path: Path) -> None:
    asyncio.run(shown_once(tmp_path / "alive"))
    assert (tmp_path / "alive").exists()


def test_a_file_that_cannot_be_touched_is_said_and_ends_no_worker(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        asyncio.run(shown_once(tmp_path / "missing" / "alive"))
    assert "will look dead" in caplog.text


def test_with_no_file_nothing_is_shown() -> None:
    asyncio.run(shown_once(None))
