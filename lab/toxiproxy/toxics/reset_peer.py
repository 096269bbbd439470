"""reset_peer: at the first chunk, or at the end of the stream, waits and then closes with RST.

The clock starts at the first data and not at the connect, and nothing stops it. RST comes of SO_LINGER 0, which is set
on connections opened while the toxic is there, whatever the draw; older ones are closed with FIN.
"""

from dataclasses import dataclass
from typing import ClassVar

from lab.toxiproxy.toxics import Stub, Toxic, attribute


@dataclass(frozen=True, slots=True)
class ResetPeerToxic(Toxic):
    """The connection is reset."""

    type_name: ClassVar[str] = "reset_peer"
    go_name: ClassVar[str] = "ResetToxic"
    lingers_zero: ClassVar[bool] = True

    timeout_ms: int = attribute("timeout")

    async def pipe(self, stub: Stub) -> None:
        """One chunk decides."""
        await stub.receive()
        stub.drop()
        await stub.sleep(self.timeout_ms / 1000, interruptible=False)
        stub.close()
