"""`python -m loadgen`: Locust with no page and no printer, signals, exit code. Must not know HTTP or pacing."""

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
    """
    try:
        configure(read_settings(os.environ))
    except (SettingsError, ScheduleError) as error:
        sys.stderr.write(f"loadgen: {error}\n")
        return EXIT_USAGE
    allow_open_files()
    # A long schedule would make every full collection a pause in the load.
    gc.freeze()
    environment = Environment(user_classes=[ScheduleUser], events=events)
    runner = environment.create_local_runner()
    for number in (signal.SIGTERM, signal.SIGINT):
        gevent.signal_handler(number, stop_sending, environment)
    runner.start(user_count=1, spawn_rate=1)
    runner.greenlet.join()
    return environment.process_exit_code or EXIT_OK


def allow_open_files() -> None:
    """Lifts this process's limit of open files as far as it may."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST_OPEN_FILES if hard == resource.RLIM_INFINITY else min(hard, MOST_OPEN_FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


if __name__ == "__main__":
    sys.exit(main())
