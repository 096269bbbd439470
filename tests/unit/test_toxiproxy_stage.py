"""Toxics on a link, in virtual time."""

import heapq
from collections.abc import Callable
from itertools import count

import pytest

from lab.toxiproxy.draws import ConnectionDraws
from lab.toxiproxy.go_json import decode_object
from lab.toxiproxy.link import Link
from lab.toxiproxy.placed_toxic import PlacedToxic, place_toxic
from lab.toxiproxy.toxics import Chunk


class VirtualTimer:
    def __init__(self, callback: Callable[[], None]) -> None:
        self.callback: Callable[[], None] | None = callback

    def cancel(self) -> None:
        self.callback = None


class VirtualClock:
    def __init__(self) -> None:
        self._now_s = 0.0
        self._due: list[tuple[float, int, VirtualTimer]] = []
        self._order = count()

    def time(self) -> float:
        return self._now_s

    def call_later(self, delay: float, callback: Callable[[], None], /) -> VirtualTimer:
        timer = VirtualTimer(callback)
        heapq.heappush(self._due, (self._now_s + delay, next(self._order), timer))
        return timer

    def run_until(self, stop_s: float) -> None:
        while self._due and self._due[0][0] <= stop_s:
            self._now_s, _, timer = heapq.heappop(self._due)
            if timer.callback is not None:
                timer.callback()
        self._now_s = stop_s


class Bench:
    """A link with a source that can be held and a sink that notes what came when."""

    def __init__(self, *toxics: PlacedToxic, seed: int = 7) -> None:
        self.clock = VirtualClock()
        self.came: list[tuple[float, bytes]] = []
        self.ended_s: float | None = None
        self.held = False
        self.link = Link(self, self, self.clock, ConnectionDraws(seed, "p", 1))
        self.link.start(toxics)

    def feed(self, chunk: Chunk) -> None:
        self.came.append((round(self.clock.time(), 6), chunk.data))

    def feed_end(self) -> None:
        self.ended_s = round(self.clock.time(), 6)

    def hold(self, _why: object) -> None:
        self.held = True

    def let_go(self, _why: object) -> None:
        self.held = False

    def send(self, at_s: float, data: bytes) -> None:
        self.clock.run_until(at_s)
        self.link.feed(data)

    def end(self, at_s: float) -> None:
        self.clock.run_until(at_s)
        self.link.feed_end()

    @property
    def data(self) -> bytes:
        return b"".join(data for _, data in self.came)


def toxic(body: str) -> PlacedToxic:
    return place_toxic(decode_object(body.encode(), "toxic"), ())


def latency(latency_ms: int, jitter_ms: int = 0, name: str = "late", toxicity: float = 1) -> PlacedToxic:
    attributes = f'{{"latency":{latency_ms},"jitter":{jitter_ms}}}'
    return toxic(f'{{"type":"latency","name":"{name}","toxicity":{toxicity},"attributes":{attributes}}}')


def test_without_toxics_data_and_end_pass_at_once() -> None:
    bench = Bench()
    bench.send(1, b"a")
    bench.end(2)
    assert (bench.came, bench.ended_s) == ([(1, b"a")], 2)


def test_latency_counts_from_arrival_and_the_end_waits_behind_the_data() -> None:
    bench = Bench(latency(100))
    bench.send(0, b"a")
    bench.send(0.05, b"b")
    bench.end(0.06)
    bench.clock.run_until(1)
    assert (bench.came, bench.ended_s) == ([(0.1, b"a"), (0.15, b"b")], 0.15)


def test_latencies_in_a_row_add_up() -> None:
    bench = Bench(latency(100, name="one"), latency(200, name="two"))
    bench.send(0, b"a")
    bench.clock.run_until(1)
    assert bench.came == [(0.3, b"a")]


def test_jittered_chunks_keep_their_order_and_a_late_one_holds_those_behind() -> None:
    bench = Bench(latency(50, 50))
    for place in range(100):
        bench.send(place / 1000, bytes([place]))
    bench.clock.run_until(1)
    assert bench.data == bytes(range(100))
    assert all(place / 1000 <= came_s <= 0.2 for place, (came_s, _) in enumerate(bench.came))


def test_latency_holds_its_source_only_once_1024_chunks_wait() -> None:
    bench = Bench(latency(100))
    for _ in range(1024):
        bench.send(0, b"a")
    held = [bench.held]
    bench.send(0, b"a")
    held.append(bench.held)
    bench.clock.run_until(0.2)
    assert [*held, bench.held] == [False, True, False]
    assert len(bench.data) == 1025


def test_an_update_lets_go_the_chunk_in_hand_and_holds_the_others_anew() -> None:
    late = latency(100)
    bench = Bench(late)
    bench.send(0, b"a")
    bench.send(0.01, b"b")
    bench.clock.run_until(0.02)
    late.update(decode_object(b'{"attributes":{"latency":500}}', "toxic"))
    bench.link.update(late)
    bench.clock.run_until(1)
    assert bench.came == [(0.02, b"a"), (0.51, b"b")]


def test_removal_lets_go_everything_in_order_and_then_the_end() -> None:
    late = latency(1000)
    bench = Bench(late)
    for place in range(3):
        bench.send(place / 10, bytes([place]))
    bench.end(0.4)
    bench.link.remove(late)
    assert (bench.data, bench.ended_s) == (bytes(range(3)), 0.4)


def test_adding_a_toxic_lets_go_what_the_one_before_has_in_hand_past_it() -> None:
    bench = Bench(latency(100))
    bench.send(0, b"a")
    bench.clock.run_until(0.05)
    bench.link.add(latency(300, name="second"))
    bench.send(0.06, b"b")
    bench.clock.run_until(1)
    assert bench.came == [(0.05, b"a"), (0.46, b"b")]


