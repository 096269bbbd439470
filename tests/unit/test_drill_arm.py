"""Clean-up is carried to its end, however often its arm is cancelled meanwhile."""

import asyncio

import pytest

from lab.drill.arm import uninterrupted


async def clean_up(done: list[str], release: asyncio.Event) -> None:
    done.append("began")
    await release.wait()
    done.append("ended")


def test_a_clean_up_cancelled_twice_still_ends_and_the_cancellation_follows() -> None:
    done: list[str] = []

    async def run() -> None:
        release = asyncio.Event()
        task = asyncio.create_task(uninterrupted(clean_up(done, release)))
        for _ in range(2):
            await asyncio.sleep(0)
            task.cancel()
        await asyncio.sleep(0)
        assert not task.done()
        release.set()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(run())
    assert done == ["began", "ended"]


def test_what_a_clean_up_raises_is_raised() -> None:
    async def fail() -> None:
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space left"):
        asyncio.run(uninterrupted(fail()))
