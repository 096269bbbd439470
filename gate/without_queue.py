"""What becomes of a request while the queue does not answer, as the gate was told: refused, shed, or forwarded past it.

    closed   503, refused in error; the default
    reject   429, shed with reason queue_unreachable, so that clients back off as from any shed
    bypass   forwarded to the bypass and answered as that one did where it accepts; else as reject

Only what is certainly not in the queue comes here: a request whose call was cut off in the middle may have been
enqueued, and forwarding it could make two jobs of it, so that one is refused in error in every case. So is one that
was cut off on its way past the queue: told that it was shed, its client would send it again.
"""

import logging

from fastapi import Response

from gate.admission import Admission
from gate.answers import decided_answer
from gate.bypass import ACCEPTED, Bypass, BypassCutOffError
from gate.events import EventWriter
from lab.contract.messages import JobRequest

logger = logging.getLogger(__name__)


class WithoutQueue:
    """The gate's way to fail."""

    def __init__(self, bypass: Bypass | None, admission: Admission, events: EventWriter, *, rejects: bool) -> None:
        """With neither `bypass` nor `rejects` it fails closed."""
        self._bypass = bypass
        self._admission = admission
        self._events = events
        self._rejects = rejects or bypass is not None

    async def answer(self, request: JobRequest, body: bytes) -> Response | None:
        """The answer to a request that is not in the queue; None where it is to be refused in error."""
        try:
            forwarded = await self._bypass.forward(body) if self._bypass is not None else None
        except BypassCutOffError as error:
            logger.warning("request %s was cut off past the queue: %s", request.request_id, error)
            return None
        if forwarded is not None:
            self._events.bypass(self._admission.now_at(), request.request_id, ACCEPTED)
            headers = {} if forwarded.location is None else {"Location": forwarded.location}
            return Response(forwarded.body, ACCEPTED, headers, media_type="application/json")
        return decided_answer(request, self._admission.reject_without_queue(request)) if self._rejects else None
