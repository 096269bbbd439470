"""The Locust user that plays a schedule. Knows Locust's users and events; must not know how requests are paced or sent.

`python -m loadgen` runs it with no page and no statistics printed; plain `locust -f loadgen/locustfile.py` gives it
Locust's web page, where each test started plays the schedule again. SCHEDULE_FILE and TARGET_URL say what and where.
"""

import os
import sys
from typing import Any, ClassVar

import gevent
from locust import FastHttpUser, constant, events, task
from locust.env import Environment
from locust.exception import StopUser
from locust.runners import STATE_CLEANUP

from lab.contract.messages import ScheduledRequest
from lab.contract.names import EXIT_COULD_NOT_RUN, EXIT_OK, EXIT_USAGE
from loadgen.clients import OnceClient, UnreachableError
from loadgen.exchange import one_line
from loadgen.playback import Playback, RecordError
from loadgen.schedule import ScheduleError, read_schedule
from loadgen.settings import Settings, SettingsError, read_settings


class ScheduleUser(FastHttpUser):
    """The one user there is: it stands for all clients of the schedule, each request in a greenlet of its own."""

    fixed_count = 1
    wait_time = constant(0)
    # Following a redirect would send a request twice.
    max_redirects = 0
    settings: ClassVar[Settings]
    schedule: ClassVar[tuple[ScheduledRequest, ...]]
    playback: ClassVar[Playback | None] = None

    @task
    def play(self) -> None:
        """Plays the schedule once and ends the test."""
        client = OnceClient(self.client, self.settings.answer_timeout_s)
        ScheduleUser.playback = Playback(self.schedule, client, sys.stdout, self.settings.lead_s)
        try:
            ScheduleUser.playback.play()
        except UnreachableError as error:
            self._fail(f"the gate at {self.settings.target_url} cannot be reached: {error}")
        except RecordError as error:
            self._fail(f"the record cannot be written: {error}")
            discard_output()
        except Exception as error:  # noqa: BLE001 - Locust would log it and start the schedule over
            self._fail(f"the load generator broke: {one_line(error)}")
        gevent.spawn(end_test, self.environment)
        raise StopUser

    def _fail(self, sentence: str) -> None:
        sys.stderr.write(f"loadgen: {sentence}\n")
        self.environment.process_exit_code = EXIT_COULD_NOT_RUN


def configure(settings: Settings) -> None:
    """Reads the schedule and makes the user fit it.

    Raises:
        ScheduleError: the schedule cannot be played.
    """
    ScheduleUser.settings = settings
    ScheduleUser.schedule = read_schedule(settings.schedule_file)
    ScheduleUser.host = settings.target_url
    ScheduleUser.connection_timeout = ScheduleUser.network_timeout = settings.answer_timeout_s
    # As many connections as there are requests, so that none can wait for one; a pool opens only what it needs.
    ScheduleUser.concurrency = len(ScheduleUser.schedule) + 1


def discard_output() -> None:
    """What is still buffered for a reader that is gone would fail once more at exit, with an exit code of its own."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def end_test(environment: Environment) -> None:
    """Ends the process, or only the test where Locust's web page stays, unless Locust is at it already."""
    runner = environment.runner
    if runner is None or runner.state == STATE_CLEANUP:
        return
    if environment.web_ui is None:
        runner.quit()
    else:
        runner.stop()


def stop_sending(environment: Environment) -> None:
    """Has the schedule end early; the record is made whole and the test ends after it."""
    if ScheduleUser.playback is None:
        end_test(environment)
    else:
        ScheduleUser.playback.stop()


@events.init.add_listener  # type: ignore[untyped-decorator] # Locust's event hooks have no types
def configure_from_environment(environment: Environment, **_: Any) -> None:
    """Under plain Locust: the same settings, the same sentences, the same exit code."""
    try:
        configure(read_settings(os.environ))
    except (SettingsError, ScheduleError) as error:
        sys.stderr.write(f"loadgen: {error}\n")
        sys.exit(EXIT_USAGE)
    # A failed request is a finding of the drill, not of Locust's.
    environment.process_exit_code = EXIT_OK


@events.test_stopping.add_listener  # type: ignore[untyped-decorator] # Locust's event hooks have no types
def finish_record(**_: Any) -> None:
    """Whoever stops the test, Locust kills its users only after the record is whole."""
    if ScheduleUser.playback is not None:
        ScheduleUser.playback.stop()
