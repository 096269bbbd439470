"""The front desk: `shedlab COMMAND`. Every command imports its own room only, once it is asked for."""

import argparse
import sys
from collections.abc import Callable, Sequence

from lab.desk.arguments import parser
from lab.desk.border import carry_out


def main(arguments: Sequence[str] | None = None) -> int:
    """Carries out one command; returns the exit code that `lab.contract.names` documents."""
    asked = parser().parse_args(arguments)
    return carry_out(lambda: COMMANDS[asked.command](asked))


def _run(asked: argparse.Namespace) -> int:
    from lab.desk.run import run  # noqa: PLC0415

    return run(asked)


def _validate(asked: argparse.Namespace) -> int:
    from lab.desk.validate import validate  # noqa: PLC0415

    return validate(asked.scenario)


def _list(_asked: argparse.Namespace) -> int:
    from lab.desk.listing import list_scenarios  # noqa: PLC0415

    return list_scenarios()


def _report(asked: argparse.Namespace) -> int:
    from lab.desk.report import report  # noqa: PLC0415

    return report(asked.run)


def _check(asked: argparse.Namespace) -> int:
    from lab.desk.check import check  # noqa: PLC0415

    return check(asked.run)


def _schedule(asked: argparse.Namespace) -> int:
    from lab.desk.schedule import schedule  # noqa: PLC0415

    return schedule(asked.scenario, asked.speed, asked.out)


def _alerts(asked: argparse.Namespace) -> int:
    from lab.desk.alerts import print_alerts  # noqa: PLC0415

    return print_alerts(asked.scenario)


def _derive(asked: argparse.Namespace) -> int:
    from lab.desk.derive import derive  # noqa: PLC0415

    return derive(asked.scenario, asked.run, asked.write)


def _doctor(_asked: argparse.Namespace) -> int:
    from lab.desk.doctor import doctor  # noqa: PLC0415

    return doctor()


def _schema(_asked: argparse.Namespace) -> int:
    from lab.desk.schema import print_schema  # noqa: PLC0415

    return print_schema()


def _up(asked: argparse.Namespace) -> int:
    from lab.desk.up import up  # noqa: PLC0415

    return up(asked)


def _down(asked: argparse.Namespace) -> int:
    from lab.desk.down import down  # noqa: PLC0415

    return down(asked)


def _load(asked: argparse.Namespace) -> int:
    from lab.desk.load import load  # noqa: PLC0415

    return load(asked)


def _watch(asked: argparse.Namespace) -> int:
    from lab.desk.watch import watch  # noqa: PLC0415

    return watch(asked)


def _fault(asked: argparse.Namespace) -> int:
    from lab.desk.fault import fault  # noqa: PLC0415

    return fault(asked)


def _policy(asked: argparse.Namespace) -> int:
    from lab.desk.policy import policy  # noqa: PLC0415

    return policy(asked)


def _rehearsal(asked: argparse.Namespace) -> int:
    from lab.desk.rehearsal import rehearsal  # noqa: PLC0415

    return rehearsal(asked)


COMMANDS: dict[str, Callable[[argparse.Namespace], int]] = {
    "run": _run,
    "validate": _validate,
    "list": _list,
    "report": _report,
    "check": _check,
    "schedule": _schedule,
    "alerts": _alerts,
    "derive": _derive,
    "doctor": _doctor,
    "schema": _schema,
    "up": _up,
    "down": _down,
    "load": _load,
    "watch": _watch,
    "fault": _fault,
    "policy": _policy,
    "rehearsal": _rehearsal,
}


if __name__ == "__main__":
    sys.exit(main())
