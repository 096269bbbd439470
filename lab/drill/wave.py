"""Arms that run side by side: none starts its load while another comes up, and none ends its stack while another plays.

Coming up and being torn down are work for the machine that would show in the measures of the others.
"""

import asyncio
from collections.abc import Iterable
from enum import Enum


class Meeting(Enum):
    """Where the arms of a wave wait for each other."""

    LOAD_STARTS = "load starts"
    STACKS_END = "stacks end"


class Wave:
    """The arms under way together, by name. An arm that fails leaves, so that nobody waits for it."""

    def __init__(self, members: Iterable[str]) -> None:
        """All of them are awaited."""
        names = set(members)
        self._awaited = {meeting: set(names) for meeting in Meeting}
        self._open = {meeting: asyncio.Event() for meeting in Meeting}

    async def meet(self, meeting: Meeting, member: str) -> None:
        """Returns when every member that has not left is at this meeting."""
        self._arrive(meeting, member)
        await self._open[meeting].wait()

    def leave(self, member: str) -> None:
        """Nobody waits for this member any more; fine to call twice."""
        for meeting in Meeting:
            self._arrive(meeting, member)

    def _arrive(self, meeting: Meeting, member: str) -> None:
        self._awaited[meeting].discard(member)
        if not self._awaited[meeting]:
            self._open[meeting].set()
