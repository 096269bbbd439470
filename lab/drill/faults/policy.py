"""The running gate gets another policy, or its own in another mode: a mistake, or the way back from one."""

from typing import Any

import httpx

from lab.contract.fault_spec import PolicyFault
from lab.contract.policy_spec import POLICY_ADAPTER
from lab.drill.faults import BoundTo, FaultError, Target
from lab.drill.faults.acting import Acting
from lab.drill.probes import StackProbe


class PolicyInjector(BoundTo):
    """Puts the policy of the newest switch that acts; once none does, the one that the first of them found."""

    def __init__(
        self, name: str, fault: PolicyFault, stack: Target, probe: StackProbe, acting: Acting | None = None
    ) -> None:
        """Binds the switch to a stack."""
        super().__init__(name, stack, probe, acting)
        self._fault = fault

    async def inject(self) -> None:
        """From now on decided by the other policy."""
        async with self.acting.lock:
            if self.acting.policy_found is None:
                self.acting.policy_found = await self._ask("GET")
            self.acting.begin(self.name, self._fault)
            await self._put(self._wanted(self.acting.policy_found))

    async def revert(self) -> None:
        """From now on decided as without it; nothing where it never acted."""
        async with self.acting.lock:
            self.acting.end(self.name)
            if self.acting.policy_found is not None:
                await self._put(self._wanted(self.acting.policy_found))

    def _wanted(self, found: dict[str, Any]) -> dict[str, Any]:
        """A mode changes the policy below it, a switch replaces it; oldest first."""
        for fault in self.acting.of_kind("policy"):
            if isinstance(fault, PolicyFault):
                found = _switched(fault, found)
        return found

    async def _put(self, policy: dict[str, Any]) -> None:
        await self._ask("PUT", policy)
        told = await self._ask("GET")
        if told != policy:
            raise FaultError(f"the gate was given policy {policy} and reads {told}")

    async def _ask(self, method: str, policy: dict[str, Any] | None = None) -> dict[str, Any]:
        try:
            answer = await self.probe.http.request(method, f"{self.stack.addresses.gate_url}/admin/policy", json=policy)
        except httpx.HTTPError as error:
            raise FaultError(
                f"the gate does not answer /admin/policy: {type(error).__name__} {error}".strip()
            ) from None
        if answer.is_error:
            raise FaultError(f"the gate refused the policy: {answer.text[:200]}")
        told: dict[str, Any] = answer.json()
        return told


def _switched(fault: PolicyFault, below: dict[str, Any]) -> dict[str, Any]:
    if fault.switch_to is None:
        return {**below, "mode": fault.mode}
    switched: dict[str, Any] = POLICY_ADAPTER.dump_python(fault.switch_to, mode="json")
    return switched
