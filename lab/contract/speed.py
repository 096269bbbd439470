"""SPEED: the same scenario in less time, every duration divided and every rate multiplied."""

from typing import TypeVar

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from lab.contract.units import Scale

Model = TypeVar("Model", bound=BaseModel)


def scaled(model: Model, speed: float) -> Model:
    """A copy of `model` played `speed` times as fast.

    Raises:
        ValueError: speed is not above 0.
    """
    if not speed > 0:
        raise ValueError(f"speed is {speed:g}; it must be above 0")
    if speed == 1:
        return model
    fields = type(model).model_fields
    return model.model_copy(update={name: _scaled_field(getattr(model, name), fields[name], speed) for name in fields})


def _scaled_field(value: object, field: FieldInfo, speed: float) -> object:
    power = next((mark.power for mark in _marks(field) if isinstance(mark, Scale)), None)
    if power is not None and isinstance(value, float | int):
        return value * speed**power
    return _scaled_value(value, speed)


def _marks(field: FieldInfo) -> list[object]:
    # In `Duration | None` the marker sits on a member of the union.
    nested = [
        mark for member in getattr(field.annotation, "__args__", ()) for mark in getattr(member, "__metadata__", ())
    ]
    return [*field.metadata, *nested]


def _scaled_value(value: object, speed: float) -> object:
    if isinstance(value, BaseModel):
        return scaled(value, speed)
    if isinstance(value, tuple):
        return tuple(_scaled_value(item, speed) for item in value)
    if isinstance(value, dict):
        return {key: _scaled_value(item, speed) for key, item in value.items()}
    return value
