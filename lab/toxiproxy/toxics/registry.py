"""The kinds of toxic by the name that the API knows them under."""

from typing import Final

from lab.toxiproxy.go_json import Object, integer_field
from lab.toxiproxy.toxics import Toxic, attribute_names
from lab.toxiproxy.toxics.bandwidth import BandwidthToxic
from lab.toxiproxy.toxics.latency import LatencyToxic
from lab.toxiproxy.toxics.limit_data import LimitDataToxic
from lab.toxiproxy.toxics.noop import NoopToxic
from lab.toxiproxy.toxics.reset_peer import ResetPeerToxic
from lab.toxiproxy.toxics.slicer import SlicerToxic
from lab.toxiproxy.toxics.slow_close import SlowCloseToxic
from lab.toxiproxy.toxics.timeout import TimeoutToxic

_KINDS: tuple[type[Toxic], ...] = (
    BandwidthToxic,
    LatencyToxic,
    LimitDataToxic,
    NoopToxic,
    ResetPeerToxic,
    SlicerToxic,
    SlowCloseToxic,
    TimeoutToxic,
)
TOXICS: Final[dict[str, type[Toxic]]] = {kind.type_name: kind for kind in _KINDS}


def toxic_with(kind: type[Toxic], given: Object, before: Toxic | None = None) -> Toxic:
    """A toxic of these attributes; those not given are as `before`, or 0.

    Raises:
        GoJsonError: an attribute is no integer.
        ValueError: the attributes cannot be acted on; GoJsonError is one too.
    """
    values = {
        name: integer_field(given, wire, f"{kind.go_name}.attributes", getattr(before, name, 0))
        for name, wire in attribute_names(kind).items()
    }
    toxic = kind(**values)
    toxic.check()
    return toxic
