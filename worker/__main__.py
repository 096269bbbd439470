"""`python -m worker`: signals and the exit code. Knows how the parts are joined; must not know what they do."""

import asyncio
import functools
import logging
import os
import signal
import sys

from prometheus_client import start_http_server

from lab.contract.journal import emit
from lab.contract.names import EXIT_COULD_NOT_RUN, EXIT_INTERRUPTED, EXIT_OK, EXIT_USAGE
from worker.alive import show_alive
from worker.breaker import Breaker, State
from worker.clock import RedisClock
from worker.consumer import Consumer
from worker.metrics import Metrics
from worker.model_client import ModelClient
from worker.retry_budget import RetryBudget
from worker.serving import Emit, Serving
from worker.settings import Settings, read_settings
from worker.slots import Slots
from worker.stream import JobStream
from worker.values import SettingsError


def main() -> int:
    """Runs one worker until a signal stops it.

    0 drained, or cut at the drain's bound; 2 settings that cannot be used; 3 no output, or no port for the metrics.
    """
    logging.basicConfig(stream=sys.stderr, format="%(name)s: %(message)s", level=logging.WARNING)
    try:
        settings = read_settings(os.environ)
    except SettingsError as error:
        sys.stderr.write(f"worker: {error}\n")
        return EXIT_USAGE
    metrics = Metrics(settings.slots)
    try:
        serve_metrics(metrics, settings)
    except OSError as error:
        where = f"{settings.host}:{settings.metrics_port}"
        sys.stderr.write(f"worker: cannot serve its metrics on {where}: {error.strerror or error}\n")
        return EXIT_COULD_NOT_RUN
    return run(settings, metrics)


def run(settings: Settings, metrics: Metrics) -> int:
    """Works until a signal, and gives the exit code."""
    code = EXIT_OK
    try:
        asyncio.run(work(settings, metrics))
    except* OSError as errors:
        # Every other door translates its own errors, so this is standard output: a full disk, or nobody reads it.
        sys.stderr.write(f"worker: its events cannot be written: {errors.exceptions[0]}\n")
        # What is still buffered would fail again when Python ends, with an exit code of its own.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = EXIT_COULD_NOT_RUN
    return code


def serve_metrics(metrics: Metrics, settings: Settings) -> None:
    """Answers scrapes from a thread that ends with the process, where a port for it is set.

    Raises:
        OSError: the port cannot be had.
    """
    if settings.metrics_port is not None:
        start_http_server(settings.metrics_port, settings.host, metrics.registry)


async def work(settings: Settings, metrics: Metrics) -> None:
    """One worker's life; the first SIGTERM or SIGINT drains it, a second ends it at once."""
    say = metrics.counting(functools.partial(emit, sys.stdout))
    clock = RedisClock()
    stream, model = JobStream(settings, clock), ModelClient(settings)
    consumer = consumer_of(settings, stream, model, clock, say)
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, _on_signal, consumer)
    showing = asyncio.create_task(show_alive(settings.alive_file))
    try:
        await consumer.run()
    finally:
        showing.cancel()
        await model.aclose()
        await stream.aclose()


def consumer_of(settings: Settings, stream: JobStream, model: ModelClient, clock: RedisClock, say: Emit) -> Consumer:
    """The loop of one worker, joined to its breaker and its retry budget."""

    def say_breaker(state: State, reason: str) -> None:
        say("breaker", clock.now(), worker_id=settings.worker_id, state=state, reason=reason)

    breaker, budget = Breaker(settings.breaker, say_breaker), RetryBudget(settings.retry_budget_ratio)
    serving = Serving(settings.worker_id, settings.max_attempts, model, clock, say, breaker=breaker, budget=budget)
    return Consumer(settings, stream, serving, Slots(settings.slots, breaker), clock=clock, emit=say)


def _on_signal(consumer: Consumer) -> None:
    if consumer.stopping:
        # Entries it held stay pending and are claimed by others: nothing is lost by not waiting.
        os._exit(EXIT_INTERRUPTED)
    consumer.stop()


if __name__ == "__main__":
    sys.exit(main())
