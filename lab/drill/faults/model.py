"""The model itself misbehaves, by its live control."""

import httpx

from lab.contract.fault_spec import ModelFault
from lab.contract.overlap import composed_model
from lab.drill.faults import BoundTo, FaultError, Target
from lab.drill.faults.acting import Acting
from lab.drill.probes import StackProbe

BEHAVIOUR = {"slow_factor", "failure_ratio", "status", "stall_ratio", "classes"}


class ModelInjector(BoundTo):
    """Posts what all model faults that act do together; the model is at rest once none does."""

    def __init__(
        self, name: str, fault: ModelFault, stack: Target, probe: StackProbe, acting: Acting | None = None
    ) -> None:
        """Binds the fault to a stack."""
        super().__init__(name, stack, probe, acting)
        self._fault = fault

    async def inject(self) -> None:
        """One atomic change of the model's behaviour."""
        async with self.acting.lock:
            self.acting.begin(self.name, self._fault)
            await self._apply()

    async def revert(self) -> None:
        """Its own share is taken away."""
        async with self.acting.lock:
            self.acting.end(self.name)
            await self._apply()

    async def _apply(self) -> None:
        faults = [fault for fault in self.acting.of_kind("model") if isinstance(fault, ModelFault)]
        if not faults:
            await self._post("/admin/reset", {})
            return
        await self._post("/admin/config", composed_model(faults).model_dump(include=BEHAVIOUR))

    async def _post(self, path: str, body: dict[str, object]) -> None:
        try:
            answer = await self.probe.http.post(f"{self.stack.addresses.model_url}{path}", json=body)
        except httpx.HTTPError as error:
            raise FaultError(f"the model does not answer {path}: {type(error).__name__} {error}".strip()) from None
        if answer.is_error:
            raise FaultError(f"the model refused {path}: {answer.text[:200]}")
