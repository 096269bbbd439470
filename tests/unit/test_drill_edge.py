"""The edge of a stack: its one configuration on either testbed, and the fault that switches its route."""

import asyncio
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import httpx
import pytest

from lab.contract.environment import gate_environment
from lab.contract.fault_spec import RouteFault
from lab.contract.loading import ScenarioError, load_scenario, parse_scenario
from lab.contract.names import REFUSAL_STATUS, Route
from lab.drill.edge_check import check_edge
from lab.drill.faults import FaultError, Injector, Target
from lab.drill.faults.registry import make_injector
from lab.drill.probes import StackProbe
from lab.drill.testbed import Addresses, Stack, StackError
from lab.drill.testbed.compose import arm_variables
from lab.drill.testbed.edge import CONFIG_FILE, LOCAL_FLAGS, local_config, route_command, write_local_config
from lab.drill.testbed.ports import Ports

ROOT = Path(__file__).parents[2]
CONFIG = CONFIG_FILE.read_text(encoding="utf-8")
PORTS = Ports(1, 2, 3, 4, 5, 6, enqueue=70, edge=80)
FAULT = RouteFault.model_validate({"kind": "route", "at": "1s", "for": "2s", "to": "bypass"})


def test_the_local_configuration_is_the_shipped_one_at_other_addresses() -> None:
    local = local_config(CONFIG, PORTS)
    assert "/tmp" not in re.sub(r"(?m)^#.*$", "", local)  # noqa: S108 - what must not be left
    assert "listen 127.0.0.1:80;" in local
    assert ("gate 127.0.0.1:2;" in local, "bypass 127.0.0.1:70;" in local) == (True, True)
    assert len(local.splitlines()) == len(CONFIG.splitlines())


def test_a_configuration_that_names_another_address_is_not_taken_for_ours() -> None:
    with pytest.raises(StackError, match="gate gate:8080;"):
        local_config(CONFIG.replace("gate:8080", "gate:9090"), PORTS)


def test_the_file_that_is_tested_for_is_the_one_that_the_command_touches() -> None:
    (switch,) = re.findall(r"if \(-f (\S+)\)", CONFIG)
    assert route_command("bypass") == ("touch", switch)
    assert route_command("gate") == ("rm", "-f", switch)


def test_what_the_edge_says_of_a_lost_request_is_a_reason_of_the_contract() -> None:
    assert set(re.findall(r'"reason":"(\w+)"', CONFIG)) <= set(REFUSAL_STATUS)
    assert f"return {REFUSAL_STATUS['route_unreachable']} " in CONFIG


