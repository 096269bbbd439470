"""What every verb needs of a bench, whatever it is made of."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from lab.contract.fault_spec import ProcessFault
from lab.drill.testbed import Addresses

PAGE_PORT = 8089
# What these print is for people; they say no events.
SILENT = ("redis", "toxiproxy")


@dataclass(frozen=True, slots=True)
class LoadOrder:
    """One play of a schedule; `page` asks for Locust's own page, which then stays after the play."""

    schedule: Path
    answer_timeout_s: float
    page: bool


class Tail(Protocol):
    """One service's output, from some time on."""

    def new_lines(self) -> list[str]:
        """The whole lines printed since the last call; never waits."""

    @property
    def ended(self) -> bool:
        """Whether nothing more will come: the service is gone, or was started anew."""

    def close(self) -> None:
        """Stops following."""


class Bench(Protocol):
    """One live stack. Its methods raise StackError where it, or its engine, does not do as told."""

    runtime: str
    addresses: Addresses
    # The file of the scenario it was brought up with, None where nobody said.
    scenario: str | None

    def identity(self) -> str | None:
        """What tells this bench from the ones before and after it, read afresh; None where that cannot be had."""

    async def inject_process(self, fault: ProcessFault) -> None:
        """Kills, pauses or restarts the process that the fault names, or changes how many workers there are."""

    async def revert_process(self, fault: ProcessFault) -> None:
        """Starts or resumes it again."""

    def worker_count(self) -> int:
        """How many workers run."""

    def not_running(self) -> list[str]:
        """A sentence for each service that is gone or stands still."""

    def sources(self) -> Sequence[str]:
        """Every service that prints events, by its name in a journal; the load generator once it was started."""

    def tail(self, source: str, since_at: float) -> Tail:
        """Follows a service's output from about `since_at` on, or from earlier."""

    def read(self, source: str, since_at: float) -> list[str]:
        """What a service has printed from about `since_at` on, or from earlier."""

    def start_load(self, order: LoadOrder) -> None:
        """Starts the load generator anew."""

    def stop_load(self) -> bool:
        """Has the load generator make its record whole and end; False where none runs."""

    def load_runs(self) -> bool:
        """Whether the load generator's process is there, playing or serving its page."""

    def load_said(self) -> str:
        """The load generator's last words on standard error."""

    def page_url(self) -> str:
        """Where Locust's page is, if it was asked for."""
