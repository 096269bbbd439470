"""Plays a whole drill: every policy, every repeat, the same arrivals; returns the folder with the journals."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

from lab.drill.arm import Ground, play_arm
from lab.drill.host import HostWatch
from lab.drill.plan import Arm, Plan, make_plan
from lab.drill.progress import ArmProgress, OnProgress
from lab.drill.request import DrillError, DrillRequest
from lab.drill.rounds import TooClose, rounds
from lab.drill.testbed import StackError, Testbed
from lab.drill.testbed.choice import choose_testbed
from lab.drill.wave import Wave

PROGRESS_EVERY_S = 0.5


def run_drill(
    request: DrillRequest,
    on_progress: OnProgress = lambda _arms: None,
    too_close: TooClose = lambda _run_dir: (),
) -> Path:
    """Plays the drill and returns its folder; what each arm did stands in its journal.

    `too_close` is asked after each repeat where repeats are "auto", in a thread.

    Raises:
        DrillError: nothing could be played.
        KeyboardInterrupt: interrupted by SIGINT or SIGTERM, everything reverted and ended.
    """
    try:
        testbed, why = choose_testbed(request.runtime, request.endpoint)
        print(f"shedlab: runtime {testbed.name} ({why})", file=sys.stderr)
        plan = make_plan(request, testbed.name, why, os.cpu_count() or 1)
        asyncio.run(_play(rounds(plan, request, too_close), testbed, on_progress))
    except StackError as error:
        raise DrillError(str(error)) from None
    except OSError as error:
        raise DrillError(
            f"the drill cannot go on: {error}; free some space and check that reports/ may be written"
        ) from None
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None
    return plan.run_dir


async def _play(plans: AsyncIterator[Plan], testbed: Testbed, on_progress: OnProgress) -> None:
    arms: list[ArmProgress] = []
    _cancel_on_signals()
    ground = Ground(testbed, await testbed.remove_leftovers(), HostWatch(testbed.containers))
    beside = [asyncio.create_task(work) for work in (_report_progress(arms, on_progress), ground.host.watch())]
    try:
        async for plan in plans:
            fresh = [_waiting(plan, arm) for arm in plan.arms]
            arms.extend(fresh)
            await _play_arms(plan, ground, fresh)
    finally:
        for task in beside:
            task.cancel()
        on_progress(arms)


def _waiting(plan: Plan, arm: Arm) -> ArmProgress:
    return ArmProgress(arm.name, plan.played.policies[arm.letter].kind, plan.played.workload.duration)


async def _play_arms(plan: Plan, ground: Ground, arms: Sequence[ArmProgress]) -> None:
    """In waves of as many arms as planned."""
    for first in range(0, len(arms), plan.side_by_side):
        side_by_side = slice(first, first + plan.side_by_side)
        await _play_wave(plan, plan.arms[side_by_side], ground, arms[side_by_side])


async def _play_wave(plan: Plan, arms: Sequence[Arm], ground: Ground, progresses: Sequence[ArmProgress]) -> None:
    """All at a time; an exception of the lab in one cancels, and so cleans up, the others."""
    wave = Wave(arm.name for arm in arms)
    try:
        async with asyncio.TaskGroup() as group:
            for arm, progress in zip(arms, progresses, strict=True):
                group.create_task(play_arm(plan, arm, ground, wave=wave, progress=progress))
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
