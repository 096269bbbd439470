"""Every pair of faults composes by its rule or is refused; an end takes away its own share only."""

import asyncio
import itertools
import json
import types
from typing import TYPE_CHECKING, Any, cast, get_args

import httpx
import pytest
from pydantic import ValidationError

from lab.contract.fault_spec import AnyFault, LatencyFault, ModelFault, ProcessFault
from lab.contract.loading import ScenarioError, parse_scenario
from lab.contract.overlap import RULES, composed_latency, composed_model
from lab.drill.faults.acting import Acting
from lab.drill.faults.registry import make_injector
from lab.drill.probes import StackProbe
from lab.drill.testbed import Addresses
from lab.drill.toxics_client import ToxiproxyClient
from tests.unit.workload_scenarios import FAULT_KEYS, scenario

if TYPE_CHECKING:
    from lab.drill.faults import Target

AT_REST = {"slow_factor": 1.0}
FOUND = {"kind": "none", "mode": "enforce", "why": ""}
REFUSED_WITH_ITSELF = {kind for kind, rule in RULES.items() if rule == "refused"}


class Lab(ToxiproxyClient):
    """A stack whose state is five values, and all doors to it."""

    addresses = Addresses("redis://127.0.0.1:1/0", "http://gate", "http://model", "127.0.0.1", 1, {})

    def __init__(self) -> None:
        self.model: dict[str, Any] = dict(AT_REST)
        self.policy: dict[str, Any] = dict(FOUND)
        self.toxics: dict[tuple[str, str], dict[str, int]] = {}
        self.down: set[str] = set()
        self.workers, self.way = 2, "gate"

    def state(self) -> dict[str, Any]:
        toxics = sorted((link, sorted(each.items())) for (link, _), each in self.toxics.items())
        return {
            "model": dict(self.model),
            "policy": dict(self.policy),
            "toxics": toxics,
            "down": set(self.down),
            "workers": self.workers,
            "route": self.way,
        }

    def answer(self, request: httpx.Request) -> httpx.Response:
        body = json.loads(request.content or b"null")
        if request.url.path == "/admin/config":
            self.model = body
        elif request.url.path == "/admin/reset":
            self.model = dict(AT_REST)
        elif request.method == "PUT":
            self.policy = body
        return httpx.Response(200, json=self.policy)

    def add_toxic(
        self, proxy: str, name: str, kind: str, *, stream: str, toxicity: float, attributes: dict[str, int]
    ) -> None:
        assert (proxy, name) not in self.toxics, f"{kind} {stream} {toxicity} is there already"
        self.toxics[proxy, name] = attributes

    def update_toxic(self, proxy: str, name: str, *, attributes: dict[str, int]) -> None:
        assert (proxy, name) in self.toxics
        self.toxics[proxy, name] = attributes

    def remove_toxic(self, proxy: str, name: str) -> None:
        self.toxics.pop((proxy, name), None)

    def set_enabled(self, proxy: str, enabled: bool) -> None:
        self.down = self.down - {proxy} if enabled else self.down | {proxy}

    async def inject_process(self, fault: ProcessFault) -> None:
        self.workers = fault.replicas if fault.replicas is not None else self.workers

    async def revert_process(self, fault: ProcessFault) -> None:
        self.workers = 2 if fault.action == "scale" else self.workers

    async def set_route(self, route: str) -> None:
        self.way = route


def declared(kind: str, at: str, lasts: str, **keys: Any) -> dict[str, Any]:
    return {"kind": kind, "at": at, "for": lasts, **FAULT_KEYS[kind], **keys}


def walk(faults: tuple[AnyFault, ...]) -> list[dict[str, Any]]:
    """The states at rest, and after each of: the first begins, the second begins, the first ends, the second ends."""
    lab = Lab()

    async def run() -> list[dict[str, Any]]:
        probe = StackProbe(lab.addresses)
        probe.http, probe.proxy = httpx.AsyncClient(transport=httpx.MockTransport(lab.answer)), lab
        acting = Acting()
        one, two = (
            make_injector(fault, number, cast("Target", lab), probe, acting)
            for number, fault in enumerate(faults, start=1)
        )
        states = [lab.state()]
        for deed in (one.inject, two.inject, one.revert, two.revert):
            await deed()
            states.append(lab.state())
        await probe.aclose()
        return states

    return asyncio.run(run())


def pair(one: dict[str, Any], two: dict[str, Any]) -> tuple[AnyFault, ...]:
    return scenario(one, two, stack={"workers": 2, "edge": True}).faults


def alone(fault: dict[str, Any]) -> dict[str, Any]:
    return walk(pair(fault, declared("noop", "20s", "10s")))[1]