def test_bandwidth_sends_pieces_each_100_ms_and_the_rest_when_paid() -> None:
    bench = Bench(toxic('{"type":"bandwidth","attributes":{"rate":10}}'))
    bench.send(0, b"x" * 2500)
    bench.clock.run_until(1)
    assert [(came_s, len(data)) for came_s, data in bench.came] == [(0.1, 1000), (0.2, 1000), (0.25, 500)]


def test_bandwidth_of_zero_stalls_until_it_is_removed() -> None:
    stall = toxic('{"type":"bandwidth"}')
    bench = Bench(stall)
    bench.send(0, b"abc")
    bench.clock.run_until(10)
    assert bench.came == []
    bench.link.remove(stall)
    assert bench.came == [(10, b"abc")]


@pytest.mark.parametrize("seed", range(20))
def test_slicer_pieces_sum_to_the_chunk_and_stay_near_their_size(seed: int) -> None:
    bench = Bench(
        toxic('{"type":"slicer","attributes":{"average_size":64,"size_variation":16,"delay":1000}}'), seed=seed
    )
    data = bytes(range(256)) * 8
    bench.send(0, data)
    bench.clock.run_until(10)
    assert bench.data == data
    assert max(len(piece) for _, piece in bench.came) <= 64 + 16
    assert [came_s for came_s, _ in bench.came] == [round(place / 1000, 6) for place in range(len(bench.came))]


def test_slicer_that_is_removed_sends_the_rest_in_one_piece() -> None:
    slicer = toxic('{"type":"slicer","attributes":{"average_size":1,"delay":1000}}')
    bench = Bench(slicer)
    bench.send(0, b"abcd")
    bench.clock.run_until(0.0015)
    bench.link.remove(slicer)
    assert [data for _, data in bench.came] == [b"a", b"b", b"cd"]


def test_timeout_restarts_with_each_chunk() -> None:
    bench = Bench(toxic('{"type":"timeout","attributes":{"timeout":100}}'))
    for place in range(5):
        bench.send(place * 0.08, b"lost")
    bench.clock.run_until(1)
    assert (bench.came, bench.ended_s) == ([], 0.42)


@pytest.mark.parametrize("toxicity", [0, 1])
def test_removing_timeout_closes(toxicity: int) -> None:
    hole = toxic(f'{{"type":"timeout","toxicity":{toxicity}}}')
    bench = Bench(hole)
    bench.clock.run_until(5)
    assert bench.ended_s is None
    bench.link.remove(hole)
    assert bench.ended_s == 5


def test_a_reset_under_way_is_interrupted_neither_by_update_nor_by_removal() -> None:
    reset = toxic('{"type":"reset_peer","attributes":{"timeout":100}}')
    bench = Bench(reset)
    bench.send(1, b"lost")
    bench.clock.run_until(1.05)
    bench.link.update(reset)
    bench.link.remove(reset)
    bench.clock.run_until(2)
    assert (bench.came, bench.ended_s) == ([], 1.1)


def test_slow_close_waits_anew_when_updated() -> None:
    slow = toxic('{"type":"slow_close","attributes":{"delay":100}}')
    bench = Bench(slow)
    bench.send(0, b"a")
    bench.end(0)
    bench.clock.run_until(0.05)
    bench.link.update(slow)
    bench.clock.run_until(1)
    assert (bench.came, bench.ended_s) == ([(0, b"a")], 0.15)


def test_limit_data_counts_what_it_passed_over_updates() -> None:
    limit = toxic('{"type":"limit_data","attributes":{"bytes":5}}')
    bench = Bench(limit)
    bench.send(0, b"abc")
    bench.link.update(limit)
    bench.send(1, b"defg")
    assert (bench.data, bench.ended_s) == (b"abcde", 1)


def test_what_comes_after_a_close_is_dropped_and_new_toxics_leave_it_closed() -> None:
    bench = Bench(toxic('{"type":"limit_data","attributes":{"bytes":1}}'))
    bench.send(0, b"ab")
    bench.link.add(latency(10))
    bench.send(1, b"c")
    bench.clock.run_until(2)
    assert (bench.data, bench.ended_s) == (b"a", 0)


def test_the_draw_is_made_anew_when_a_toxic_is_updated_or_its_successor_comes_or_goes() -> None:
    half = latency(1000, name="half", toxicity=0.5)

    def is_held(bench: Bench) -> bool:
        before = len(bench.came)
        bench.link.feed(b"x")
        return len(bench.came) == before

    def outcomes(change: Callable[[Bench], None]) -> set[bool]:
        seen = set()
        bench = Bench(half)
        for _ in range(40):
            change(bench)
            seen.add(is_held(bench))
            bench.clock.run_until(bench.clock.time() + 10)
        return seen

    def add_and_remove(bench: Bench) -> None:
        bench.link.add(noop)
        bench.link.remove(noop)

    noop = toxic('{"type":"noop"}')
    assert outcomes(lambda _: None) in ({True}, {False})
    assert outcomes(lambda bench: bench.link.update(half)) == {True, False}
    assert outcomes(add_and_remove) == {True, False}


def test_a_connection_is_touched_once_and_only_where_the_toxic_did_something() -> None:
    limit = toxic('{"type":"limit_data","attributes":{"bytes":5}}')
    late, spared = latency(10), latency(10, name="spared", toxicity=0)
    bench = Bench(limit, late, spared)
    bench.send(0, b"abc")
    assert [each.touched_count for each in (limit, late, spared)] == [0, 1, 0]
    bench.send(1, b"def")
    bench.clock.run_until(2)
    assert [each.touched_count for each in (limit, late, spared)] == [1, 1, 0]
