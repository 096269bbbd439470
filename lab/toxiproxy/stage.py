"""A stage is one toxic's place on one link of one connection: chunks go in, what the toxic leaves of them comes out.

The stage is the toxic's Stub. It runs the toxic's `pipe` itself, step by step, and no task does: a stage is fed, and
feeds its output, at once or from a timer. That is what lets a toxic be added, changed or removed between two chunks
without a byte lost, and what lets tests run it in virtual time.

Knows chunks, timers and the Stub's side of toxics. Must not know sockets, nor which kinds there are.
"""

import random
from collections import deque
from collections.abc import Callable, Coroutine, Generator
from dataclasses import dataclass
from typing import Protocol

from lab.toxiproxy.draws import ToxicDraws
from lab.toxiproxy.placed_toxic import PlacedToxic
from lab.toxiproxy.toxics import Chunk


class Outlet(Protocol):
    """Whatever comes after a stage: another one, or a socket."""

    def feed(self, chunk: Chunk) -> None:
        """Takes a chunk."""

    def feed_end(self) -> None:
        """Takes the end of the stream."""


class Timer(Protocol):
    """Something due later."""

    def cancel(self) -> None:
        """It is no longer due."""


class Clock(Protocol):
    """The part of an event loop that a stage needs; all in seconds."""

    def time(self) -> float:
        """Now."""

    def call_later(self, delay: float, callback: Callable[[], None], /) -> Timer:
        """Calls back after delay."""


@dataclass(frozen=True, slots=True)
class _Pause:
    """What a toxic awaits: data, time, or nothing that ever comes."""

    for_data: bool = False
    seconds: float | None = None
    interruptible: bool = True

    def __await__(self) -> Generator["_Pause", None, None]:
        yield self


class Stage:
    """Passes everything on while the toxic was not drawn for this connection; else lets the toxic's pipe run.

    `restart` draws. It is called when the stage begins, and each time after `release` interrupted it.
    """

    def __init__(self, placed: PlacedToxic, draws: ToxicDraws, clock: Clock, output: Outlet) -> None:
        self.placed = placed
        self.output = output
        self.closed = False
        self._draws = draws
        self._clock = clock
        self._waiting: deque[Chunk] = deque()
        self._held: Chunk | None = None
        self._held_from = 0
        self._ended = False
        self._pipe: Coroutine[_Pause, None, None] | None = None
        self._pause: _Pause | None = None
        self._timer: Timer | None = None
        self._sent_bytes = 0
        self._touched = False

    # What the link does to a stage

    @property
    def is_full(self) -> bool:
        """Whether as many chunks wait as may."""
        return len(self._waiting) >= self.placed.toxic.buffer_chunks

    def feed(self, chunk: Chunk) -> None:
        """Takes a chunk."""
        if self.closed:
            return
        if self._pipe is None:
            self.output.feed(chunk)
            return
        self._waiting.append(chunk)
        self._resume_if_for_data()

    def feed_end(self) -> None:
        """Takes the end of the stream."""
        if self.closed or self._ended:
            return
        self._ended = True
        if self._pipe is None:
            self.close()
        else:
            self._resume_if_for_data()

    def restart(self) -> None:
        """Draws whether the toxic acts here, and goes on with what was not yet let through."""
        if self._draws.acts(self.placed.toxicity):
            self._pipe = self.placed.toxic.pipe(self)
            self._resume()
        else:
            self._flush()

    def release(self) -> bool:
        """Interrupts: what is held goes out at once. False where there is nothing that could be interrupted."""
        if self.closed or not (self._pause is None or self._pause.interruptible):
            return False
        self._stop_pipe()
        self._send_held(None)
        self._held = None
        return True

    def retire(self) -> bool:
        """The toxic is removed: nothing is held any more. False where the stage stays until its connection ends."""
        if self.placed.toxic.closes_when_removed and not self.closed:
            self._stop_pipe()
            self.close()
        if not self.release():
            return False
        self._flush()
        return not self.closed

    def abandon(self) -> None:
        """Nothing can be passed on any more."""
        self.closed = True
        self._stop_pipe()
        self._waiting.clear()
        self._held = None

    # What the toxic does through its stub

    @property
    def chance(self) -> random.Random:
        """The toxic's draws on this connection."""
        return self._draws.effect

    @property
    def sent_bytes(self) -> int:
        """What the toxic has sent on this connection so far, edits of the toxic included."""
        return self._sent_bytes

    def now_s(self) -> float:
        """The clock that stamps chunks."""
        return self._clock.time()

    async def receive(self, within_s: float | None = None) -> Chunk | None:
        """The next chunk, which is held until sent or dropped; None at the end of the stream.

        Raises:
            TimeoutError: nothing came within `within_s`.
        """
        if not self._waiting and not self._ended:
            await _Pause(for_data=True, seconds=within_s)
        if not self._waiting:
            return None
        self._held, self._held_from = self._waiting.popleft(), 0
        return self._held

    async def sleep(self, seconds: float, *, interruptible: bool = True) -> None:
        """Lets time pass; negative is none."""
        if seconds > 0:
            self._touch()
            await _Pause(seconds=seconds, interruptible=interruptible)

    async def stall(self) -> None:
        """Never returns; only an interruption ends it."""
        self._touch()
        await _Pause()

    async def send(self, size_bytes: int | None = None) -> None:
        """Sends the first bytes of what is held, or all of it."""
        self._sent_bytes += self._send_held(size_bytes)

    def drop(self) -> None:
        """Throws away what is held."""
        if self._held is not None:
            self._touch()
            self._held = None

    def close(self) -> None:
        """Ends the stream here; what still comes in is dropped."""
        if self.closed:
            return
        if not self._ended:
            self._touch()
        self.closed = True
        self._waiting.clear()
        self._held = None
        self.output.feed_end()

    # How the pipe runs

    def _resume_if_for_data(self) -> None:
        if self._pause is not None and self._pause.for_data:
            self._resume()

    def _resume(self, error: Exception | None = None) -> None:
        self._stop_timer()
        if self._pipe is None:
            return
        try:
            self._pause = self._pipe.send(None) if error is None else self._pipe.throw(error)
        except StopIteration:
            self._pipe = self._pause = None
            return
        if self._pause.seconds is not None:
            self._timer = self._clock.call_later(self._pause.seconds, self._due)

    def _due(self) -> None:
        waited_for_data = self._pause is not None and self._pause.for_data
        self._resume(TimeoutError() if waited_for_data else None)

    def _flush(self) -> None:
        while self._waiting:
            self.output.feed(self._waiting.popleft())
        if self._ended:
            self.close()

    def _send_held(self, size_bytes: int | None) -> int:
        """Sends of what is held; returns how much. What is left stays held."""
        if self._held is None:
            return 0
        whole, start = self._held, self._held_from
        stop = len(whole.data) if size_bytes is None else min(start + size_bytes, len(whole.data))
        if stop < len(whole.data):
            self._touch()
            self._held_from = stop
        else:
            self._held = None
        if stop > start:
            self.output.feed(Chunk(whole.data[start:stop], whole.arrived_s))
        return stop - start

    def _stop_pipe(self) -> None:
        self._stop_timer()
        pipe, self._pipe, self._pause = self._pipe, None, None
        if pipe is not None:
            pipe.close()

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _touch(self) -> None:
        """The toxic did something to this connection, which counts once."""
        if not self._touched:
            self._touched = True
            self.placed.touched_count += 1
