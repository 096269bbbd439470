"""A lean load over kept connections: closed loop for rates, open loop for the wait of whoever asks on time.

One thread, one poll, answers looked at no further than status and length, so that the load is not what is measured.
"""

import random
import select
import socket
import time
from collections import Counter, deque
from dataclasses import dataclass, field
from itertools import count
from typing import Self

LOOPBACK = "127.0.0.1"
HEAD_END = b"\r\n\r\n"
LENGTH = b"content-length:"
# Below this poll would oversleep: it counts in whole milliseconds.
SPIN_S = 0.0015
TIMEOUT_S = 10.0


@dataclass(slots=True)
class Played:
    """How many answers came by status, within how long, and after how many seconds each, from when it was due."""

    statuses: Counter[int] = field(default_factory=Counter)
    waits_s: list[float] = field(default_factory=list)
    length_s: float = 0.0

    @property
    def rate_per_s(self) -> float:
        """Answers per second."""
        return self.statuses.total() / self.length_s

    def p99_s(self) -> float:
        """The 99th percentile of the waits, in seconds: the smallest that 99 of 100 do not exceed."""
        return sorted(self.waits_s)[max(0, -(-99 * len(self.waits_s) // 100) - 1)]


class Connections:
    """Kept connections to one server, each with at most one request under way."""

    def __init__(self, port: int, connections: int) -> None:
        """Connects them all."""
        self._poll = select.epoll()
        self._sockets = {one.fileno(): one for one in (_connected(port) for _ in range(connections))}
        self._answers = dict.fromkeys(self._sockets, b"")
        self._due_s = dict.fromkeys(self._sockets, 0.0)
        self._idle = deque(self._sockets)
        self._numbers = count()
        for number in self._sockets:
            self._poll.register(number, select.EPOLLIN)

    def __enter__(self) -> Self:
        """Itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Closes them."""
        self._poll.close()
        for one in self._sockets.values():
            one.close()

    def closed_loop(self, length_s: float) -> Played:
        """Each connection asks again as soon as it is answered."""
        played, began_s = Played(), time.perf_counter()
        while (now_s := time.perf_counter()) < began_s + length_s:
            while self._idle:
                self._ask(now_s)
            self._take_answers(TIMEOUT_S, played)
        played.length_s = time.perf_counter() - began_s
        self._finish(Played())
        return played

    def open_loop(self, rate_per_s: float, length_s: float, seed: int = 1) -> Played:
        """Poisson arrivals, whatever the answers do; one that finds no idle connection waits, and that counts."""
        draws, played, began_s = random.Random(seed), Played(), time.perf_counter()
        due_s, overdue = began_s, deque[float]()
        while due_s < began_s + length_s or overdue:
            now_s = time.perf_counter()
            while due_s <= now_s and due_s < began_s + length_s:
                overdue.append(due_s)
                due_s += draws.expovariate(rate_per_s)
            while overdue and self._idle:
                self._ask(overdue.popleft())
            left_s = due_s - time.perf_counter()
            self._take_answers(left_s - SPIN_S if left_s > SPIN_S else 0.0, played)
        self._finish(played)
        played.length_s = time.perf_counter() - began_s
        return played

    def _ask(self, due_s: float) -> None:
        number = self._idle.popleft()
        self._due_s[number] = due_s
        self._sockets[number].sendall(_request(next(self._numbers)))

    def _finish(self, played: Played) -> None:
        while len(self._idle) < len(self._sockets):
            self._take_answers(TIMEOUT_S, played)

    def _take_answers(self, timeout_s: float, played: Played) -> None:
        ready = self._poll.poll(timeout_s)
        if not ready and timeout_s == TIMEOUT_S:
            raise TimeoutError(f"the server has not answered for {TIMEOUT_S:g} s")
        for number, _ in ready:
            chunk = self._sockets[number].recv(65_536)
            if not chunk:
                raise ConnectionError("the server closed a connection under load")
            answer = self._answers[number] + chunk
            if not _is_whole(answer):
                self._answers[number] = answer
                continue
            self._answers[number] = b""
            played.statuses[int(answer[9:12])] += 1
            played.waits_s.append(time.perf_counter() - self._due_s[number])
            self._idle.append(number)


def _connected(port: int) -> socket.socket:
    one = socket.create_connection((LOOPBACK, port))
    one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return one


def _request(number: int) -> bytes:
    body = f'{{"request_id":"r-{number:07}","deadline_s":30,"input_tokens":100,"work_s":0.5,"first_token_s":0.1}}'
    head = "POST /v1/jobs HTTP/1.1\r\nHost: gate\r\nContent-Type: application/json\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n{body}".encode()


def _is_whole(answer: bytes) -> bool:
    end = answer.find(HEAD_END)
    if end < 0:
        return False
    head = answer[:end].lower()
    start = head.index(LENGTH) + len(LENGTH)
    length = int(head[start:].split(b"\r\n", 1)[0])
    return len(answer) >= end + len(HEAD_END) + length
