"""Makes the journal of the last play from what a live bench's services have printed, and from what was done to it.

<reports>/<stamp>-rehearsal/<letter>-1/journal.jsonl, as the runner of a drill would have written it
"""

import asyncio
import contextlib
import json
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from redis.exceptions import RedisError

from lab.contract.environment import policy_json
from lab.contract.flags import read_policy
from lab.contract.journal import parse_line
from lab.contract.messages import Job
from lab.drill.capacity_check import capacity_evidence
from lab.drill.probes import Check, StackProbe
from lab.drill.rehearsal import RehearsalError
from lab.drill.rehearsal.bench import Bench
from lab.drill.rehearsal.faults import load_faults
from lab.drill.rehearsal.injection import acting
from lab.drill.rehearsal.journal import Recording, write_run
from lab.drill.rehearsal.load import Load, load_of, play_of, policy_noted
from lab.drill.rehearsal.play import Play
from lab.drill.rehearsal.played import met_by, policy_at_start
from lab.drill.rehearsal.policies import current_policy, load_switches
from lab.drill.rehearsal.proof import what_is_left
from lab.drill.rehearsal.selection import Selected, select
from lab.drill.rehearsal.state import State
from lab.drill.testbed import StackError
from lab.drill.toxics_client import ToxiproxyError

NAME = "rehearsal"
# A worker prints an outcome a moment after the entry is gone, and a container's line takes a moment more.
LAST_LINES_S = 1.0
# Earlier lines are read too, to know the jobs that were queued before the play.
READ_BEFORE_S = 120.0


def record(state: State, bench: Bench) -> Path:
    """Writes the run's folder and returns it.

    Raises:
        RehearsalError: nothing was played, the load is playing still, or the bench cannot be read.
    """
    play = ended_play(bench)
    load = load_of(state, bench)
    if play.due_count != len(load.requests):
        raise RehearsalError(
            f"the load generator played {play.due_count} requests and {load.played.name} has {len(load.requests)}; "
            "the scenario was changed since: play it again"
        )
    return write_run(state.reports_root, _recording(state, bench, load, play))


def ended_play(bench: Bench) -> Play:
    """The last play, which is over.

    Raises:
        RehearsalError: there was none, or it is not over.
    """
    play = play_of(bench)
    if play is None:
        raise RehearsalError("no load was played on this bench; start one with `shedlab load`")
    if not play.ended and bench.load_runs():
        raise RehearsalError(
            f"the load is still playing, {play.sent_count} of {play.due_count} requests; wait, "
            "or end it with `shedlab load stop`"
        )
    return play


def _recording(state: State, bench: Bench, load: Load, play: Play) -> Recording:
    unfinished, checks, versions = asyncio.run(_look(bench, load))
    selected = _select(bench, load, play)
    switches = load_switches(state, bench.runtime)
    otherwise = policy_noted(state, bench, play) or json.loads(policy_json(current_policy(bench)))
    faults = load_faults(state, bench.runtime)
    names = [fault.name for fault in acting(faults)]
    return Recording(
        runtime=bench.runtime,
        load=load,
        play=play,
        selected=selected,
        unfinished=tuple(job for job in unfinished if job.job_id in selected.admitted),
        policy=read_policy(policy_at_start(switches, otherwise, play.announced_at)),
        faults=tuple(fault for fault in faults if met_by(fault, play.announced_at, selected.until_at)),
        switches=tuple(switch for switch in switches if play.announced_at <= switch.at <= selected.until_at),
        checks=(*checks, *_checks(load, selected, what_is_left(bench), names)),
        versions=versions,
        ended_at=time.time(),
    )


async def _look(bench: Bench, load: Load) -> tuple[list[Job], list[Check], dict[str, str]]:
    """What only the live bench can tell, its last lines given a moment."""
    probe = StackProbe(bench.addresses)
    try:
        unfinished, drained = await _drain(probe, load)
        checks = [await _clock(probe), drained]
        versions = await _versions(bench, probe)
    finally:
        await probe.aclose()
    await asyncio.sleep(LAST_LINES_S)
    return unfinished, checks, versions


async def _drain(probe: StackProbe, load: Load) -> tuple[list[Job], Check]:
    """Waits until the jobs under way have settled, no longer than declared; what is left then is unfinished."""
    try:
        await probe.wait_until_drained(time.monotonic() + load.played.stack.drain)
        jobs = [job for text in await probe.entries_left() if (job := _job_in(text)) is not None]
    except (RedisError, StackError) as error:
        return [], Check("drain", ok=False, detail=f"the stream cannot be read: {error}")
    return jobs, Check("drain", ok=not jobs, detail=f"{len(jobs)} jobs were left in the stream")


def _job_in(text: str) -> Job | None:
    try:
        return Job.model_validate_json(text)
    except ValueError:
        return None


async def _clock(probe: StackProbe) -> Check:
    try:
        return await probe.check_clock()
    except RedisError as error:
        return Check("clock", ok=False, detail=f"Redis does not answer: {type(error).__name__}")


async def _versions(bench: Bench, probe: StackProbe) -> dict[str, str]:
    versions = {"bench": bench.runtime}
    # A version that cannot be had is one line less in the report.
    with contextlib.suppress(RedisError):
        told: dict[str, Any] = await probe.redis.info("server")
        name = told.get("server_name", "redis")
        versions["redis"] = f"{name} {told.get(f'{name}_version', told.get('redis_version', ''))}"
    with contextlib.suppress(ToxiproxyError):
        versions["toxiproxy"] = await asyncio.to_thread(probe.proxy.version)
    return versions


def _select(bench: Bench, load: Load, play: Play) -> Selected:
    since_at = play.announced_at - READ_BEFORE_S
    events = (
        {**event, "source": source}
        for source in bench.sources()
        for line in bench.read(source, since_at)
        if (event := parse_line(line)) is not None
    )
    return select(events, play.announced_at, frozenset(request.request_id for request in load.requests))


def _checks(load: Load, selected: Selected, left: Sequence[str], acting: Sequence[str]) -> Iterator[Check]:
    """What is known of the play, as a drill's runner would have said it."""
    evidence = capacity_evidence(load.played, load.requests)
    yield Check("capacity", ok=True, detail="worked out from the schedule", evidence=evidence)
    if selected.foreign_count:
        detail = f"{selected.foreign_count} requests that are not of the schedule reached the gate; they are left out"
        yield Check("other_traffic", ok=True, detail=detail)
    found = [*(f"{name} acts still" for name in acting), *left]
    clean = "no toxic, every proxy enabled, model at rest, every service runs"
    yield Check("clean_state", ok=not found, detail="; ".join(found) or clean)
