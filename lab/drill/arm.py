"""Plays one arm: bring up, check steady state, play the schedule and the faults, drain, revert, prove clean, tear down.

Whatever goes wrong, the way out is the same: revert newest first, re-read the stack, end every process.
"""

import asyncio
import json
import time
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any

import httpx
from redis.exceptions import RedisError

from lab.contract.messages import Job
from lab.drill.counters import check_counters
from lab.drill.edge_check import check_edge
from lab.drill.faults import FaultError
from lab.drill.faults.registry import fault_name
from lab.drill.header import run_header
from lab.drill.host import HostWatch
from lab.drill.journal_writer import JournalWriter
from lab.drill.open_jobs import OpenJobs, empties_redis
from lab.drill.plan import Arm, Plan
from lab.drill.probes import Check, StackProbe
from lab.drill.progress import ArmProgress
from lab.drill.standstill import watch_standstill
from lab.drill.testbed import ServiceExit, Stack, StackError, Testbed
from lab.drill.timeline import Timeline
from lab.drill.warm_up import warm_estimators
from lab.drill.wave import Meeting, Wave

BRING_UP_WITHIN_S = 60.0
STEADY_STATE_WITHIN_S = 30.0
LOAD_START_WITHIN_S = 60.0
COLLECT_EVERY_S = 0.05
COUNTERS_LOOKS = 20
CRASH_NOTICED_WITHIN_S = 1.0
# What a door of the stack raises when nobody is behind it any more.
IO_ERRORS = (httpx.HTTPError, RedisError, TimeoutError)


@dataclass(slots=True)
class Stopwatch:
    """Where the arm's wall time went, phase by phase, in seconds."""

    laps: dict[str, float]
    began: float

    @classmethod
    def start(cls) -> "Stopwatch":
        """Starts now."""
        return cls({}, time.monotonic())

    def lap(self, name: str) -> None:
        """Time since the last lap goes to `name`."""
        now = time.monotonic()
        self.laps[name] = self.laps.get(name, 0.0) + now - self.began
        self.began = now


@dataclass(frozen=True, slots=True)
class Ground:
    """What all arms of a run stand on. `removed` says what earlier runs had left behind."""

    testbed: Testbed
    removed: list[str]
    host: HostWatch


@dataclass(frozen=True, slots=True)
class Told:
    """What the arm's own journal has told so far."""

    progress: ArmProgress
    open_jobs: OpenJobs


async def play_arm(plan: Plan, arm: Arm, ground: Ground, *, wave: Wave, progress: ArmProgress) -> None:
    """Plays one arm from nothing to nothing; its journal is the result.

    A failure of the stack is written there, and ends this arm alone.
    """
    plan.arm_dir(arm).mkdir()
    faults = enumerate(plan.played.faults, start=1)
    open_jobs = OpenJobs(frozenset(fault_name(fault, number) for number, fault in faults if empties_redis(fault)))

    def observe(event: dict[str, Any]) -> None:
        progress.observe(event)
        open_jobs.observe(event)

    journal = JournalWriter(plan.arm_dir(arm), observe)
    try:
        journal.write("run", **run_header(plan, arm, ground.testbed))
        for check in _checks_before(plan, arm, ground.removed):
            write_check(journal, check)
        await _Play(plan, arm, ground, wave=wave, journal=journal, told=Told(progress, open_jobs)).run()
    except (StackError, FaultError) as error:
        progress.failure = str(error)
        write_check(journal, Check("arm", ok=False, detail=str(error)))
    finally:
        wave.leave(arm.name)
        journal.close()


def write_check(journal: JournalWriter, check: Check) -> None:
    """One check as an event."""
    journal.write("check", name=check.name, ok=check.ok, detail=check.detail, evidence=check.evidence)


def _checks_before(plan: Plan, arm: Arm, removed: list[str]) -> list[Check]:
    """What is known before anything starts."""
    left = "; ".join(removed) or "no earlier run left anything behind"
    return [
        Check("capacity", ok=True, detail="worked out before the run", evidence=plan.schedules[arm.repeat].capacity),
        Check("leftovers", ok=True, detail=left, evidence={"removed": removed}),
    ]


