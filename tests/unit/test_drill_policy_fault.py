"""A policy switched on the running gate, and put back."""

import asyncio
import json
from typing import Any, cast

import httpx
import pytest
from pydantic import ValidationError

from lab.contract.fault_spec import PolicyFault
from lab.drill.faults import FaultError
from lab.drill.faults.policy import PolicyInjector
from lab.drill.probes import StackProbe
from lab.drill.testbed import Addresses, Stack

AT_FIRST = {"kind": "queue_age", "max_age": "1.6s", "mode": "enforce", "why": ""}
TIGHT = {"kind": "queue_age", "max_age": "50ms"}


class StubGate:
    """Holds a policy as the gate does; `deaf` takes no other."""

    def __init__(self, *, deaf: bool = False, status: int = 200) -> None:
        self.policy: dict[str, Any] = dict(AT_FIRST)
        self.deaf, self.status = deaf, status

    def answer(self, request: httpx.Request) -> httpx.Response:
        if request.method == "PUT" and not self.deaf:
            self.policy = json.loads(request.content)
        return httpx.Response(self.status, json=self.policy)


class StubStack:
    addresses = Addresses("redis://127.0.0.1:1/0", "http://gate", "", "127.0.0.1", 1, {})


def fault(**fields: object) -> PolicyFault:
    return PolicyFault.model_validate({"kind": "policy", "at": "1s", "for": "2s", **fields})


def play(gate: StubGate, declared: PolicyFault, *verbs: str) -> None:
    async def run() -> None:
        probe = StackProbe(StubStack.addresses)
        probe.http = httpx.AsyncClient(transport=httpx.MockTransport(gate.answer))
        injector = PolicyInjector("1-policy", declared, cast("Stack", StubStack()), probe)
        for verb in verbs:
            await getattr(injector, verb)()
        await probe.aclose()

    asyncio.run(run())


def test_another_policy_is_put_whole() -> None:
    gate = StubGate()
    play(gate, fault(switch_to=TIGHT), "inject")
    assert (gate.policy["kind"], gate.policy["max_age"], gate.policy["mode"]) == ("queue_age", "50ms", "enforce")


def test_another_mode_leaves_the_policy_as_it_is() -> None:
    gate = StubGate()
    play(gate, fault(mode="log_only"), "inject")
    assert gate.policy == {**AT_FIRST, "mode": "log_only"}


@pytest.mark.parametrize("fields", [{"switch_to": TIGHT}, {"mode": "off"}])
def test_a_revert_puts_back_what_was_found_and_may_be_done_twice(fields: dict[str, object]) -> None:
    gate = StubGate()
    play(gate, fault(**fields), "inject", "revert", "revert")
    assert gate.policy == AT_FIRST


def test_a_switch_that_never_acted_has_nothing_to_revert() -> None:
    gate = StubGate(status=500)
    play(gate, fault(mode="off"), "revert")
    assert gate.policy == AT_FIRST


def test_a_gate_that_reads_otherwise_than_it_was_given_is_said() -> None:
    with pytest.raises(FaultError, match=r"the gate was given policy .* and reads"):
        play(StubGate(deaf=True), fault(mode="off"), "inject")


def test_a_gate_that_refuses_is_said() -> None:
    with pytest.raises(FaultError, match="the gate refused the policy"):
        play(StubGate(status=400), fault(mode="off"), "inject")


@pytest.mark.parametrize("fields", [{}, {"switch_to": TIGHT, "mode": "off"}])
def test_a_switch_changes_one_thing(fields: dict[str, object]) -> None:
    with pytest.raises(ValidationError, match="give one of switch_to"):
        fault(**fields)
