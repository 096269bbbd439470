"""`python -m lab.drill.rehearsal.minder REPORTS NAME`: waits for one fault's end and reverts it.

In a session of its own, so that the fault ends even if the command, the terminal or the keeper's user is gone. It goes
by the record, so it ends early where the fault was cleared, and does nothing twice.
"""

import sys
import time
from pathlib import Path

from lab.contract.names import EXIT_COULD_NOT_RUN, EXIT_OK
from lab.drill.rehearsal import RehearsalError
from lab.drill.rehearsal.faults import FaultRecord, load_fault
from lab.drill.rehearsal.find import find_bench
from lab.drill.rehearsal.injection import revert_fault
from lab.drill.rehearsal.state import State

LOOK_EVERY_S = 0.5
SHORTEST_WAIT_S = 0.05
# A bench that does not answer at the fault's end, such as one whose proxy is dead, is tried again for this long.
TRY_FOR_S = 120.0
TRY_EVERY_S = 2.0


def main() -> int:
    """0 once the fault has ended, 3 where it could not be ended; the next verb tries again."""
    state, name = State(Path(sys.argv[1])), sys.argv[2]
    try:
        if wait_for_end(state, name):
            revert(state, name)
    except (RehearsalError, OSError) as error:
        sys.stderr.write(f"{name}: {error}\n")
        return EXIT_COULD_NOT_RUN
    return EXIT_OK


def wait_for_end(state: State, name: str) -> bool:
    """Returns at the fault's end; False where others have ended it."""
    while (record := load_fault(state, name)) is not None and record.acts:
        wait_s = left_s(record, time.time())
        if wait_s <= 0 and (record.injected_at is not None or _maker_is_gone(state, name)):
            return True
        time.sleep(min(max(wait_s, SHORTEST_WAIT_S), LOOK_EVERY_S))
    return False


def _maker_is_gone(state: State, name: str) -> bool:
    """Whether nobody injects any more what was never said to act; who does holds the lock."""
    with state.locked():
        record = load_fault(state, name)
    return record is not None and record.injected_at is None


def left_s(record: FaultRecord, now_at: float) -> float:
    """Seconds until a fault's end."""
    return float("inf") if record.ends_at is None else record.ends_at - now_at


def revert(state: State, name: str) -> None:
    """Ends the fault, again and again where the bench does not answer.

    Raises:
        RehearsalError: it could not be ended in time.
    """
    give_up = time.monotonic() + TRY_FOR_S
    while (record := load_fault(state, name)) is not None and record.acts:
        try:
            revert_fault(state, find_bench(state, record.runtime), name)
        except RehearsalError:
            if time.monotonic() > give_up:
                raise
            time.sleep(TRY_EVERY_S)


if __name__ == "__main__":
    sys.exit(main())
