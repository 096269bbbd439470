"""The fault that does nothing: it walks the same path as every other."""

from lab.drill.faults import BoundTo


class NoopInjector(BoundTo):
    """Injects and reverts nothing."""

    async def inject(self) -> None:
        """Nothing."""

    async def revert(self) -> None:
        """Nothing."""
