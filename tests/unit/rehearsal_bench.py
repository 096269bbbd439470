"""A bench for unit tests: no process, no socket; it remembers what was asked of it."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from lab.contract.fault_spec import ProcessFault
from lab.drill.rehearsal.bench import LoadOrder, Tail
from lab.drill.testbed import Addresses

NOWHERE = Addresses("redis://127.0.0.1:1/0", "http://127.0.0.1:1", "http://127.0.0.1:1", "127.0.0.1", 1, {})


@dataclass
class FakeBench:
    """What it is asked lands in `asked`; what it says is set by the test."""

    runtime: str = "local"
    addresses: Addresses = NOWHERE
    scenario: str | None = None
    made_as: str | None = "this bench"
    workers: int = 2
    asked: list[str] = field(default_factory=list)
    logs: dict[str, list[str]] = field(default_factory=dict)
    load_is_there: bool = False

    def identity(self) -> str | None:
        return self.made_as

    async def inject_process(self, fault: ProcessFault) -> None:
        self.asked.append(f"inject {fault.action}")
        if fault.action == "scale":
            self.workers = fault.replicas or 0

    async def revert_process(self, fault: ProcessFault) -> None:
        self.asked.append(f"revert {fault.action}")

    def worker_count(self) -> int:
        return self.workers

    def not_running(self) -> list[str]:
        return []

    def sources(self) -> Sequence[str]:
        return ["gate-1", "worker-1", "worker-2", *self.logs]

    def tail(self, source: str, since_at: float) -> Tail:
        raise AssertionError(f"nobody asked to follow {source} since {since_at}")

    def read(self, source: str, since_at: float) -> list[str]:
        return self.logs[source] if since_at <= 0 else []

    def start_load(self, order: LoadOrder) -> None:
        self.asked.append(f"load {order.schedule.name}")

    def stop_load(self) -> bool:
        return self.load_is_there

    def load_runs(self) -> bool:
        return self.load_is_there

    def load_said(self) -> str:
        return ""

    def page_url(self) -> str:
        return ""
