"""`shedlab load`: plays a scenario's arrivals on the bench; `shedlab load stop` ends the play early."""

import argparse
from pathlib import Path

from lab.contract.names import EXIT_OK
from lab.desk.places import find_scenario
from lab.desk.rehearsing import bench_that_is_up, plainly, rehearsal_state
from lab.desk.up import DEFAULT_SCENARIO
from lab.drill.rehearsal.bench import Bench
from lab.drill.rehearsal.load import make_load, play_of, start_load

STOP = "stop"


def load(asked: argparse.Namespace) -> int:
    """Returns once the play has begun, or has ended.

    Raises:
        DeskError: no bench is up, a load is playing already, or it does not begin.
    """
    state = rehearsal_state()
    with plainly():
        bench = bench_that_is_up(state, asked.runtime)
        if asked.scenario == STOP:
            return _stop(bench)
        declared = find_scenario(asked.scenario or _default(bench))
        played = make_load(declared, asked.speed)
        start_load(state, bench, played, page=asked.page)
        seconds = f"{played.played.workload.duration:g} s of {declared.scenario.name}"
        print(f"playing: {len(played.requests)} requests in {seconds}; `shedlab watch` shows it")
        if asked.page:
            print(f"Locust's page: {bench.page_url()}")
    return EXIT_OK


def _stop(bench: Bench) -> int:
    stopped = bench.stop_load()
    play = play_of(bench) if stopped else None
    print(f"stopped: {play.sent_count} of {play.due_count} requests were sent" if play else "no load is playing")
    return EXIT_OK


def _default(bench: Bench) -> str:
    """What the bench was brought up with."""
    return bench.scenario if bench.scenario and Path(bench.scenario).exists() else DEFAULT_SCENARIO
