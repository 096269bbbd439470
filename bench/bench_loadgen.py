"""Offered and sent rate and send lag of the load generator, beside a plain time.sleep loop over http.client.

Run as `python -m bench.bench_loadgen` from the project's root. Both play the same schedule against the same stub gate,
which answers at once from a process of its own. The loop sends one request at a time, so it shows what pacing alone
costs here, and has no answer to a gate that stalls. CPU of the load generator includes its start.
"""

import http.client
import multiprocessing
import resource
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from urllib.parse import urlsplit

from tests.service.loadgen_rig import StubGate, loadgen_running, schedule_of, settings_for

RATES_PER_S = (10, 50, 200)
LENGTH_S = 5.0


@dataclass(frozen=True, slots=True)
class Played:
    """When each request was due and sent, in seconds on one clock, and the CPU time it took."""

    due_s: Sequence[float]
    sent_s: Sequence[float]
    cpu_s: float

    def row(self, who: str, rate_per_s: float) -> str:
        """One line of the table."""
        lags_ms = sorted((sent - due) * 1000 for due, sent in zip(self.due_s, self.sent_s, strict=True))
        sent_per_s = (len(self.sent_s) - 1) / (max(self.sent_s) - min(self.sent_s))
        p50, p99 = lags_ms[len(lags_ms) // 2], lags_ms[int(0.99 * len(lags_ms))]
        return (
            f"{who:<16}{rate_per_s:>10.0f}{sent_per_s:>10.1f}{len(lags_ms):>8}"
            f"{p50:>10.2f}{p99:>10.2f}{lags_ms[-1]:>10.2f}{self.cpu_s:>8.2f}"
        )


def loadgen(url: str, due_s: Sequence[float]) -> Played:
    """The schedule as the load generator plays it."""
    before_s = _cpu_s(resource.RUSAGE_CHILDREN)
    with tempfile.TemporaryDirectory() as folder:
        environ = settings_for(Path(folder), url, due_s)
        with loadgen_running(Path(folder), environ) as process:
            if process.wait() != 0:
                raise SystemExit(process.said())
            events = process.events("request")
    cpu_s = _cpu_s(resource.RUSAGE_CHILDREN) - before_s
    return Played([event["due_at"] for event in events], [event["sent_at"] for event in events], cpu_s)


def sleep_loop(url: str, due_s: Sequence[float]) -> Played:
    """The schedule as a loop plays it that sleeps, sends and reads, one after another."""
    before_s = _cpu_s(resource.RUSAGE_SELF)
    connection = http.client.HTTPConnection(urlsplit(url).netloc)
    connection.connect()
    start = time.monotonic()
    sent_s: list[float] = []
    for request in schedule_of(due_s):
        time.sleep(max(0.0, start + request.due_s - time.monotonic()))
        sent_s.append(time.monotonic() - start)
        connection.request("POST", "/v1/jobs", request.model_dump_json(), {"x-request-id": request.request_id})
        connection.getresponse().read()
    connection.close()
    return Played(due_s, sent_s, _cpu_s(resource.RUSAGE_SELF) - before_s)


def serve_stub(address: Connection) -> None:
    """Runs a stub gate until the process is ended."""
    with StubGate().running() as gate:
        address.send(gate.url)
        address.recv()


def _cpu_s(whose: int) -> float:
    usage = resource.getrusage(whose)
    return usage.ru_utime + usage.ru_stime


def main() -> None:
    """Prints the table."""
    ours, theirs = multiprocessing.Pipe()
    stub = multiprocessing.get_context("spawn").Process(target=serve_stub, args=(theirs,), daemon=True)
    stub.start()
    url = str(ours.recv())
    print(
        f"{'who':<16}{'offered/s':>10}{'sent/s':>10}{'count':>8}{'p50 ms':>10}{'p99 ms':>10}{'max ms':>10}{'cpu s':>8}"
    )
    try:
        for rate_per_s in RATES_PER_S:
            due_s = [number / rate_per_s for number in range(int(rate_per_s * LENGTH_S))]
            print(loadgen(url, due_s).row("loadgen", rate_per_s), flush=True)
            print(sleep_loop(url, due_s).row("time.sleep loop", rate_per_s), flush=True)
    finally:
        ours.send("stop")
        stub.join()


if __name__ == "__main__":
    main()
