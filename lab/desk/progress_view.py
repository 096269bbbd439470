"""Draws live progress: a table that stays in place on a terminal, a line per arm now and then elsewhere."""

import sys
import time
from collections.abc import Sequence
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.live import Live
from rich.table import Table

from lab.drill.progress import ArmProgress

PLAIN_EVERY_S = 5.0
RESTING_PHASES = ("waiting", "clean_up", "done")
COLUMNS = ("arm", "policy", "phase", "elapsed", "offered", "admitted", "shed", "queue age", "depth", "faults")
TEXT_COLUMNS = 3
UNKNOWN = "unknown"


class ProgressView:
    """Where a running drill shows itself; on standard error, so that results alone go to standard output."""

    def __init__(self) -> None:
        """Nothing is drawn yet."""
        self._console = Console(stderr=True)
        interactive = self._console.is_interactive
        self._live = Live(console=self._console, auto_refresh=False, transient=True) if interactive else None
        self._last_plain = float("-inf")
        self._last_phases: dict[str, str] = {}

    def __enter__(self) -> Self:
        """Starts drawing."""
        if self._live:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Takes the live table away again."""
        if self._live:
            self._live.stop()

    def show(self, arms: Sequence[ArmProgress]) -> None:
        """Draws every arm as it is now."""
        if self._live:
            self._live.update(_table(arms), refresh=True)
        else:
            for arm in self._worth_a_line(arms, time.monotonic()):
                print("  ".join(_cells(arm)), file=sys.stderr, flush=True)

    def _worth_a_line(self, arms: Sequence[ArmProgress], now_s: float) -> list[ArmProgress]:
        """Arms that entered another phase, and now and then all that are at play."""
        due = now_s - self._last_plain > PLAIN_EVERY_S
        if due:
            self._last_plain = now_s
        worth = [
            arm
            for arm in arms
            if arm.phase != self._last_phases.get(arm.arm) or (due and arm.phase not in RESTING_PHASES)
        ]
        self._last_phases = {arm.arm: arm.phase for arm in arms}
        return worth


def _table(arms: Sequence[ArmProgress]) -> Table:
    table = Table(box=None, pad_edge=False)
    for number, column in enumerate(COLUMNS):
        right = number >= TEXT_COLUMNS and column != "faults"
        table.add_column(column, justify="right" if right else "left", no_wrap=True)
    for arm in arms:
        table.add_row(*_cells(arm, labelled=False))
    return table


def _queue(now: tuple[float, int] | None) -> tuple[str, str]:
    """Age and depth."""
    return (UNKNOWN, UNKNOWN) if now is None else (f"{now[0]:.1f} s", str(now[1]))


def _cells(arm: ArmProgress, *, labelled: bool = True) -> list[str]:
    """The values of COLUMNS; with their names where no table head says them."""
    values = [
        arm.arm,
        arm.kind,
        arm.phase if not arm.failure else "failed",
        f"{min(arm.elapsed_s, 9999):.0f}/{arm.total_s:.0f} s",
        str(arm.offered),
        str(arm.admitted),
        str(arm.shed),
        *_queue(arm.queue_now),
        ", ".join(sorted(arm.active_faults)) or "-",
    ]
    return [
        f"{name} {value}" if labelled and number > TEXT_COLUMNS - 1 else value
        for number, (name, value) in enumerate(zip(COLUMNS, values, strict=True))
    ]
