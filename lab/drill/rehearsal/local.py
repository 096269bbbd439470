"""The local bench as any command finds it: its keeper's note, the services' files, the keeper's door."""

import os
import shutil
import socket
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import psutil

from lab.contract import environment as env
from lab.contract.fault_spec import ProcessFault
from lab.drill.rehearsal import RehearsalError
from lab.drill.rehearsal.bench import PAGE_PORT, SILENT, LoadOrder, Tail
from lab.drill.rehearsal.orders import order
from lab.drill.rehearsal.processes import end, owned_by, process_of, start_detached
from lab.drill.rehearsal.state import State, read_json
from lab.drill.rehearsal.tail import FileTail
from lab.drill.testbed import Addresses, StackError
from lab.drill.testbed.leftovers import OWNER_VARIABLE, RUN_VARIABLE
from lab.drill.testbed.local import INHERITED, LOG_DIR
from lab.drill.testbed.ports import LOOPBACK

LOADGEN = "loadgen"
# The longest a keeper may take: its workers' drain, then the others.
KEEPER_ENDS_WITHIN_S = 30.0
# Above the load's answer time-out, for which it waits when told to stop.
LOAD_STOP_WITHIN_S = 30.0


@dataclass(frozen=True, slots=True)
class Note:
    """What the keeper writes once its stack is up: bench.json."""

    keeper: str
    run_id: str
    scenario: str
    letter: str
    socket: str
    services: tuple[str, ...]
    began_at: float
    addresses: Addresses

    def to_json(self) -> dict[str, Any]:
        """As values of JSON."""
        return asdict(self)

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> "Note":
        """Back from them.

        Raises:
            RehearsalError: they are no note.
        """
        try:
            told = dict(value["addresses"])
            proxied = {link: (near, far) for link, (near, far) in told.pop("proxied").items()}
            rest = {**value, "services": tuple(value["services"]), "addresses": Addresses(**told, proxied=proxied)}
            return cls(**rest)
        except (KeyError, TypeError, ValueError):
            raise RehearsalError(
                "bench.json is not what this version writes; end the bench with `shedlab down`"
            ) from None


def read_note(state: State) -> Note | None:
    """The note of the local bench, alive or not; None where there is none."""
    value = read_json(state.bench_file)
    return None if value is None else Note.from_json(value)


