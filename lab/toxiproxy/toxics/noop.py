"""noop: passes everything."""

from dataclasses import dataclass
from typing import ClassVar

from lab.toxiproxy.toxics import Stub, Toxic


@dataclass(frozen=True, slots=True)
class NoopToxic(Toxic):
    """The fault that does nothing."""

    type_name: ClassVar[str] = "noop"
    go_name: ClassVar[str] = "NoopToxic"

    async def pipe(self, stub: Stub) -> None:
        """Chunk in, chunk out."""
        while await stub.receive() is not None:
            await stub.send()
        stub.close()
