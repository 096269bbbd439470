"""The faults that act on one stack now, from which each injector works out the state of what it hits."""

import asyncio
from typing import Any

from lab.contract.fault_spec import AnyFault
from lab.contract.overlap import newest_last


class Acting:
    """The faults of one stack that act, by their names.

    Whoever begins or ends a fault holds `lock` until the state that follows is in place. `policy_found` is the policy
    that the first switch found; `toxic_names` says under which name a link and stream has its joint latency.
    """

    def __init__(self) -> None:
        """None acts."""
        self.lock = asyncio.Lock()
        self.policy_found: dict[str, Any] | None = None
        self.toxic_names: dict[tuple[str, str], str] = {}
        self._faults: dict[str, AnyFault] = {}

    def begin(self, name: str, fault: AnyFault) -> None:
        """This one acts from now on."""
        self._faults[name] = fault

    def end(self, name: str) -> bool:
        """This one acts no longer; False where it did not."""
        return self._faults.pop(name, None) is not None

    def of_kind(self, kind: str) -> list[AnyFault]:
        """Those of a kind, newest last; of those that start together the one declared later is newer."""
        named = sorted(self._faults.items(), key=lambda item: int(item[0].partition("-")[0]))
        return newest_last([fault for _, fault in named if fault.kind == kind])
