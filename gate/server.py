"""uvicorn, shut down in phases.

SIGTERM or SIGINT --> draining: new requests are refused with 503, so that whoever balances the load looks elsewhere
                  --> after DRAIN_NOTICE_S the listener closes and what is under way is finished
                  --> the admission core ends, exit code 0
"""

import time
from types import FrameType

import uvicorn

from gate.admission import Admission

DRAIN_NOTICE_S = 0.5


class GateServer(uvicorn.Server):
    """A server that drains before it closes."""

    def __init__(self, admission: Admission, config: uvicorn.Config) -> None:
        """Serves until a signal, or until the admission core fails."""
        super().__init__(config)
        self._admission = admission
        self._closes_at_s: float | None = None

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:  # noqa: ARG002 - uvicorn's signature
        """Begins to drain; a second signal ends the notice, not what is under way."""
        if self._closes_at_s is not None:
            self.should_exit = True
        self._drain()

    async def on_tick(self, counter: int) -> bool:
        """Whether it is time to close the listener."""
        if self._admission.failed:
            self._drain()
        ends = await super().on_tick(counter)
        return ends or (self._closes_at_s is not None and time.monotonic() >= self._closes_at_s)

    def _drain(self) -> None:
        self._admission.draining = True
        if self._closes_at_s is None:
            self._closes_at_s = time.monotonic() + DRAIN_NOTICE_S