def test_every_kind_has_a_rule() -> None:
    union = get_args(AnyFault)[0]
    assert isinstance(union, types.UnionType)
    kinds = {get_args(member.model_fields["kind"].annotation)[0] for member in get_args(union)}
    assert kinds == set(RULES) == set(FAULT_KEYS)


@pytest.mark.parametrize(("first", "second"), [*itertools.product(sorted(FAULT_KEYS), repeat=2)])
def test_an_end_takes_away_its_own_share_only(first: str, second: str) -> None:
    one, two = declared(first, "3s", "3s"), declared(second, "5s", "3s")
    if first == second and first in REFUSED_WITH_ITSELF:
        with pytest.raises(ValidationError, match=r"overlap: .*; let one end before the other begins"):
            pair(one, two)
        return
    at_rest, _, _, second_alone, after = walk(pair(one, two))
    assert second_alone == alone(two)
    assert after == at_rest


@pytest.mark.parametrize("kind", sorted(FAULT_KEYS))
def test_the_second_may_end_first(kind: str) -> None:
    one, two = declared(kind, "3s", "9s"), declared(kind, "5s", "3s")
    if kind in REFUSED_WITH_ITSELF:
        return
    first, second = pair(one, two)
    lab = Lab()

    async def run() -> dict[str, Any]:
        probe = StackProbe(lab.addresses)
        probe.http, probe.proxy = httpx.AsyncClient(transport=httpx.MockTransport(lab.answer)), lab
        acting = Acting()
        outer = make_injector(first, 1, cast("Target", lab), probe, acting)
        inner = make_injector(second, 2, cast("Target", lab), probe, acting)
        for deed in (outer.inject, inner.inject, inner.revert):
            await deed()
        await probe.aclose()
        return lab.state()

    assert asyncio.run(run()) == alone(one)


def test_two_latencies_are_one_toxic_with_their_sum() -> None:
    states = walk(pair(declared("latency", "3s", "3s"), declared("latency", "5s", "3s")))
    assert states[2]["toxics"] == [("model", [("jitter", 42), ("latency", 600)])]


def test_model_faults_combine_as_independent_ones_and_the_newest_status_wins() -> None:
    states = walk(pair(declared("model", "3s", "3s", status=503), declared("model", "5s", "3s", slow_factor=2)))
    told = states[2]["model"]
    assert (told["slow_factor"], told["failure_ratio"], told["status"]) == (6.0, 0.75, 500)


def test_one_fault_composes_to_itself() -> None:
    model, latency = pair(declared("model", "3s", "3s"), declared("latency", "5s", "3s"))
    assert isinstance(model, ModelFault)
    assert isinstance(latency, LatencyFault)
    assert (composed_model([model]), composed_latency([latency])) == (model, latency)


PROCESS = {"kind": "process", "service": "worker", "at": "5s", "for": "3s"}


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ({**PROCESS, "action": "pause"}, {**PROCESS, "action": "kill"}),
        ({**PROCESS, "action": "pause"}, {**PROCESS, "action": "restart"}),
        ({**PROCESS, "action": "scale", "replicas": 4}, {**PROCESS, "action": "kill", "index": 2}),
        ({**PROCESS, "service": "model", "action": "kill"}, declared("model", "4s", "3s")),
        ({**PROCESS, "service": "gate", "action": "kill"}, declared("policy", "4s", "3s")),
        (declared("model", "4s", "3s"), declared("model", "5s", "3s", classes=["chat"])),
        (declared("model", "4s", "3s", slow_factor=40), declared("model", "5s", "3s", slow_factor=40)),
        (declared("latency", "4s", "3s", toxicity=0.5), declared("latency", "5s", "3s")),
    ],
)
def test_what_cannot_compose_is_refused(one: dict[str, Any], two: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match="overlap"):
        pair(one, two)


def test_faults_that_touch_do_not_overlap() -> None:
    assert len(pair({**PROCESS, "action": "pause"}, {**PROCESS, "action": "kill", "at": "8s"})) == 2


def test_a_refusal_names_file_and_line() -> None:
    text = """name: twice
summary: Two pauses.
slo: {within: 3s}
workload:
  seed: 1
  duration: 20s
  arrivals: {kind: poisson, rate: 1/s}
  classes: {chat: {service: {kind: constant, time: 1s}, deadline: 9s}}
policies: {A: {kind: none}}
faults:
  - {kind: process, service: worker, action: pause, at: 3s, for: 3s}
  - {kind: process, service: worker, action: kill, at: 5s, for: 3s}
"""
    with pytest.raises(ScenarioError, match=r"^twice.yaml:12: faults\[1\].at: .*worker 1 is hit by pause and kill"):
        parse_scenario(text, "twice.yaml")
