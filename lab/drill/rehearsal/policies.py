"""Reads and switches the gate's policy, and keeps a line of every switch for the report."""

import json
import time
from dataclasses import asdict, dataclass
from typing import Any

import httpx

from lab.contract.environment import policy_json
from lab.contract.flags import FlagError, read_policy
from lab.contract.policy_spec import Mode, PolicySpec
from lab.drill.rehearsal import RehearsalError
from lab.drill.rehearsal.bench import Bench
from lab.drill.rehearsal.state import State

ROUTE = "/admin/policy"
GATE_WITHIN_S = 5.0


@dataclass(frozen=True, slots=True)
class Switch:
    """One switch, at unix seconds; `was` and `now` are policies as JSON."""

    at: float
    runtime: str
    was: dict[str, Any]
    now: dict[str, Any]


def current_policy(bench: Bench) -> PolicySpec:
    """The policy in force.

    Raises:
        RehearsalError: the gate does not answer.
    """
    return _policy_in(_ask(bench, "GET", None))


def switch_policy(state: State, bench: Bench, wanted: PolicySpec) -> Switch:
    """Puts another policy in force.

    Raises:
        RehearsalError: the gate does not answer, or refuses.
    """
    with state.locked():
        was = current_policy(bench)
        now = _policy_in(_ask(bench, "PUT", policy_json(wanted)))
        switch = Switch(time.time(), bench.runtime, json.loads(policy_json(was)), json.loads(policy_json(now)))
        _keep(state, switch)
    return switch


def switch_mode(state: State, bench: Bench, mode: Mode) -> Switch:
    """The same policy in another mode. Raises RehearsalError."""
    return switch_policy(state, bench, current_policy(bench).model_copy(update={"mode": mode}))


def load_switches(state: State, runtime: str) -> list[Switch]:
    """Every switch of this runtime's bench, oldest first; a line cut short is left out."""
    try:
        lines = state.switches_file.read_text(encoding="utf-8").splitlines()
    except OSError:
        return []
    switches = []
    for line in lines:
        try:
            switches.append(Switch(**json.loads(line)))
        except (ValueError, TypeError):
            continue
    return [switch for switch in switches if switch.runtime == runtime]


def policy_words(policy: PolicySpec | dict[str, Any]) -> str:
    """Such as `queue_age max_age 2s, enforce`; how it estimates and degrades is for who asks the gate."""
    told: dict[str, Any] = policy if isinstance(policy, dict) else json.loads(policy_json(policy))
    unsaid = ("kind", "mode", "why", "estimate", "degrade")
    bounds = [f"{key} {value}" for key, value in told.items() if key not in unsaid and value is not None]
    return f"{' '.join([told['kind'], *bounds])}, {told['mode']}"


def _keep(state: State, switch: Switch) -> None:
    try:
        with state.switches_file.open("a", encoding="utf-8") as lines:
            lines.write(json.dumps(asdict(switch)) + "\n")
    except OSError as error:
        raise RehearsalError(f"the switch is made but not recorded: {error.strerror or error}") from None


def _policy_in(body: Any) -> PolicySpec:
    try:
        return read_policy(body)
    except (FlagError, AttributeError):
        raise RehearsalError("the gate gives an answer that is no policy of this version") from None


def _ask(bench: Bench, method: str, body: str | None) -> Any:
    url = f"{bench.addresses.gate_url}{ROUTE}"
    try:
        with httpx.Client(timeout=GATE_WITHIN_S, trust_env=False) as client:
            answer = client.request(method, url, content=body, headers={"Content-Type": "application/json"})
        told = answer.json()
    except (httpx.HTTPError, ValueError) as error:
        raise RehearsalError(
            f"the gate at {bench.addresses.gate_url} does not answer ({type(error).__name__}); "
            "`shedlab fault list` shows what acts on it"
        ) from None
    if answer.is_error:
        said = told.get("error", {}).get("message", answer.text[:200]) if isinstance(told, dict) else answer.text[:200]
        raise RehearsalError(f"the gate refuses: {said}")
    return told
