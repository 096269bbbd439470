"""Says which requests of a schedule are due. Pure: time is an argument; must not know clocks, sockets or greenlets.

Due times never move. A driver that wakes late gets everything that came due meanwhile at once, so no delay thins
the load.
"""

from collections.abc import Sequence

from lab.contract.messages import ScheduledRequest


class Pacing:
    """A schedule and how far it has been played. Times are seconds since the schedule's start."""

    def __init__(self, schedule: Sequence[ScheduledRequest]) -> None:
        """`schedule` is in order of due time."""
        self._schedule = schedule
        self._next = 0

    def wait_s(self, elapsed_s: float) -> float | None:
        """Seconds until the next request is due, 0 if it is overdue, None after the last."""
        if self._next == len(self._schedule):
            return None
        return max(0.0, self._schedule[self._next].due_s - elapsed_s)

    def take_due(self, elapsed_s: float) -> list[ScheduledRequest]:
        """Every request that came due by now and was not taken before, in order."""
        taken = self._next
        while self._next < len(self._schedule) and self._schedule[self._next].due_s <= elapsed_s:
            self._next += 1
        return list(self._schedule[taken : self._next])

    def take_rest(self) -> list[ScheduledRequest]:
        """Every request not taken before, due or not, in order."""
        rest = list(self._schedule[self._next :])
        self._next = len(self._schedule)
        return rest


def remaining_deadline_s(request: ScheduledRequest, lag_s: float) -> float:
    """What is left of a deadline, counted from the due time, when its request is sent `lag_s` late; never below 0."""
    return max(0.0, request.deadline_s - max(0.0, lag_s))
