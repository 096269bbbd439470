"""The runner's own standstill, by a wall clock that the test turns."""

import asyncio
import time
from typing import TYPE_CHECKING, Any, cast

import pytest

from lab.drill import standstill

if TYPE_CHECKING:
    from lab.drill.journal_writer import JournalWriter


class Notes:
    """Stands in for the journal."""

    def __init__(self) -> None:
        self.written: list[tuple[str, dict[str, Any]]] = []

    def write(self, event: str, **fields: Any) -> None:
        self.written.append((event, fields))


def test_a_gap_of_a_second_is_written_and_a_late_tick_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = iter([10.0, 10.1, 11.0, 15.1])
    monkeypatch.setattr(time, "time", lambda: next(ticks))
    slept = iter([None, None, None, asyncio.CancelledError()])

    async def sleep(_seconds: float) -> None:
        if (end := next(slept)) is not None:
            raise end

    monkeypatch.setattr(asyncio, "sleep", sleep)
    notes = Notes()
    with pytest.raises(asyncio.CancelledError):
        asyncio.run(standstill.watch_standstill(cast("JournalWriter", notes)))
    assert notes.written == [("standstill", {"began_at": 11.0, "ended_at": 15.1})]
