"""The doctor's look at the container engine. None of it is needed: without an engine drills run as local processes."""

import json
import socket
import time
from datetime import UTC, datetime
from typing import Any

from lab.desk.finding import Finding
from lab.drill.testbed.engine import EngineError, ask_engine, compose_command
from lab.drill.testbed.images import OLDEST_COMPOSE, compose_version, is_there

LOOPBACK = "127.0.0.1"
BENCH_PROJECT = "shedlab"
NEEDED_MEMORY_BYTES = 2_000_000_000
CLOCK_TOLERANCE_S = 1.0


def engine_findings() -> list[Finding]:
    """Engine, Compose, its memory and clock, the images, and the bench's ports; the first alone where none answers."""
    try:
        told = _engine_told()
        answered_at = time.time()
        declared = json.loads(ask_engine(*compose_command(BENCH_PROJECT, "config", "--format", "json")))
    except (EngineError, ValueError) as error:
        remedy = "start Docker, or install it with its Compose plugin; until then drills run as local processes"
        return [Finding("engine", ok=False, found=str(error), remedy=remedy, needed=False)]
    found = f"Docker {told.get('ServerVersion')}, {told.get('NCPU')} cores"
    return [
        Finding("engine", ok=True, found=found),
        _compose(),
        _memory(int(told.get("MemTotal", 0))),
        _clock(str(told.get("SystemTime", "")), answered_at),
        _images(declared),
        _ports(declared),
    ]


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
        engine_at = datetime.fromisoformat(engine_time[:26].rstrip("Z")).replace(tzinfo=UTC).timestamp()
    except ValueError:
        return Finding("engine clock", ok=False, found=f"it says {engine_time!r}", remedy="update Docker", needed=False)
    offset_s = engine_at - answered_at
    found = f"{offset_s * 1000:+.0f} ms from this machine's"
    return Finding("engine clock", abs(offset_s) < CLOCK_TOLERANCE_S, found, "restart the engine", needed=False)


def _images(declared: dict[str, Any]) -> Finding:
    images = sorted({service["image"] for service in declared["services"].values()})
    missing = [image for image in images if not is_there(image)]
    found = f"missing: {', '.join(missing)}" if missing else f"all {len(images)} are there"
    remedy = "make images (the first drill on compose makes them too)"
    return Finding("images", not missing, found, remedy, needed=False)


def _ports(declared: dict[str, Any]) -> Finding:
    """The bench's own ports; a drill takes free ones."""
    if ask_engine(*compose_command(BENCH_PROJECT, "ps", "--quiet")).strip():
        return Finding("bench ports", ok=True, found="the bench is up")
    published = {
        int(port["published"]): name
        for name, service in declared["services"].items()
        for port in service.get("ports", [])
    }
    taken = [f"{port} ({name})" for port, name in sorted(published.items()) if not _is_free(port)]
    found = f"taken: {', '.join(taken)}" if taken else f"free: {', '.join(map(str, sorted(published)))}"
    return Finding("bench ports", not taken, found, "name others in .env; .env.example has the names", needed=False)


def _is_free(port: int) -> bool:
    with socket.socket() as one:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            one.bind((LOOPBACK, port))
        except OSError:
            return False
    return True
