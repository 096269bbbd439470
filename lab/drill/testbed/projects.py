"""Compose projects of the lab on this engine, known by their labels; removes those whose run is dead, or all."""

import json

from lab.drill.testbed.engine import EngineError, compose_command, drive_engine
from lab.drill.testbed.leftovers import is_alive, owner_mark

OWNER_LABEL = "shedlab.owner"
PROJECT_LABEL = "com.docker.compose.project"
# What a project may consist of, as `docker KIND ls` lists it; one whose start was cut short may be a network alone.
KINDS = ("container", "network", "volume")
BENCH = "bench"
LIST_TIMEOUT_S = 30.0
REMOVE_TIMEOUT_S = 120.0
GRACE_S = "3"


async def lab_projects() -> dict[str, str]:
    """Project name -> owner mark, of everything on the engine that carries the lab's label.

    Raises:
        EngineError: the engine does not answer.
    """
    found: dict[str, str] = {}
    for kind in KINDS:
        every = ("--all",) if kind == "container" else ()
        filters = ("--filter", f"label={OWNER_LABEL}", "--format", "{{json .Labels}}")
        listed = await drive_engine(kind, "ls", *every, *filters, timeout_s=LIST_TIMEOUT_S)
        for line in listed.splitlines():
            labels = dict(part.partition("=")[::2] for part in json.loads(line).split(","))
            found[labels.get(PROJECT_LABEL, "")] = labels.get(OWNER_LABEL, "")
    found.pop("", None)
    return found


async def own_containers() -> frozenset[str] | None:
    """Full ids of the running containers whose owner is this process; None where the engine does not answer."""
    filters = ("--filter", f"label={OWNER_LABEL}={owner_mark()}")
    try:
        listed = await drive_engine("container", "ls", "--no-trunc", "--quiet", *filters, timeout_s=LIST_TIMEOUT_S)
    except EngineError:
        return None
    return frozenset(listed.split())


async def remove_dead_projects() -> list[str]:
    """Removes what dead runs left on the engine; a sentence for each project. The bench is nobody's leftover."""
    dead = [name for name, owner in (await lab_projects()).items() if owner != BENCH and not is_alive(owner)]
    return await _remove(dead, "that a dead run left behind")


async def remove_every_project() -> list[str]:
    """Removes every project of the lab, whoever runs it; a sentence for each."""
    return await _remove(list(await lab_projects()), "of the lab")


async def remove_project(project: str) -> list[str]:
    """Containers, network and volumes of one project; returns a sentence for what is still there."""
    try:
        await _quietly("unpause", project)
        down = compose_command(project, "down", "--volumes", "--remove-orphans", "--timeout", GRACE_S)
        await drive_engine(*down, timeout_s=REMOVE_TIMEOUT_S)
        return [f"Compose project {project} is still there"] if project in await lab_projects() else []
    except EngineError as error:
        return [f"Compose project {project} could not be removed: {error}"]


async def _remove(projects: list[str], whose: str) -> list[str]:
    said = []
    for project in projects:
        left = await remove_project(project)
        said += left or [f"removed Compose project {project} {whose}"]
    return said


async def _quietly(verb: str, project: str) -> None:
    """What stands still cannot be stopped; that nothing does is no failure."""
    try:
        await drive_engine(*compose_command(project, verb), timeout_s=LIST_TIMEOUT_S)
    except EngineError:
        return
