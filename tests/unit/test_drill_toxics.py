"""A declared toxic becomes Toxiproxy's attributes, in Toxiproxy's units."""

from typing import Any

import pytest
from pydantic import TypeAdapter

from lab.contract.fault_spec import AnyToxic
from lab.drill.faults.toxic import toxic_attributes

CASES: list[tuple[dict[str, Any], dict[str, int]]] = [
    ({"kind": "latency", "latency": "800ms", "jitter": "1.5s"}, {"latency": 800, "jitter": 1500}),
    ({"kind": "bandwidth", "rate_kb_per_s": 50}, {"rate": 50}),
    ({"kind": "slow_close", "delay": "2s"}, {"delay": 2000}),
    ({"kind": "timeout", "timeout": "100ms"}, {"timeout": 100}),
    ({"kind": "reset_peer", "timeout": "10ms"}, {"timeout": 10}),
    (
        {"kind": "slicer", "average_size_bytes": 64, "size_variation_bytes": 8, "delay": "1ms"},
        {"average_size": 64, "size_variation": 8, "delay": 1000},
    ),
    ({"kind": "limit_data", "limit_bytes": 40}, {"bytes": 40}),
]


@pytest.mark.parametrize(("declared", "attributes"), CASES, ids=[str(case[0]["kind"]) for case in CASES])
def test_each_toxic_speaks_toxiproxys_units(declared: dict[str, Any], attributes: dict[str, int]) -> None:
    adapter: TypeAdapter[AnyToxic] = TypeAdapter(AnyToxic)
    assert toxic_attributes(adapter.validate_python({"at": "1s", "for": "1s", **declared})) == attributes
