"""`python -m lab.drill.rehearsal.keeper`: owns the local bench's processes from `shedlab up` to `shedlab down`.

In a session of its own, so that it outlives the terminal. It notes where the bench is once the stack is up, carries out
orders on its processes, and on SIGTERM ends them all.
"""

import argparse
import asyncio
import contextlib
import shutil
import signal
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from lab.contract.fault_spec import LatencyFault
from lab.contract.loading import ScenarioError, load_scenario
from lab.contract.names import EXIT_COULD_NOT_RUN, EXIT_OK
from lab.contract.scenario import Scenario
from lab.drill.arm import BRING_UP_WITHIN_S
from lab.drill.probes import StackProbe
from lab.drill.rehearsal import RehearsalError
from lab.drill.rehearsal.local import Note
from lab.drill.rehearsal.orders import serve_orders
from lab.drill.rehearsal.processes import end, owned_by
from lab.drill.rehearsal.state import State, write_json
from lab.drill.testbed import StackError
from lab.drill.testbed.leftovers import owner_mark
from lab.drill.testbed.local import LocalStack

# Makes LocalStack put the workers' link to Redis through the proxy too; it is never injected.
REDIS_LINK = LatencyFault.model_validate({"kind": "latency", "at": "0s", "for": "1s", "link": "redis", "latency": "0s"})


@dataclass(frozen=True, slots=True)
class Keeping:
    """What the keeper is told."""

    state: State
    scenario_file: Path
    letter: str
    run_id: str


def main() -> int:
    """Keeps one bench; 0 when told to end, 3 where it could not be brought up: its last line says why."""
    asked = _parser().parse_args()
    keeping = Keeping(State(asked.reports), asked.scenario, asked.letter, asked.run_id)
    try:
        asyncio.run(keep(keeping))
    except (RehearsalError, StackError, ScenarioError, OSError) as error:
        sys.stderr.write(f"{' '.join(str(error).split())}\n")
        return EXIT_COULD_NOT_RUN
    except asyncio.CancelledError:
        return EXIT_OK
    return EXIT_OK


async def keep(keeping: Keeping) -> None:
    """Brings the stack up, serves until told to end, ends it.

    Raises:
        StackError: it does not come up.
    """
    ending = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(number, ending.set)
    scenario = load_scenario(keeping.scenario_file).scenario
    stack = _stack(keeping, scenario)
    try:
        await _until_up(stack, scenario, ending)
        if not ending.is_set():
            await _serve(keeping, scenario, stack, ending)
    finally:
        await stack.stop()
        # Whatever was started under this mark by others, such as the load.
        await asyncio.to_thread(end, owned_by(owner_mark()))


def _stack(keeping: Keeping, scenario: Scenario) -> LocalStack:
    linked = scenario.model_copy(update={"faults": (REDIS_LINK,)})
    return LocalStack(linked, keeping.letter, keeping.state.stack_dir, keeping.run_id, lambda _source, _path: None)


async def _until_up(stack: LocalStack, scenario: Scenario, ending: asyncio.Event) -> None:
    """Returns when all answer, or the end is asked for; a service that ends meanwhile says why."""
    await stack.start()
    probe = StackProbe(stack.addresses)
    up = asyncio.create_task(probe.wait_until_up(scenario.stack.workers, BRING_UP_WITHIN_S))
    crash = asyncio.create_task(stack.unexpected_exit())
    told = asyncio.create_task(ending.wait())
    tasks = (up, crash, told)
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        if crash.done():
            ended = crash.result()
            raise StackError(f"{ended.service} ended with exit code {ended.code}: {ended.said or 'it said nothing'}")
        if up.done():
            up.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await probe.aclose()


async def _serve(keeping: Keeping, scenario: Scenario, stack: LocalStack, ending: asyncio.Event) -> None:
    # A socket's path may be no longer than some hundred characters, which a reports folder's may be.
    folder = Path(tempfile.mkdtemp(prefix="shedlab-"))
    try:
        server = await serve_orders(folder / "keeper.sock", stack.inject_process, stack.revert_process)
        write_json(keeping.state.bench_file, _note(keeping, scenario, stack, folder / "keeper.sock").to_json())
        await ending.wait()
        server.close()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        with contextlib.suppress(OSError):
            keeping.state.bench_file.unlink(missing_ok=True)


def _note(keeping: Keeping, scenario: Scenario, stack: LocalStack, socket: Path) -> Note:
    workers = (f"worker-{number}" for number in range(1, scenario.stack.workers + 1))
    return Note(
        keeper=owner_mark(),
        run_id=keeping.run_id,
        scenario=str(keeping.scenario_file.resolve()),
        letter=keeping.letter,
        socket=str(socket),
        services=("redis", "toxiproxy", "model-1", "gate-1", *workers),
        began_at=time.time(),
        addresses=stack.addresses,
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="keeper", description=__doc__)
    parser.add_argument("--reports", type=Path, required=True)
    parser.add_argument("--scenario", type=Path, required=True)
    parser.add_argument("--letter", required=True)
    parser.add_argument("--run-id", required=True)
    return parser


if __name__ == "__main__":
    sys.exit(main())
