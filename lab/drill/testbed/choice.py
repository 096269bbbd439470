"""Which testbed a drill runs on, and why."""

from lab.drill.request import DrillError
from lab.drill.testbed import Testbed
from lab.drill.testbed.local import LocalTestbed


def choose_testbed(runtime: str) -> tuple[Testbed, str]:
    """The testbed for `auto` or `local`, with a sentence that says why.

    Raises:
        DrillError: the runtime is not to be had.
    """
    match runtime:
        case "local":
            return LocalTestbed(), "local was asked for"
        case "auto":
            return LocalTestbed(), "auto: this version runs stacks as local processes only"
        case "compose":
            raise DrillError("the compose testbed is not in this version yet; use --runtime local")
        case _:
            raise DrillError(f"runtime {runtime!r} is unknown; known are auto, local and compose")
