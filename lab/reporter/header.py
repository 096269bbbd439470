"""The journal's first line: what was played, on what."""

from dataclasses import dataclass
from typing import Any

from lab.contract.journal import MOCK_MODEL
from lab.contract.scenario import Scenario


@dataclass(frozen=True, slots=True)
class Header:
    """The `run` event, with the scenario as it was played (after SPEED)."""

    run_id: str
    scenario_name: str
    scenario_text: str
    scenario_sha256: str
    scenario: Scenario
    speed: float
    runtime: str
    runtime_why: str
    policy: str
    kind: str
    mode: str
    repeat: int
    seed: int
    schedule_sha256: str
    schedule_count: int
    arms_side_by_side: int
    versions: dict[str, str]
    host: dict[str, Any]
    endpoint: str = MOCK_MODEL

    @property
    def is_sandbox(self) -> bool:
        """Whether a real endpoint answered, whose own load and limits nobody here controls."""
        return self.endpoint != MOCK_MODEL


_TYPES: dict[str, type | tuple[type, ...]] = {
    "run_id": str,
    "scenario_name": str,
    "scenario_text": str,
    "scenario_sha256": str,
    "speed": (int, float),
    "runtime": str,
    "runtime_why": str,
    "policy": str,
    "kind": str,
    "mode": str,
    "repeat": int,
    "seed": int,
    "schedule_sha256": str,
    "schedule_count": int,
    "arms_side_by_side": int,
    "versions": dict,
    "host": dict,
}


def read_header(event: dict[str, Any] | None) -> Header:
    """The header of a journal's first event.

    Raises:
        ValueError: there is none, or a field of it is missing or of the wrong type.
    """
    if event is None or event["event"] != "run":
        raise ValueError("the journal does not begin with a run event, so nothing says what was played")
    for name, kind in _TYPES.items():
        if not isinstance(event.get(name), kind):
            raise ValueError(f"the run event's field {name!r} is missing or of the wrong type")  # noqa: TRY004 - one error for a bad header
    try:
        scenario = Scenario.model_validate(event.get("played"))
    except ValueError as error:
        raise ValueError(f"the run event's field 'played' is no scenario: {error}") from None
    if event["policy"] not in scenario.policies:
        raise ValueError(f"the run event's policy {event['policy']!r} is not declared in what was played")
    endpoint = str(event.get("endpoint", MOCK_MODEL))
    return Header(scenario=scenario, endpoint=endpoint, **{name: event[name] for name in _TYPES})