def test_nginx_finds_the_local_configuration_sound(tmp_path: Path) -> None:
    nginx = shutil.which("nginx")
    if nginx is None:
        assert not os.environ.get("LAB_REQUIRE_NGINX"), "CI promises nginx and it is not on PATH"
        pytest.skip("no nginx on PATH")
    write_local_config(tmp_path, PORTS)
    tested = subprocess.run([nginx, *LOCAL_FLAGS, "-t"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert tested.returncode == 0, tested.stderr


class StubEdge:
    """A stack with an edge; `stuck` never leaves its route."""

    def __init__(self, *, edge_url: str | None = "http://edge", stuck: bool = False, outcome: str = "ok") -> None:
        self.addresses = Addresses(
            "redis://127.0.0.1:1/0", "http://gate", "", "127.0.0.1", 1, {}, "http://enqueue", edge_url
        )
        self.now = "gate"
        self.taken: list[str] = []
        self._stuck, self._outcome = stuck, outcome

    async def set_route(self, route: Route) -> None:
        self.taken.append(route)
        self.now = self.now if self._stuck else route

    def answer(self, request: httpx.Request) -> httpx.Response:
        if request.url.path == "/route":
            return httpx.Response(200, text=f"{self.now}\n")
        if request.method == "POST":
            return httpx.Response(202, headers={"location": "/v1/jobs/1"}, json={})
        return httpx.Response(200, json={"outcome": self._outcome})


def played(stack: Any, *verbs: str) -> None:
    async def run(probe: StackProbe) -> None:
        injector: Injector = make_injector(FAULT, 1, cast("Target", stack), probe)
        for verb in verbs:
            await getattr(injector, verb)()

    with_probe(stack, run)


def with_probe(stack: Any, play: Callable[[StackProbe], Any]) -> Any:
    async def run() -> Any:
        probe = StackProbe(stack.addresses)
        answer = getattr(stack, "answer", lambda _: httpx.Response(404))
        probe.http = httpx.AsyncClient(transport=httpx.MockTransport(answer))
        try:
            return await play(probe)
        finally:
            await probe.aclose()

    return asyncio.run(run())


def test_a_route_is_switched_and_switched_back_and_back_again_does_no_harm() -> None:
    stack = StubEdge()
    played(stack, "inject", "revert", "revert")
    assert (stack.taken, stack.now) == (["bypass", "gate", "gate"], "gate")


def test_an_edge_that_does_not_do_as_told_is_noticed() -> None:
    with pytest.raises(FaultError, match="told to take the route bypass and says 'gate'"):
        played(StubEdge(stuck=True), "inject")


def test_a_stack_that_knows_no_routes_says_so() -> None:
    stack = SimpleNamespace(addresses=StubEdge().addresses)
    with pytest.raises(FaultError, match="there is no edge here"):
        played(stack, "inject")


def test_before_the_load_a_job_goes_through_by_either_route_and_the_gates_stays() -> None:
    stack = StubEdge()
    found = with_probe(stack, lambda probe: check_edge(cast("Stack", stack), probe, 5.0))
    assert (found.ok, found.evidence["outcomes"]) == (True, {"bypass": "ok", "gate": "ok"})
    assert stack.taken == ["bypass", "gate"]
    assert "through nginx" in found.detail


def test_a_route_by_which_no_job_comes_back_fails_the_check() -> None:
    stack = StubEdge(outcome="error")
    found = with_probe(stack, lambda probe: check_edge(cast("Stack", stack), probe, 5.0))
    assert not found.ok


def test_without_an_nginx_the_check_says_where_the_load_goes() -> None:
    stack = StubEdge(edge_url=None)
    found = with_probe(stack, lambda probe: check_edge(cast("Stack", stack), probe, 5.0))
    assert (found.ok, found.evidence["outcomes"], stack.taken) == (True, {"bypass": "ok"}, [])
    assert "straight to the enqueue endpoint" in found.detail


QUICK = (ROOT / "scenarios" / "quick_check.yaml").read_text(encoding="utf-8")
NO_EDGE = QUICK.replace("faults:\n", "faults:\n  - {kind: route, at: 1s, for: 1s}\n")


def test_a_route_without_an_edge_is_refused_with_its_line_and_the_remedy() -> None:
    with pytest.raises(ScenarioError, match=r"quick:\d+: faults\[0\]\.kind: .*add `edge: true` to stack"):
        parse_scenario(NO_EDGE, "quick")
    with_edge = parse_scenario(NO_EDGE.replace("stack:\n", "stack:\n  edge: true\n"), "quick")
    assert with_edge.stack.has_enqueue


@pytest.mark.parametrize("declared", ["closed", "reject", "bypass"])
def test_what_a_gate_does_without_its_queue_is_declared_and_handed_on(declared: str) -> None:
    scenario = parse_scenario(QUICK.replace("stack:\n", f"stack:\n  on_queue_failure: {declared}\n"), "quick")
    assert gate_environment(scenario, "A")["ON_QUEUE_FAILURE"] == declared
    assert arm_variables(scenario, "A", PORTS)["ON_QUEUE_FAILURE"] == declared
    assert scenario.stack.has_enqueue == (declared == "bypass")


def test_the_load_enters_by_the_edge_where_there_is_one() -> None:
    targets = [
        arm_variables(load_scenario(ROOT / "scenarios" / f"{name}.yaml").scenario, "B", PORTS)["TARGET_URL"]
        for name in ("bypass_rehearsal", "quick_check")
    ]
    assert targets == ["http://edge:8088", "http://gate:8080"]
