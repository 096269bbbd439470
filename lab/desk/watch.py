"""`shedlab watch`: the live bench as a table that stays in place; `--once` prints it and ends."""

import argparse
import time

from rich.console import Console
from rich.live import Live

from lab.contract.names import EXIT_OK
from lab.desk.rehearsing import bench_that_is_up, plainly, rehearsal_state
from lab.desk.watch_view import view_table
from lab.drill.rehearsal.watch import Watcher

# What is followed through the engine takes a moment to arrive.
FIRST_LINES_WITHIN_S = 1.0


def watch(asked: argparse.Namespace) -> int:
    """Goes on until Ctrl-C, which is how it is meant to end.

    Raises:
        DeskError: no bench is up.
    """
    state = rehearsal_state()
    with plainly():
        watcher = Watcher(state, bench_that_is_up(state, asked.runtime))
        try:
            watcher.wait_for_lines(FIRST_LINES_WITHIN_S)
            if asked.once:
                Console(highlight=False, markup=False, emoji=False).print(view_table(watcher.look()))
            else:
                _show(watcher, asked.every)
        except KeyboardInterrupt:
            return EXIT_OK
        finally:
            watcher.close()
    return EXIT_OK


def _show(watcher: Watcher, every_s: float) -> None:
    console = Console(highlight=False, markup=False, emoji=False)
    if not console.is_terminal:
        while True:
            console.print(view_table(watcher.look()))
            time.sleep(every_s)
    with Live(console=console, auto_refresh=False) as live:
        while True:
            live.update(view_table(watcher.look()), refresh=True)
            time.sleep(every_s)
