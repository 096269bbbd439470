"""The base of every part of a scenario: frozen, and unknown keys are refused; how a part says what is wrong in it."""

from pydantic import BaseModel, ConfigDict


class Spec(BaseModel):
    """A part of a scenario file."""

    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=False)


class SpecError(ValueError):
    """Parts that do not fit together; `place` leads from the part that noticed to the value that is wrong."""

    def __init__(self, sentence: str, *place: str | int) -> None:
        """`place` holds keys as the file spells them, and indices from 0."""
        super().__init__(sentence)
        self.place = place
