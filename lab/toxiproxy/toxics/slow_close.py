"""slow_close: data passes, the end of the stream is held."""

from dataclasses import dataclass
from typing import ClassVar

from lab.toxiproxy.toxics import Stub, Toxic, attribute


@dataclass(frozen=True, slots=True)
class SlowCloseToxic(Toxic):
    """The close waits."""

    type_name: ClassVar[str] = "slow_close"
    go_name: ClassVar[str] = "SlowCloseToxic"

    delay_ms: int = attribute("delay")

    async def pipe(self, stub: Stub) -> None:
        """Passes chunks, then waits."""
        while await stub.receive() is not None:
            await stub.send()
        await stub.sleep(self.delay_ms / 1000)
        stub.close()
