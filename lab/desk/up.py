"""`shedlab up`: brings a rehearsal bench up and says where its doors are."""

import argparse
import sys

from lab.contract.names import EXIT_OK
from lab.desk.errors import DeskError
from lab.desk.places import find_scenario
from lab.desk.rehearsing import plainly, rehearsal_state
from lab.drill.rehearsal.bench import Bench
from lab.drill.rehearsal.start import Wanted, bring_up, choose_runtime, default_letter

DEFAULT_SCENARIO = "slow_provider"
NEXT = """next (shedlab is .venv/bin/shedlab):
  shedlab load              plays the scenario's arrivals (--page: with Locust's page)
  shedlab watch             shows rates, age, depth, faults, policy
  shedlab fault add latency --latency 800ms --for 20s
  shedlab policy set queue_age --max-age 2s
  shedlab rehearsal report  the report of what was played
  shedlab down"""


def up(asked: argparse.Namespace) -> int:
    """Returns once the bench answers.

    Raises:
        DeskError: one is up already, or it does not come up.
    """
    loaded = find_scenario(asked.scenario or DEFAULT_SCENARIO)
    letter = asked.policy or default_letter(loaded.scenario)
    if letter not in loaded.scenario.policies:
        declared = ", ".join(loaded.scenario.policies)
        raise DeskError(f"--policy {letter}: {loaded.scenario.name} declares no such policy; it has {declared}")
    with plainly():
        runtime, why = choose_runtime(asked.runtime)
        print(f"shedlab: runtime {runtime} ({why})", file=sys.stderr)
        named = asked.scenario is not None or asked.policy is not None
        bench = bring_up(rehearsal_state(), runtime, Wanted(loaded.scenario, loaded.path, letter, named))
    print(f"up: {loaded.scenario.name}, policy {letter} ({loaded.scenario.policies[letter].kind}), idle")
    print("\n".join(address_lines(bench)))
    print(NEXT)
    return EXIT_OK


def address_lines(bench: Bench) -> list[str]:
    """Where the bench's doors are."""
    doors = bench.addresses
    return [
        f"  gate       {doors.gate_url}",
        f"  model      {doors.model_url}",
        f"  redis      {doors.redis_url}",
        f"  toxiproxy  http://{doors.proxy_host}:{doors.proxy_port}  proxies {', '.join(sorted(doors.proxied))}",
    ]
