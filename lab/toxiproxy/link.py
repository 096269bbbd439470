"""One direction of one connection: its stages, in the order in which their toxics were created.

Knows stages. Must not know sockets, beyond what it feeds and what it may ask to pause.
"""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Protocol

from lab.toxiproxy.draws import ConnectionDraws
from lab.toxiproxy.placed_toxic import PlacedToxic
from lab.toxiproxy.stage import Clock, Outlet, Stage, Timer
from lab.toxiproxy.toxics import Chunk


class Source(Protocol):
    """Where the link's data comes from."""

    def hold(self, why: object) -> None:
        """Reads nothing until `why`, and every other reason to hold, is gone."""

    def let_go(self, why: object) -> None:
        """That reason to hold is gone."""


class Link:
    """Without stages, what is read is written at once."""

    def __init__(self, source: Source, sink: Outlet, clock: Clock, draws: ConnectionDraws) -> None:
        self._source = source
        self._sink = sink
        self._clock = clock
        self._draws = draws
        self._stages: list[Stage] = []

    def time(self) -> float:
        """Now, in seconds of the loop's clock."""
        return self._clock.time()

    def call_later(self, delay: float, callback: Callable[[], None], /) -> Timer:
        """The stages' timers: what one lets go may make room for what the source has."""
        return self._clock.call_later(delay, partial(self._tick, callback))

    def start(self, toxics: Iterable[PlacedToxic]) -> None:
        """Sets up the stages, each with its own draw."""
        for toxic in toxics:
            self.add(toxic)

    def feed(self, data: bytes) -> None:
        """Takes what one read gave."""
        chunk = Chunk(data, self._clock.time())
        if self._stages:
            self._stages[0].feed(chunk)
            self._mind_room()
        else:
            self._sink.feed(chunk)

    def feed_end(self) -> None:
        """The source has ended, or broken."""
        first = self._stages[0] if self._stages else self._sink
        first.feed_end()

    def add(self, toxic: PlacedToxic) -> None:
        """Puts a stage at the end. The one before is interrupted, and draws again, as in Toxiproxy."""
        stage = Stage(toxic, self._draws.of(toxic.name), self, self._sink)
        before = self._stages[-1] if self._stages else None
        self._stages.append(stage)
        if before is None:
            stage.restart()
        elif before.closed:
            stage.abandon()
        else:
            interrupted = before.release()
            before.output = stage
            stage.restart()
            if interrupted:
                before.restart()

    def update(self, toxic: PlacedToxic) -> None:
        """Interrupts the toxic's stage, which draws again."""
        for stage in self._stages:
            if stage.placed is toxic and stage.release():
                stage.restart()
        self._mind_room()

    def remove(self, toxic: PlacedToxic) -> None:
        """Takes the toxic's stage out; what it held goes on first, then the stage before draws again."""
        place = next((place for place, stage in enumerate(self._stages) if stage.placed is toxic), None)
        if place is None or not self._stages[place].retire():
            return
        stage = self._stages.pop(place)
        if place:
            before = self._stages[place - 1]
            interrupted = before.release()
            before.output = stage.output
            if interrupted:
                before.restart()
        self._mind_room()

    def abandon(self) -> None:
        """Nobody takes the data any more."""
        for stage in self._stages:
            stage.abandon()

    def _tick(self, callback: Callable[[], None]) -> None:
        callback()
        self._mind_room()

    def _mind_room(self) -> None:
        """Holds the source while a stage is full."""
        if any(stage.is_full for stage in self._stages):
            self._source.hold(self)
        else:
            self._source.let_go(self)
