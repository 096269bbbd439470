"""A request refused in error: the reason code, its HTTP status, and one sentence for the client."""

from lab.contract.names import REFUSAL_STATUS


class RefusedError(Exception):
    """The gate cannot serve this request; its text is the sentence for the client.

    `admission_writes_line` is true where the admission writes the journal's line: it did, or will once it knows what
    became of the job.
    """

    def __init__(self, reason: str, message: str, *, admission_writes_line: bool = False) -> None:
        super().__init__(message)
        self.reason = reason
        self.status = REFUSAL_STATUS[reason]
        self.admission_writes_line = admission_writes_line


def queue_unreachable(*, admission_writes_line: bool = False) -> RefusedError:
    """The refusal while Redis does not answer: without the queue's signals nothing is admitted."""
    return RefusedError(
        "queue_unreachable",
        "The queue does not answer, so the gate admits nothing; try again in a second.",
        admission_writes_line=admission_writes_line,
    )


def draining() -> RefusedError:
    """The refusal while the gate shuts down."""
    return RefusedError("draining", "This gate is shutting down; send the request to another one.")
