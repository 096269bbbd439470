"""`shedlab rehearsal report`: the report of what was played last on the live bench."""

import argparse
import sys

from lab.desk.rehearsing import bench_that_is_up, plainly, rehearsal_state
from lab.desk.report import make_report
from lab.desk.report_view import print_report
from lab.drill.rehearsal.record import record


def rehearsal(asked: argparse.Namespace) -> int:
    """Makes the journal and the report; the exit code is the report's.

    Raises:
        DeskError: no bench is up, nothing was played, or the load is playing still.
    """
    state = rehearsal_state()
    with plainly():
        bench = bench_that_is_up(state, asked.runtime)
        print("shedlab: waiting for the jobs under way, then reading the bench", file=sys.stderr)
        run_dir = record(state, bench)
    made = make_report(run_dir)
    print_report(made)
    return made.exit_code
