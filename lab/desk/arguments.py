"""The command line: what may be said, and one sentence for what may not."""

import argparse
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

from lab import __version__
from lab.contract.names import EXIT_USAGE

EPILOG = """exit codes: 0 every arm did what the scenario expects; 1 some arm did not; 2 bad usage or scenario;
3 could not run, or an arm is void; 4 whether some arm did is too close to call; 130 interrupted"""
RUNTIMES = ("auto", "local", "compose")


# The verbs of a rehearsal, which learn their words late.
REHEARSAL = {
    "up": "bring up a bench to rehearse an incident on",
    "down": "end the bench",
    "load": "play a scenario's arrivals on the bench; `load stop` ends the play",
    "watch": "show the bench live: rates, age, depth, faults, policy",
    "fault": "add, list and clear faults on the bench",
    "policy": "show and switch the bench's policy",
    "rehearsal": "`rehearsal report` makes the report of what was played on the bench",
}
Learn = Callable[["_Parser"], None]


class _Parser(argparse.ArgumentParser):
    """Says what is wrong in one line, without the usage above it; learns its words late where `learn` holds them."""

    def __init__(self, *, learn: Learn | None = None, **options: Any) -> None:
        super().__init__(**options)
        self._learn = learn

    def parse_known_args(  # type: ignore[override] # its overloads say no more than this
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        learn, self._learn = self._learn, None
        if learn is not None:
            learn(self)
        return super().parse_known_args(args, namespace)

    def error(self, message: str) -> NoReturn:
        self.exit(EXIT_USAGE, f"{self.prog}: {message}; see {self.prog} --help\n")


def parser() -> argparse.ArgumentParser:
    """The whole command line."""
    top = _Parser(
        prog="shedlab",
        description="Rehearse overload of the queue in front of a language model.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument("--version", action="version", version=f"shedlab {__version__}")
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    _add_run(commands)
    validate = commands.add_parser("validate", help="check a scenario and say what arithmetic expects of it")
    validate.add_argument("scenario", metavar="NAME|FILE")
    commands.add_parser("list", help="list the scenarios")
    report = commands.add_parser("report", help="make a run's report again, from its journals alone")
    report.add_argument("run", metavar="RUN", nargs="?", default="latest", help="run id, folder, or latest")
    check = commands.add_parser(
        "check",
        help="recompute a run from its journals and compare with report.json",
        epilog="exit codes: 0 all agrees; 1 something differs or a job was lost; 2 bad usage; 3 cannot be read",
    )
    check.add_argument("run", metavar="RUN", nargs="?", default="latest", help="run id, folder, or latest")
    schedule = commands.add_parser("schedule", help="write a scenario's arrivals, as the load generator plays them")
    schedule.add_argument("scenario", metavar="NAME|FILE")
    schedule.add_argument("--speed", type=read_speed, default=1.0, metavar="K", help="K times as fast (default: 1)")
    schedule.add_argument("--out", type=Path, required=True, metavar="FILE", help="where to, as JSON lines")
    alerts = commands.add_parser("alerts", help="print a scenario's alerts as a Prometheus rules file")
    alerts.add_argument("scenario", metavar="NAME|FILE")
    derive = commands.add_parser("derive", help="work out thresholds for a scenario, with their arithmetic")
    derive.add_argument("scenario", metavar="NAME|FILE")
    derive.add_argument("--run", default=None, metavar="RUN", help="from service times measured in this run's baseline")
    derive.add_argument(
        "--write", default=None, metavar="FILE", help="put them into a copy of the scenario, a new file"
    )
    commands.add_parser("doctor", help="check this machine, with a remedy for each problem")
    commands.add_parser("schema", help="print the JSON Schema of scenario files, for editors")
    for verb, gist in REHEARSAL.items():
        commands.add_parser(verb, help=gist, learn=_learner(verb))
    return top


def _learner(verb: str) -> Learn:
    def learn(parser: _Parser) -> None:
        # Only now, since the image that writes schedules holds no more than this file.
        from lab.desk.rehearsal_arguments import LEARN  # noqa: PLC0415

        LEARN[verb](parser)

    return learn


def _add_run(commands: "argparse._SubParsersAction[_Parser]") -> None:
    run = commands.add_parser("run", help="play a scenario against its policies and report")
    run.add_argument("scenario", metavar="NAME|FILE")
    run.add_argument("--runtime", choices=RUNTIMES, default="auto", help="where the stacks run (default: auto)")
    run.add_argument("--speed", type=read_speed, default=1.0, metavar="K", help="play K times as fast (default: 1)")
    run.add_argument("--jobs", type=_jobs, default=None, metavar="N|auto", help="arms side by side (default: auto)")
    run.add_argument(
        "--repeats",
        type=_repeats,
        default=None,
        metavar="N|auto",
        help="repeats (default: as declared); auto plays again what is too close to call, up to 5 times in all",
    )
    run.add_argument("--only", type=_letters, default=(), metavar="A,B", help="only these policies")


def read_speed(text: str) -> float:
    """The K of `--speed K`."""
    try:
        speed = float(text)
    except ValueError:
        speed = math.nan
    if not 0 < speed < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is not a speed; give a number above 0, such as 2")
    return speed


def _jobs(text: str) -> int | None:
    return None if text == "auto" else _count(text)


def _repeats(text: str) -> int | str:
    if text == "auto":
        return text
    try:
        return _count(text)
    except argparse.ArgumentTypeError as error:
        raise argparse.ArgumentTypeError(f"{error}, or auto") from None


def _count(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 100:  # noqa: PLR2004 - more arms at once than any machine carries
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1 to 100")
    return int(text)


def _letters(text: str) -> tuple[str, ...]:
    letters = tuple(part.strip().upper() for part in text.split(",") if part.strip())
    if not letters or any(len(letter) != 1 for letter in letters):
        raise argparse.ArgumentTypeError(f"{text!r} does not name policies; give letters such as A,B")
    return letters
