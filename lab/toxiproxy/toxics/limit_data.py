"""limit_data: exactly so many bytes pass on each connection, then it closes; the count survives edits of the toxic."""

from dataclasses import dataclass
from typing import ClassVar

from lab.toxiproxy.toxics import Stub, Toxic, attribute


@dataclass(frozen=True, slots=True)
class LimitDataToxic(Toxic):
    """The stream is cut short."""

    type_name: ClassVar[str] = "limit_data"
    go_name: ClassVar[str] = "LimitDataToxic"

    limit_bytes: int = attribute("bytes")

    async def pipe(self, stub: Stub) -> None:
        """Counts, cuts, closes; with a limit of 0 at the first chunk."""
        while (chunk := await stub.receive()) is not None:
            room_bytes = max(0, self.limit_bytes - stub.sent_bytes)
            if room_bytes > len(chunk.data):
                await stub.send()
                continue
            if room_bytes:
                await stub.send(room_bytes)
            stub.drop()
            break
        stub.close()
