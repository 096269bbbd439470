"""Plays a whole drill: every policy, every repeat, the same arrivals; returns the folder with the journals."""

import asyncio
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from lab.drill.arm import play_arm
from lab.drill.plan import Arm, Plan, make_plan
from lab.drill.progress import ArmProgress, OnProgress
from lab.drill.request import DrillError, DrillRequest
from lab.drill.testbed import StackError, Testbed
from lab.drill.testbed.choice import choose_testbed

PROGRESS_EVERY_S = 0.5


def run_drill(request: DrillRequest, on_progress: OnProgress = lambda _arms: None) -> Path:
    """Plays the drill and returns its folder; what each arm did stands in its journal.

    Raises:
        DrillError: nothing could be played.
        KeyboardInterrupt: interrupted by SIGINT or SIGTERM, everything reverted and ended.
    """
    try:
        testbed, why = choose_testbed(request.runtime)
        plan = make_plan(request, testbed.name, why, os.cpu_count() or 1)
        asyncio.run(_play(plan, testbed, on_progress))
    except StackError as error:
        raise DrillError(str(error)) from None
    except OSError as error:
        raise DrillError(
            f"the drill cannot go on: {error}; free some space and check that reports/ may be written"
        ) from None
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None
    return plan.run_dir


async def _play(plan: Plan, testbed: Testbed, on_progress: OnProgress) -> None:
    total_s = plan.played.workload.duration
    total_s = plan.played.workload.duration
    arms = [ArmProgress(arm.name, plan.played.policies[arm.letter].kind, total_s) for arm in plan.arms]
    _cancel_on_signals()
    removed = await testbed.remove_leftovers()
    reporting = asyncio.create_task(_report_progress(arms, on_progress))
    try:
        await _play_arms(plan, testbed, removed, arms)
    finally:
        reporting.cancel()
        on_progress(arms)


async def _play_arms(plan: Plan, testbed: Testbed, removed: list[str], arms: Sequence[ArmProgress]) -> None:
    """As many arms at a time as planned; an exception of the lab in one cancels, and so cleans up, the others."""
    places = asyncio.Semaphore(plan.side_by_side)

    async def play(arm: Arm, progress: ArmProgress) -> None:
        async with places:
            await play_arm(plan, arm, testbed, removed, progress)

    try:
        async with asyncio.TaskGroup() as group:
            for arm, progress in zip(plan.arms, arms, strict=True):
                group.create_task(play(arm, progress))
    except ExceptionGroup as failed:
        # The others, if any, are its echoes.
        raise failed.exceptions[0] from None


async def _report_progress(arms: Sequence[ArmProgress], on_progress: OnProgress) -> None:
    while True:
        on_progress(arms)
        await asyncio.sleep(PROGRESS_EVERY_S)


def _cancel_on_signals() -> None:
    """The first signal cancels the drill, which cleans up on its way out; later ones cannot cut the clean-up short."""
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    seen: list[int] = []

    def interrupt(number: int) -> None:
        seen.append(number)
        if len(seen) == 1 and task is not None:
            print("interrupted: reverting faults and ending the stacks", file=sys.stderr)
            task.cancel()
        else:
            print("still cleaning up, a moment", file=sys.stderr)

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, interrupt, number)
