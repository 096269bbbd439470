"""The running gate gets another policy, or its own in another mode: a mistake, or the way back from one."""

from typing import Any

import httpx

from lab.contract.fault_spec import PolicyFault
from lab.contract.policy_spec import POLICY_ADAPTER
from lab.drill.faults import BoundTo, FaultError, Target
from lab.drill.probes import StackProbe


class PolicyInjector(BoundTo):
    """Puts the policy; at revert puts back the one that it found."""

    def __init__(self, name: str, fault: PolicyFault, stack: Target, probe: StackProbe) -> None:
        """Binds the switch to a stack."""
        super().__init__(name, stack, probe)
        self._fault = fault
        self._found: dict[str, Any] | None = None

    async def inject(self) -> None:
        """From now on decided by the other policy."""
        self._found = await self._ask("GET")
        await self._put(self._wanted(self._found))

    async def revert(self) -> None:
        """From now on decided as before; nothing where it never acted."""
        if self._found is not None:
            await self._put(self._found)

    def _wanted(self, found: dict[str, Any]) -> dict[str, Any]:
        if self._fault.switch_to is None:
            return {**found, "mode": self._fault.mode}
        switched: dict[str, Any] = POLICY_ADAPTER.dump_python(self._fault.switch_to, mode="json")
        return switched

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
