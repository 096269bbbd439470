"""How much CPU time the lab's own processes have taken: the runner's tree, and the containers of its run.

What an engine's daemons do while a drill plays is done for the drill, so it counts as the lab's own.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import psutil

ENGINE_DAEMONS = ("dockerd", "containerd", "containerd-shim", "docker-proxy")
CONTAINER_ID = re.compile(r"\b[0-9a-f]{64}\b")
# As /proc names a process, which is cut at 15 characters.
NAME_LENGTH = 15


@dataclass(frozen=True, slots=True)
class Seen:
    """One process as it was seen. `cpu_s` is its own CPU time and that of its children that have ended."""

    pid: int
    parent: int
    name: str
    container: str | None
    cpu_s: float


Processes = Mapping[tuple[int, float], Seen]


class ProcessTable:
    """The machine's processes, sample after sample; which container one is in is looked up once."""

    def __init__(self, proc: Path = Path("/proc")) -> None:
        """Where there is no `proc`, no process is seen in a container."""
        self._proc = proc
        self._containers: dict[tuple[int, float], str | None] = {}

    def read(self) -> Processes:
        """Every process that may be read, by its id and start."""
        found = {}
        for process in psutil.process_iter(["pid", "ppid", "name", "cpu_times", "create_time"]):
            told = process.info
            if told["cpu_times"] is None or told["create_time"] is None:
                continue
            key = (told["pid"], told["create_time"])
            times = told["cpu_times"]
            cpu_s = times.user + times.system
            cpu_s += getattr(times, "children_user", 0.0) + getattr(times, "children_system", 0.0)
            found[key] = Seen(told["pid"], told["ppid"] or 0, told["name"] or "", self._container(key), cpu_s)
        self._containers = {key: self._containers[key] for key in found}
        return found

    def _container(self, key: tuple[int, float]) -> str | None:
        if key not in self._containers:
            self._containers[key] = self._looked_up(key[0])
        return self._containers[key]

    def _looked_up(self, pid: int) -> str | None:
        try:
            told = (self._proc / str(pid) / "cgroup").read_text(encoding="utf-8", errors="replace")
        except OSError:
            return None
        ids = CONTAINER_ID.findall(told)
        return ids[0] if ids else None


def own_cpu_s(before: Processes, now: Processes, root: int, containers: Iterable[str]) -> float:
    """CPU seconds between two readings of `root` and all below it, of `containers`, and of the engine's daemons.

    A process that ends hands its time on to its parent, so a tree is summed whole: what it lost one by one is found
    above. The time of a container that ended between the readings is not found again, which is less than one reading.
    """
    tree = sum(_tree_cpu_s(now, root)) - sum(_tree_cpu_s(before, root))
    of_container = {name: _container_cpu_s(now, name) - _container_cpu_s(before, name) for name in set(containers)}
    daemons = sum(seen.cpu_s - before[key].cpu_s for key, seen in now.items() if key in before and _is_daemon(seen))
    return max(0.0, tree) + sum(max(0.0, spent) for spent in of_container.values()) + daemons


def _tree_cpu_s(processes: Processes, root: int) -> list[float]:
    children: dict[int, list[Seen]] = {}
    for seen in processes.values():
        children.setdefault(seen.parent, []).append(seen)
    spent, waiting = [], [seen for seen in processes.values() if seen.pid == root]
    while waiting:
        seen = waiting.pop()
        spent.append(seen.cpu_s)
        waiting += children.get(seen.pid, [])
    return spent


def _container_cpu_s(processes: Processes, container: str) -> float:
    return sum(seen.cpu_s for seen in processes.values() if seen.container == container)


def _is_daemon(seen: Seen) -> bool:
    """The runtime's own names, whole or cut, such as containerd-shim-runc-v2."""
    return any(seen.name.startswith(name[:NAME_LENGTH]) for name in ENGINE_DAEMONS)
