"""`python -m loadgen`: Locust, its page where one is asked for, signals, exit code. Must not know HTTP or pacing."""

import gc
import os
import resource
import signal
import sys

import gevent
from locust import events
from locust.env import Environment

from lab.contract.names import EXIT_OK, EXIT_USAGE
from loadgen.locustfile import ScheduleUser, configure, stop_sending
from loadgen.schedule import ScheduleError
from loadgen.settings import SettingsError, read_settings

# A stalled gate leaves every request of the stall with a connection of its own.
MOST_OPEN_FILES = 65_536


def main() -> int:
    """Plays the schedule; the exit code.

    0 played or told to stop, 2 bad settings or schedule, 3 the gate cannot be reached or the record not be written.
    With a page it stays after the schedule, so that the page can start it again.
    """
    try:
        settings = read_settings(os.environ)
        configure(settings)
    except (SettingsError, ScheduleError) as error:
        sys.stderr.write(f"loadgen: {error}\n")
        return EXIT_USAGE
    allow_open_files()
    # A long schedule would make every full collection a pause in the load.
    gc.freeze()
    environment = Environment(user_classes=[ScheduleUser], events=events)
    runner = environment.create_local_runner()
    page = environment.create_web_ui(settings.host, settings.page_port) if settings.page_port else None
    for number in (signal.SIGTERM, signal.SIGINT):
        gevent.signal_handler(number, end_load, environment)
    runner.start(user_count=1, spawn_rate=1)
    served = runner.greenlet if page is None else page.greenlet
    if served is not None:
        served.join()
    return environment.process_exit_code or EXIT_OK


def end_load(environment: Environment) -> None:
    """Has the schedule end early; once its record is whole, the page goes too."""
    stop_sending(environment)
    if environment.web_ui is not None and environment.runner is not None:
        environment.runner.quit()
        environment.web_ui.stop()  # type: ignore[no-untyped-call] # Locust's page has no types


def allow_open_files() -> None:
    """Lifts this process's limit of open files as far as it may."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST_OPEN_FILES if hard == resource.RLIM_INFINITY else min(hard, MOST_OPEN_FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


if __name__ == "__main__":
    sys.exit(main())
