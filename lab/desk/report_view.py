"""Shows a report in the terminal: the comparison, the answer, the doubts, where the time went.

Measures go down and arms across, in as many tables as the width asks for; without a terminal, or with NO_COLOR, all is
plain.
"""

import contextlib
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from lab.reporter.build import RunReport

CELL_GAP = 3
STYLES = {
    "held": "green",
    "breached": "red",
    "void": "yellow",
    "held, too close": "yellow",
    "breached, too close": "yellow",
}
Column = tuple[str, ...]


def print_report(made: "RunReport", *more_lines: str) -> None:
    """Prints everything to standard output in one go."""
    console = Console(highlight=False, markup=False, emoji=False)
    with console.capture() as captured:
        for table in comparison_tables(made.columns, made.rows, console.width):
            console.print(table)
        for line in (*made.summary_lines(), *breakdown_lines(made.breakdowns_s), *more_lines):
            console.print(line, soft_wrap=True)
    # Not by rich, which ends the program with exit code 1 where the reader of a pipe has gone away; whether anybody
    # reads it does not change how the drill went.
    with contextlib.suppress(BrokenPipeError):
        sys.stdout.write(captured.get())


def comparison_tables(titles: Column, rows: tuple[Column, ...], width: int) -> Iterator[Table]:
    """One table per group of arms that fits the width; an arm wider than that has a table of its own."""
    label_width = max(map(len, titles), default=0)
    group: list[Column] = []
    used = label_width + CELL_GAP
    for row in rows:
        needed = max(map(len, row), default=0) + CELL_GAP
        if group and used + needed > width:
            yield _table(titles, group)
            group, used = [], label_width + CELL_GAP
        group.append(row)
        used += needed
    if group:
        yield _table(titles, group)


def _table(titles: Column, arms: list[Column]) -> Table:
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column(titles[0], no_wrap=True)
    for arm in arms:
        table.add_column(arm[0], justify="right", no_wrap=True)
    for number, title in enumerate(titles[1:], start=1):
        table.add_row(title, *(Text(arm[number], style=STYLES.get(arm[number], "")) for arm in arms))
    return table


def breakdown_lines(breakdowns_s: dict[str, dict[str, float]]) -> Iterator[str]:
    """Where each arm's wall time went, in seconds; an arm that was cut short has none."""
    for arm, parts in breakdowns_s.items():
        if parts:
            words = ", ".join(
                f"{name.removesuffix('_s').replace('_', '-')} {took:.1f} s" for name, took in parts.items()
            )
            yield f"Wall time of {arm}: {words}"
