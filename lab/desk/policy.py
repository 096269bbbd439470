"""`shedlab policy`: shows the gate's policy, and switches it or its mode while requests go on."""

import argparse

from lab.contract.flags import POLICY_KINDS, flags_of, read_policy
from lab.contract.names import EXIT_OK
from lab.desk.rehearsing import bench_that_is_up, plainly, rehearsal_state
from lab.drill.rehearsal.policies import Switch, current_policy, policy_words, switch_mode, switch_policy


def policy(asked: argparse.Namespace) -> int:
    """Carries out show, set or mode.

    Raises:
        DeskError: no bench is up, or its gate does not do as told.
    """
    with plainly():
        if asked.verb == "set":
            # Wrong words are told before any bench is looked for.
            wanted = read_policy(_said(asked))
        state = rehearsal_state()
        bench = bench_that_is_up(state, asked.runtime)
        if asked.verb == "show":
            print(policy_words(current_policy(bench)))
        elif asked.verb == "mode":
            _print(switch_mode(state, bench, asked.mode))
        else:
            mode = asked.mode or current_policy(bench).mode
            _print(switch_policy(state, bench, wanted.model_copy(update={"mode": mode})))
    return EXIT_OK


def _said(asked: argparse.Namespace) -> dict[str, str]:
    flags = flags_of(POLICY_KINDS[asked.kind], frozenset(("why",)))
    said = {flag.key: getattr(asked, flag.key) for flag in flags if getattr(asked, flag.key) is not None}
    return {**said, "kind": asked.kind}


def _print(switch: Switch) -> None:
    print(f"was: {policy_words(switch.was)}")
    print(f"is:  {policy_words(switch.now)}")
