"""The model itself misbehaves, by its live control."""

import httpx

from lab.contract.fault_spec import ModelFault
from lab.drill.faults import BoundTo, FaultError, Target
from lab.drill.probes import StackProbe


class ModelInjector(BoundTo):
    """Posts the declared behaviour; at revert puts the model at rest."""

    def __init__(self, name: str, fault: ModelFault, stack: Target, probe: StackProbe) -> None:
        """Binds the fault to a stack."""
        super().__init__(name, stack, probe)
        self._fault = fault

    async def inject(self) -> None:
        """One atomic change of the model's behaviour."""
        behaviour = self._fault.model_dump(include={"slow_factor", "failure_ratio", "status", "stall_ratio", "classes"})
        await self._post("/admin/config", behaviour)

    async def revert(self) -> None:
        """Back to rest."""
        await self._post("/admin/reset", {})

    async def _post(self, path: str, body: dict[str, object]) -> None:
        try:
            answer = await self.probe.http.post(f"{self.stack.addresses.model_url}{path}", json=body)
        except httpx.HTTPError as error:
            raise FaultError(f"the model does not answer {path}: {type(error).__name__} {error}".strip()) from None
        if answer.is_error:
            raise FaultError(f"the model refused {path}: {answer.text[:200]}")
