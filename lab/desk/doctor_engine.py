"""The doctor's look at the container engine. None of it is needed: without an engine drills run as local processes."""

import json
import re
import socket
import time
from collections.abc import Callable
from datetime import datetime
from typing import Any

from lab.desk.finding import Finding
from lab.drill.testbed.engine import EngineError, ask_engine, compose_command
from lab.drill.testbed.images import OLDEST_COMPOSE, compose_version, is_there, tagged_environment

LOOPBACK = "127.0.0.1"
BENCH_PROJECT = "shedlab"
NEEDED_MEMORY_BYTES = 2_000_000_000
CLOCK_TOLERANCE_S = 1.0
_NANOSECONDS = re.compile(r"(\.\d{6})\d+")


def engine_findings() -> list[Finding]:
    """Engine, Compose, its memory and clock, the images, and the bench's ports; the first alone where none answers."""
    try:
        told = _engine_told()
        answered_at = time.time()
    except (EngineError, ValueError) as error:
        remedy = "start Docker, or install it with its Compose plugin; until then drills run as local processes"
        return [Finding("engine", ok=False, found=str(error), remedy=remedy, needed=False)]
    found = f"Docker {told.get('ServerVersion')}, {told.get('NCPU')} cores"
    return [
        Finding("engine", ok=True, found=found),
        _guarded("compose", _compose),
        _guarded("engine memory", lambda: _memory(int(told.get("MemTotal", 0)))),
        _guarded("engine clock", lambda: _clock(str(told.get("SystemTime", "")), answered_at)),
        *_bench_findings(),
    ]


def _bench_findings() -> list[Finding]:
    """Of what the bench's Compose file declares; one finding where it cannot be read."""
    try:
        config = compose_command(BENCH_PROJECT, "config", "--format", "json")
        declared = json.loads(ask_engine(*config, environment=tagged_environment()))
    except (EngineError, ValueError) as error:
        remedy = "install Docker's Compose plugin, or correct .env; until then drills run as local processes"
        return [Finding("bench", ok=False, found=str(error), remedy=remedy, needed=False)]
    return [_guarded("images", lambda: _images(declared)), _guarded("bench ports", lambda: _ports(declared))]


def _guarded(subject: str, check: Callable[[], Finding]) -> Finding:
    """What the check finds, or that it could not be made: one that breaks must not take the others with it."""
    try:
        return check()
    except EngineError as error:
        found = str(error)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        found = f"docker answers what the doctor does not know: {error!r}"
    return Finding(subject, ok=False, found=found, remedy="update Docker and its Compose plugin", needed=False)


def _engine_told() -> dict[str, Any]:
    """`docker info`, which ends well even where it reached no engine."""
    told: dict[str, Any] = json.loads(ask_engine("info", "--format", "{{json .}}"))
    if errors := told.get("ServerErrors"):
        raise EngineError(str(errors[0]))
    return told


def _compose() -> Finding:
    version = compose_version()
    new_enough = tuple(int(part) for part in version.split(".")[:2]) >= OLDEST_COMPOSE
    remedy = f"install Docker Compose {'.'.join(map(str, OLDEST_COMPOSE))} or newer"
    return Finding("compose", new_enough, version, remedy, needed=False)


def _memory(total_bytes: int) -> Finding:
    remedy = "give the engine 2 GB or more"
    found = f"{total_bytes / 1e9:.1f} GB"
    return Finding("engine memory", total_bytes >= NEEDED_MEMORY_BYTES, found, remedy, needed=False)


def _clock(engine_time: str, answered_at: float) -> Finding:
    """A virtual machine's clock may stand still while its host sleeps."""
    try:
        # Nanoseconds are cut off; what Python reads has six digits at most.
        engine_at = datetime.fromisoformat(_NANOSECONDS.sub(r"\1", engine_time))
    except ValueError:
        engine_at = None
    # The engine tells its own local time, which says nothing without its offset.
    if engine_at is None or engine_at.tzinfo is None:
        return Finding("engine clock", ok=False, found=f"it says {engine_time!r}", remedy="update Docker", needed=False)
    offset_s = engine_at.timestamp() - answered_at
    found = f"{offset_s * 1000:+.0f} ms from this machine's"
    return Finding("engine clock", abs(offset_s) < CLOCK_TOLERANCE_S, found, "restart the engine", needed=False)


def _images(declared: dict[str, Any]) -> Finding:
    images = sorted({service["image"] for service in declared["services"].values()})
    missing = [image for image in images if not is_there(image)]
    found = f"missing: {', '.join(missing)}" if missing else f"all {len(images)} are there"
    remedy = "the first drill on compose makes them; make images shows how that goes"
    return Finding("images", not missing, found, remedy, needed=False)


def _ports(declared: dict[str, Any]) -> Finding:
    """The bench's own ports; a drill takes free ones."""
    if ask_engine(*compose_command(BENCH_PROJECT, "ps", "--quiet")).strip():
        return Finding("bench ports", ok=True, found="the bench is up")
    published = sorted(
        (str(port["published"]), name)
        for name, service in declared["services"].items()
        for port in service.get("ports", [])
        if port.get("published")
    )
    taken = [f"{ports} ({name})" for ports, name in published if not any(map(_is_free, _each(ports)))]
    found = f"taken: {', '.join(taken)}" if taken else f"free: {', '.join(ports for ports, _ in published) or 'any'}"
    return Finding("bench ports", not taken, found, "name others in .env; .env.example has the names", needed=False)


def _each(ports: str) -> range:
    """The ports of `8080` or `8080-8090`; of a range Compose takes one that is free."""
    first, _, last = ports.partition("-")
    return range(int(first), int(last or first) + 1)


def _is_free(port: int) -> bool:
    with socket.socket() as one:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            one.bind((LOOPBACK, port))
        except OSError:
            return False
    return True
