"""Which testbed a drill runs on, and why."""

import sys

from lab.contract.endpoint import ModelEndpoint
from lab.drill.request import DrillError
from lab.drill.testbed import Testbed
from lab.drill.testbed.compose import ComposeTestbed
from lab.drill.testbed.engine import EngineError
from lab.drill.testbed.images import engine_version, make_images
from lab.drill.testbed.local import LocalTestbed


def choose_testbed(runtime: str, endpoint: ModelEndpoint | None = None) -> tuple[Testbed, str]:
    """The testbed for `auto`, `local` or `compose`, with the reason in a sentence; workers call `endpoint` or the mock.

    Raises:
        DrillError: the runtime is not to be had.
    """
    match runtime:
        case "local":
            return LocalTestbed(endpoint), "local was asked for"
        case "compose":
            try:
                return _compose(endpoint), "compose was asked for"
            except EngineError as error:
                raise DrillError(f"{error}; mend that, or use --runtime local (RUNTIME=local)") from None
        case "auto":
            return _whichever(endpoint)
        case _:
            raise DrillError(f"runtime {runtime!r} is unknown; known are auto, local and compose")


def _whichever(endpoint: ModelEndpoint | None) -> tuple[Testbed, str]:
    try:
        return _compose(endpoint), "auto: a container engine answers"
    except EngineError as error:
        return LocalTestbed(endpoint), f"auto: {error}"


def _compose(endpoint: ModelEndpoint | None) -> Testbed:
    engine_version()
    if endpoint is not None and (reason := endpoint.out_of_containers_reach()):
        raise EngineError(reason)
    print("shedlab: making sure of the images; the first time takes a minute or two", file=sys.stderr)
    make_images()
    return ComposeTestbed(endpoint)
