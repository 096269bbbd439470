"""The rounds of a drill: what is planned, and with REPEATS=auto what is too close to call once more."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path

from lab.drill.plan import Plan, plan_again
from lab.drill.request import DrillRequest

MOST_AUTO_REPEATS = 5

# The letters of the policies whose verdict is too close to call, by the journals in a run's folder.
TooClose = Callable[[Path], tuple[str, ...]]


async def rounds(plan: Plan, request: DrillRequest, too_close: TooClose) -> AsyncIterator[Plan]:
    """The plan; where repeats are "auto", then a repeat at a time of what is too close to call."""
    yield plan
    while request.repeats == "auto" and max(plan.schedules) < MOST_AUTO_REPEATS:
        found = await asyncio.to_thread(too_close, plan.run_dir)
        # What is sure already is not asked again.
        letters = tuple(letter for letter in dict.fromkeys(arm.letter for arm in plan.arms) if letter in found)
        if not letters:
            return
        plan = plan_again(plan, request, letters, os.cpu_count() or 1)
        print(
            f"shedlab: too close to call, so played again: {', '.join(arm.name for arm in plan.arms)}", file=sys.stderr
        )
        yield plan