class LocalBench:
    """A stack of processes that a keeper owns."""

    runtime = "local"

    def __init__(self, state: State, note: Note) -> None:
        """The keeper must be alive."""
        self._note = note
        self._logs = state.stack_dir / LOG_DIR
        self.addresses = note.addresses
        self.scenario: str | None = note.scenario

    def identity(self) -> str | None:
        """The keeper's mark; a bench whose keeper is gone knows nothing of one that came after."""
        return self._note.keeper if process_of(self._note.keeper) is not None else None

    async def inject_process(self, fault: ProcessFault) -> None:
        """By the keeper."""
        await order(Path(self._note.socket), "inject", fault)

    async def revert_process(self, fault: ProcessFault) -> None:
        """By the keeper."""
        await order(Path(self._note.socket), "revert", fault)

    def worker_count(self) -> int:
        """Workers that are there, standing still or not."""
        return sum(service.startswith("worker") for service in self._processes())

    def not_running(self) -> list[str]:
        """Declared services that are gone, and those that stand still."""
        there = self._processes()
        gone = [f"{service} does not run" for service in self._note.services if service not in there]
        stopped = [service for service, process in there.items() if _status(process) == psutil.STATUS_STOPPED]
        return [*gone, *(f"{service} stands still" for service in stopped)]

    def sources(self) -> Sequence[str]:
        """By the files there are."""
        return [path.stem for path in sorted(self._logs.glob("*.out")) if path.stem not in SILENT]

    def tail(self, source: str, since_at: float) -> Tail:  # noqa: ARG002 - a file is cheap to read from earlier
        """The service's file."""
        try:
            return FileTail(self._path(source))
        except OSError as error:
            raise StackError(f"{self._path(source)}: cannot be read: {error.strerror or error}") from None

    def read(self, source: str, since_at: float) -> list[str]:  # noqa: ARG002 - a file is cheap to read from earlier
        """The whole file."""
        try:
            tail = FileTail(self._path(source), sys.maxsize)
        except OSError as error:
            raise StackError(f"{self._path(source)}: cannot be read: {error.strerror or error}") from None
        try:
            return tail.new_lines()
        finally:
            tail.close()

    def start_load(self, order: LoadOrder) -> None:
        """A process under the keeper's mark, so that whatever ends the bench ends it too."""
        if order.page and _is_taken(PAGE_PORT):
            raise StackError(f"port {PAGE_PORT} is taken, which Locust's page needs; free it, or play without --page")
        environment = {
            **{name: os.environ[name] for name in INHERITED if name in os.environ},
            "PYTHONUNBUFFERED": "1",
            OWNER_VARIABLE: self._note.keeper,
            RUN_VARIABLE: self._note.run_id,
            env.SERVICE_ID: LOADGEN,
            env.HOST: LOOPBACK,
            env.SCHEDULE_FILE: str(order.schedule.resolve()),
            env.TARGET_URL: self.addresses.gate_url,
            env.ANSWER_TIMEOUT_S: repr(order.answer_timeout_s),
            env.LOAD_PAGE_PORT: str(PAGE_PORT) if order.page else "",
        }
        out, err = self._path(LOADGEN), self._path(LOADGEN).with_suffix(".err")
        try:
            start_detached((sys.executable, "-m", LOADGEN), environment, out, err)
        except OSError as error:
            raise StackError(f"the load generator cannot be started: {error}") from None

    def stop_load(self) -> bool:
        """SIGTERM, upon which it makes its record whole."""
        load = self._processes().get(LOADGEN)
        if load is None:
            return False
        if end([load], LOAD_STOP_WITHIN_S):
            raise StackError("the load generator does not end")
        return True

    def load_runs(self) -> bool:
        """Whether its process is there."""
        return LOADGEN in self._processes()

    def load_said(self) -> str:
        """From its file."""
        try:
            lines = self._path(LOADGEN).with_suffix(".err").read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            return ""
        return lines[-1][:300] if lines else ""

    def page_url(self) -> str:
        """On loopback."""
        return f"http://{LOOPBACK}:{PAGE_PORT}"

    def _path(self, source: str) -> Path:
        return self._logs / f"{source}.out"

    def _processes(self) -> dict[str, psutil.Process]:
        found = {}
        for process in owned_by(self._note.keeper):
            service = _service_of(process)
            if service:
                found[service] = process
        return found


def end_local(state: State) -> list[str]:
    """Ends the local bench for certain, also one whose keeper was killed; a sentence for what was ended.

    Raises:
        RehearsalError: something would not end.
    """
    note = read_note(state)
    if note is None:
        return []
    keeper = process_of(note.keeper)
    said = "ended the local bench"
    if keeper is None:
        said = "the local bench's keeper was gone; ended what it left"
    # The load first, so that its last requests are answered.
    end([process for process in owned_by(note.keeper) if _service_of(process) == LOADGEN], LOAD_STOP_WITHIN_S)
    left = end([keeper], KEEPER_ENDS_WITHIN_S) if keeper else []
    left += end(owned_by(note.keeper))
    if left:
        raise RehearsalError(f"process {left[0].pid} of the local bench does not end; end it by hand, then try again")
    shutil.rmtree(Path(note.socket).parent, ignore_errors=True)
    state.bench_file.unlink(missing_ok=True)
    return [said]


def _service_of(process: psutil.Process) -> str:
    """A service's name; the two servers are not the lab's own programs and carry none."""
    try:
        named = process.environ().get(env.SERVICE_ID)
        words = " ".join(process.cmdline())
    except (psutil.Error, OSError):
        return ""
    if named:
        return named
    return "toxiproxy" if "toxiproxy" in words else "redis" if "--appendonly" in words else ""


def _status(process: psutil.Process) -> str:
    try:
        return str(process.status())
    except psutil.Error:
        return ""


def _is_taken(port: int) -> bool:
    with socket.socket() as one:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            one.bind((LOOPBACK, port))
        except OSError:
            return True
    return False
