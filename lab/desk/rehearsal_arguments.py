"""The words of the verbs that drive a rehearsal bench. Kinds and flags come from the contract."""

import argparse
from collections.abc import Callable

from lab.contract.flags import FAULT_KINDS, POLICY_KINDS, Flag, flags_of, kind_help
from lab.contract.units import parse_duration
from lab.desk.arguments import RUNTIMES, read_speed

MODES = ("off", "log_only", "enforce")
SHORTEST_EVERY_S = 0.1
Parser = argparse.ArgumentParser


def learn_up(parser: Parser) -> None:
    """`up [NAME] [--policy B]`."""
    parser.add_argument("scenario", metavar="NAME|FILE", nargs="?", help="whose stack (default: slow_provider's)")
    parser.add_argument("--policy", metavar="LETTER", type=str.upper, help="the gate's policy (default: B)")
    _add_runtime(parser)


def learn_down(parser: Parser) -> None:
    """`down [--all]`."""
    parser.add_argument("--all", action="store_true", help="every stack of the lab, drills under way included")
    _add_runtime(parser)


def learn_load(parser: Parser) -> None:
    """`load [NAME] [--speed K] [--page]` and `load stop`."""
    help_text = "whose arrivals (default: the bench's scenario), or stop"
    parser.add_argument("scenario", metavar="NAME|FILE|stop", nargs="?", help=help_text)
    parser.add_argument("--speed", type=read_speed, default=1.0, metavar="K", help="K times as fast (default: 1)")
    parser.add_argument("--page", action="store_true", help="with Locust's own page, which can play it again")
    _add_runtime(parser)


def learn_watch(parser: Parser) -> None:
    """`watch [--every 1s] [--once]`."""
    parser.add_argument("--every", type=_every, default=1.0, metavar="TIME", help="between two looks (default: 1s)")
    parser.add_argument("--once", action="store_true", help="one look, as a plain table")
    _add_runtime(parser)


def learn_fault(parser: Parser) -> None:
    """`fault add KIND ...`, `fault list`, `fault clear [NAME]`."""
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="add|list|clear")
    kinds = verbs.add_parser("add", help="make a fault act").add_subparsers(dest="kind", required=True, metavar="KIND")
    for kind, model in FAULT_KINDS.items():
        added = kinds.add_parser(kind, help=kind_help(model), description=kind_help(model))
        for flag in flags_of(model, frozenset(("at",))):
            _add_length(added, flag) if flag.key == "for" else _add_flag(added, flag)
        _add_runtime(added)
    _add_runtime(verbs.add_parser("list", help="what acts, and for how long"))
    clear = verbs.add_parser("clear", help="end one fault, or all of them and prove that nothing is left")
    clear.add_argument("name", metavar="NAME", nargs="?", help="such as 1-latency")
    _add_runtime(clear)


def learn_policy(parser: Parser) -> None:
    """`policy show`, `policy set KIND ...`, `policy mode MODE`."""
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="show|set|mode")
    _add_runtime(verbs.add_parser("show", help="the policy in force"))
    kinds = verbs.add_parser("set", help="put another in force").add_subparsers(
        dest="kind", required=True, metavar="KIND"
    )
    for kind, model in POLICY_KINDS.items():
        added = kinds.add_parser(kind, help=kind_help(model), description=kind_help(model))
        for flag in flags_of(model, frozenset(("why", "mode"))):
            _add_flag(added, flag)
        added.add_argument("--mode", choices=MODES, help="(default: as it is)")
        _add_runtime(added)
    mode = verbs.add_parser("mode", help="the same policy in another mode")
    mode.add_argument("mode", choices=MODES)
    _add_runtime(mode)


def learn_rehearsal(parser: Parser) -> None:
    """`rehearsal report`."""
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="report")
    _add_runtime(verbs.add_parser("report", help="the report of what was played last"))


LEARN: dict[str, Callable[[Parser], None]] = {
    "up": learn_up,
    "down": learn_down,
    "load": learn_load,
    "watch": learn_watch,
    "fault": learn_fault,
    "policy": learn_policy,
    "rehearsal": learn_rehearsal,
}


def _add_runtime(parser: Parser) -> None:
    parser.add_argument("--runtime", choices=RUNTIMES, default="auto", help="which bench (default: the one that is up)")


def _add_length(parser: Parser, flag: Flag) -> None:
    parser.add_argument(flag.option, dest=flag.key, metavar="TIME", help="how long (default: until it is cleared)")


def _add_flag(parser: Parser, flag: Flag) -> None:
    parser.add_argument(
        flag.option,
        dest=flag.key,
        metavar="|".join(flag.choices) or flag.shown,
        required=flag.required,
        type=_several if flag.many else str,
        help=f"(default: {flag.default})" if flag.default else None,
    )


def _several(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


def _every(text: str) -> float:
    try:
        every_s = parse_duration(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    if every_s < SHORTEST_EVERY_S:
        raise argparse.ArgumentTypeError(f"{text} is too short; give {SHORTEST_EVERY_S:g}s or more")
    return every_s
