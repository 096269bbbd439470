"""A toxic as it is placed on a proxy: with a name, a stream and a toxicity, created and updated from JSON."""

from collections.abc import Collection
from dataclasses import dataclass
from enum import Enum
from typing import Any

from lab.toxiproxy.errors import bad_request_body, invalid_stream, invalid_toxic_type, toxic_already_exists
from lab.toxiproxy.go_json import Object, as_object, float32_field, text_field, whole
from lab.toxiproxy.toxics import Toxic
from lab.toxiproxy.toxics.registry import TOXICS, toxic_with

_OWNER = "ToxicWrapper"


class Direction(Enum):
    """Upstream is client to server, downstream is server to client."""

    UPSTREAM = "upstream"
    DOWNSTREAM = "downstream"


@dataclass(slots=True, eq=False)
class PlacedToxic:
    """`stream` is the direction as its creator wrote it; `touched_count` counts the connections it did something to."""

    name: str
    stream: str
    direction: Direction
    toxicity: float
    toxic: Toxic
    touched_count: int = 0

    def update(self, fields: Object) -> None:
        """Merges attributes and toxicity; other fields cannot change.

        Raises:
            ApiError: a value is wrong; nothing has changed then.
        """
        try:
            given = (
                as_object(fields.get("attributes"), f"struct field .attributes of type toxics.{self.toxic.go_name}")
                or {}
            )
            toxicity = float32_field(fields, "toxicity", "", self.toxicity)
            self.toxic = toxic_with(type(self.toxic), given, self.toxic)
        except ValueError as error:
            raise bad_request_body(str(error)) from None
        self.toxicity = toxicity

    def as_json(self) -> dict[str, Any]:
        """As on the wire."""
        return {
            "attributes": self.toxic.attributes(),
            "name": self.name,
            "type": self.toxic.type_name,
            "stream": self.stream,
            "toxicity": whole(self.toxicity),
        }


def place_toxic(fields: Object, taken: Collection[str]) -> PlacedToxic:
    """A new toxic; downstream, toxicity 1 and named `<type>_<stream>` where not said. `taken` are names it cannot have.

    Raises:
        ApiError: something is wrong with it; the checks are in Toxiproxy's order.
    """
    try:
        name, type_name = text_field(fields, "name", _OWNER), text_field(fields, "type", _OWNER)
        stream = text_field(fields, "stream", _OWNER, "downstream")
        toxicity = float32_field(fields, "toxicity", _OWNER, 1.0)
        given = as_object(fields.get("attributes"), f"struct field {_OWNER}.attributes of type toxics.NoopToxic") or {}
    except ValueError as error:
        raise bad_request_body(str(error)) from None
    direction = _direction(stream)
    if type_name not in TOXICS:
        raise invalid_toxic_type()
    name = name or f"{type_name}_{stream}"
    if name in taken:
        raise toxic_already_exists()
    try:
        return PlacedToxic(name, stream, direction, toxicity, toxic_with(TOXICS[type_name], given))
    except ValueError as error:
        raise bad_request_body(str(error)) from None


def _direction(stream: str) -> Direction:
    try:
        return Direction(stream.lower())
    except ValueError:
        raise invalid_stream() from None