class _Play:
    """One arm at play."""

    def __init__(self, plan: Plan, arm: Arm, ground: Ground, *, wave: Wave, journal: JournalWriter, told: Told) -> None:
        self._plan = plan
        self._host = ground.host
        self._name, self._letter = arm.name, arm.letter
        self._wave = wave
        self._scenario = plan.played
        self._journal = journal
        self._told = told
        self._schedule = plan.schedules[arm.repeat]
        stack = ground.testbed.new_stack(plan.played, arm.letter, plan.arm_dir(arm), plan.run_id, journal.follow)
        self._stack: Stack = stack
        self._probe = StackProbe(self._stack.addresses)
        self._timeline = Timeline(plan.played.faults, self._stack, self._probe, journal)
        self._watch = Stopwatch.start()

    async def run(self) -> None:
        """The phases, in order. The stack's own crash, at any moment, ends them."""
        clean = False
        try:
            await self._unless_it_crashes(self._phases())
            clean = True
        finally:
            # Whoever fails is not waited for, nor is its clean-up.
            self._wave.leave(self._name)
            await uninterrupted(self._clean_up(complete=clean))

    async def _phases(self) -> None:
        await self._bring_up()
        await self._check_steady_state()
        await self._warm_up()
        self._watch.lap("bring_up_s")
        await self._wave.meet(Meeting.LOAD_STARTS, self._name)
        self._watch.lap("waiting_s")
        start_at = await self._start_load()
        await self._play_schedule(start_at)
        await self._drain()
        await self._wave.meet(Meeting.STACKS_END, self._name)
        self._watch.lap("waiting_s")

    async def _bring_up(self) -> None:
        self._phase("bring_up")
        await self._stack.start()
        await self._probe.wait_until_up(self._scenario.stack.workers, BRING_UP_WITHIN_S)
        self._check(await self._probe.check_clock())
        if self._scenario.stack.edge:
            await self._check_edge()

    async def _check_edge(self) -> None:
        edge = await check_edge(self._stack, self._probe, self._scenario.workload.shortest_deadline_s)
        self._check(edge)
        if not edge.ok:
            raise StackError(edge.detail)

    async def _check_steady_state(self) -> None:
        self._phase("steady_state")
        self._check(await self._probe.check_steady_state(self._scenario, STEADY_STATE_WITHIN_S))
        clean = await self._probe.check_clean()
        self._check(Check("clean_start", clean.ok, clean.detail, clean.evidence))
        if not clean.ok:
            raise StackError(f"the stack is not clean before the start: {clean.detail}")

    async def _warm_up(self) -> None:
        if self._scenario.warms(self._letter):
            self._check(await warm_estimators(self._probe.redis, self._schedule.warm))

    async def _start_load(self) -> float:
        """Starts the load generator; returns the schedule's start, in unix seconds."""
        await self._stack.start_load(self._schedule.path)
        async with asyncio.timeout(LOAD_START_WITHIN_S):
            start_at = await self._schedule_start()
        self._watch.lap("bring_up_s")
        return start_at

    async def _schedule_start(self) -> float:
        load = asyncio.ensure_future(self._stack.load_exit())
        try:
            while self._journal.schedule_start_at is None:
                if load.done():
                    raise StackError(f"the load generator ended before it began, exit code {load.result()}")
                await asyncio.sleep(COLLECT_EVERY_S)
        finally:
            load.cancel()
        return self._journal.schedule_start_at

    async def _play_schedule(self, start_at: float) -> None:
        """Faults and phases run beside the load, which ends when its last answer is in."""
        watchers = (self._name_phases(start_at), watch_standstill(self._journal))
        background = [asyncio.create_task(watcher) for watcher in watchers]
        faults = asyncio.create_task(self._timeline.play(start_at))
        load = asyncio.ensure_future(self._stack.load_exit())
        try:
            with self._host.telling(self._journal):
                await _both(faults, load)
        finally:
            for task in (*background, faults, load):
                task.cancel()
            await asyncio.gather(*background, faults, load, return_exceptions=True)
        if code := load.result():
            raise StackError(f"the load generator failed with exit code {code}")
        self._watch.lap("run_s")

    async def _name_phases(self, start_at: float) -> None:
        for phase, (begin, _) in self._scenario.phase_windows().items():
            await asyncio.sleep(max(0.0, start_at + begin - time.time()))
            self._phase(phase)

    async def _drain(self) -> None:
        """Waits until every admitted job has settled, no longer than declared; what is left then is unfinished."""
        self._phase("drain")
        deadline = time.monotonic() + self._scenario.stack.drain
        await self._probe.wait_until_drained(deadline)
        await self._compare_counters()
        # Stopped before the stream is read, so that none of them settles what is then called unfinished.
        await self._stack.stop_workers()
        self._journal.collect()
        left = [_identity(job) for job in await self._probe.entries_left()]
        for identity in left:
            self._journal.write("unfinished", at=None, **identity)
        for lost in self._told.open_jobs.lost({identity["job_id"] for identity in left}):
            self._journal.write("lost", request_id=lost.request_id, job_id=lost.job_id)
        await self._probe.empty_stream()
        self._watch.lap("drain_s")

    async def _compare_counters(self) -> None:
        """While the services can still be asked; that one does not answer is a finding, and no end of the arm."""
        try:
            gate_text = await self._probe.gate_metrics()
            worker_texts = await self._stack.worker_metrics()
        except (httpx.HTTPError, StackError) as error:
            self._check(Check("counters", ok=False, detail=f"a service's /metrics cannot be read: {error}"))
            return
        # What was counted has been said before; it may still be on its way into the journal.
        check = check_counters(gate_text, worker_texts, self._told.progress, self._scenario.faults)
        for _ in range(COUNTERS_LOOKS):
            if check.ok:
                break
            await asyncio.sleep(COLLECT_EVERY_S)
            self._journal.collect()
            check = check_counters(gate_text, worker_texts, self._told.progress, self._scenario.faults)
        self._check(check)

    async def _unless_it_crashes(self, phases: Coroutine[Any, Any, None]) -> None:
        """Runs the phases until they are over, a process ends that nobody asked to, or the journal fails."""
        playing = asyncio.ensure_future(phases)
        crash = asyncio.ensure_future(self._stack.unexpected_exit())
        collecting = asyncio.ensure_future(_collect(self._journal))
        tasks = (playing, crash, collecting)
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            if collecting.done():
                collecting.result()
            if await _has_crashed(playing, crash):
                ended = crash.result()
                self._journal.write("exit", service=ended.service, code=ended.code, expected=False)
                raise StackError(
                    f"{ended.service} ended by itself with exit code {ended.code}: {ended.said or 'it said nothing'}"
                )
            playing.result()
        except IO_ERRORS as error:
            raise StackError(f"the stack stopped answering: {type(error).__name__}: {error}") from None
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _clean_up(self, *, complete: bool) -> None:
        """Reverts, proves, ends. Runs on every way out, so nothing in it may keep the rest from happening."""
        self._phase("clean_up")
        try:
            failures = await self._timeline.revert_all()
            proof = await self._probe.check_clean()
            self._check(
                Check("clean_state", proof.ok and not failures, "; ".join([*failures, proof.detail]), proof.evidence)
            )
        finally:
            still_there = await self._stack.stop()
            self._check(
                Check(
                    "processes_ended", not still_there, "; ".join(still_there) or "every process of the stack has ended"
                )
            )
            await self._probe.aclose()
            self._journal.collect()
            self._watch.lap("clean_up_s")
            if complete:
                self._journal.write("breakdown", **self._watch.laps)
                self._phase("done")

    def _phase(self, phase: str) -> None:
        self._journal.write("phase", phase=phase)

    def _check(self, check: Check) -> None:
        write_check(self._journal, check)


