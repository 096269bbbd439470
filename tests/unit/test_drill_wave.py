"""Arms side by side wait for each other, and for nobody who left."""

import asyncio

from lab.drill.wave import Meeting, Wave


async def turns(times: int = 3) -> None:
    for _ in range(times):
        await asyncio.sleep(0)


def test_a_meeting_opens_when_the_last_arm_is_there() -> None:
    async def run() -> None:
        wave = Wave(["A-1", "B-1"])
        first = asyncio.create_task(wave.meet(Meeting.LOAD_STARTS, "A-1"))
        await turns()
        assert not first.done()
        await wave.meet(Meeting.LOAD_STARTS, "B-1")
        await first

    asyncio.run(run())


def test_an_arm_that_leaves_is_awaited_at_no_meeting() -> None:
    async def run() -> None:
        wave = Wave(["A-1", "B-1"])
        waiting = asyncio.create_task(wave.meet(Meeting.LOAD_STARTS, "A-1"))
        await turns()
        wave.leave("B-1")
        wave.leave("B-1")
        await waiting
        await wave.meet(Meeting.STACKS_END, "A-1")

    asyncio.run(run())


def test_the_meetings_are_apart() -> None:
    async def run() -> None:
        wave = Wave(["A-1", "B-1"])
        for member in ("A-1", "B-1"):
            start = asyncio.create_task(wave.meet(Meeting.LOAD_STARTS, member))
        await start
        ending = asyncio.create_task(wave.meet(Meeting.STACKS_END, "A-1"))
        await turns()
        assert not ending.done()
        ending.cancel()

    asyncio.run(run())
