"""timeout: all data is dropped, and the connection closes after so long without data; never if 0.

The clock restarts with each chunk.
"""

from contextlib import suppress
from dataclasses import dataclass
from typing import ClassVar

from lab.toxiproxy.toxics import Stub, Toxic, attribute


@dataclass(frozen=True, slots=True)
class TimeoutToxic(Toxic):
    """A black hole."""

    type_name: ClassVar[str] = "timeout"
    go_name: ClassVar[str] = "TimeoutToxic"
    closes_when_removed: ClassVar[bool] = True

    timeout_ms: int = attribute("timeout")

    async def pipe(self, stub: Stub) -> None:
        """Drops chunks until there is silence."""
        silence_s = self.timeout_ms / 1000 if self.timeout_ms > 0 else None
        with suppress(TimeoutError):
            while await stub.receive(within_s=silence_s) is not None:
                stub.drop()
        stub.close()