async def uninterrupted(work: Coroutine[Any, Any, None]) -> None:
    """Carries `work` to its end however often the caller is cancelled meanwhile; the cancellation follows after."""
    task = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError as error:
            cancelled = error
    task.result()
    if cancelled is not None:
        raise cancelled


async def _collect(journal: JournalWriter) -> None:
    """Moves what the services print into the journal all the time; OSError once that cannot be written."""
    while journal.failure is None:
        journal.collect()
        await asyncio.sleep(COLLECT_EVERY_S)
    raise journal.failure


async def _has_crashed(playing: "asyncio.Future[None]", crash: "asyncio.Future[ServiceExit]") -> bool:
    """Whether the stack crashed, also where the phases were the first to notice that something does not answer."""
    if playing.done() and not playing.cancelled() and isinstance(playing.exception(), IO_ERRORS):
        await asyncio.wait([crash], timeout=CRASH_NOTICED_WITHIN_S)
    return crash.done()


async def _both(faults: "asyncio.Task[None]", load: "asyncio.Future[int]") -> None:
    """Waits for both; a fault that fails ends the wait at once."""
    try:
        await asyncio.gather(faults, load)
    except ExceptionGroup as group:
        raise group.exceptions[0] from None


def _identity(job_json: str) -> dict[str, str]:
    """Ids of a job left in the stream; an entry that is no job cannot name any."""
    try:
        job = Job.model_validate_json(job_json)
    except ValueError:
        return {"request_id": "?", "job_id": json.dumps(job_json)[:80]}
    return {"request_id": job.request_id, "job_id": job.job_id}
