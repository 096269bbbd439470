"""What goes wrong inside the lab or around it ends with a sentence, and with nothing left running."""

import dataclasses
import socket
from pathlib import Path

import pytest

from lab.contract.loading import load_scenario
from lab.drill.probes import StackProbe
from lab.drill.request import DrillRequest
from lab.drill.runner import run_drill
from lab.drill.testbed import local
from lab.drill.testbed.ports import free_ports
from tests.system.drills import journal, stack_processes, write_drill

pytestmark = [pytest.mark.system, pytest.mark.timeout(120)]


def request_in(folder: Path) -> DrillRequest:
    loaded = load_scenario(write_drill(folder, duration="2s"))
    return DrillRequest(loaded, "local", speed=1, jobs=None, repeats=None, only=(), reports_root=folder / "reports")


def test_a_port_taken_meanwhile_fails_the_arm_with_the_services_own_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        ports = dataclasses.replace(free_ports(), gate=taken.getsockname()[1])
        monkeypatch.setattr(local, "free_ports", lambda: ports)
        run_dir = run_drill(request_in(tmp_path))
    events = journal(run_dir / "A-1")
    (failure,) = [event for event in events if event["event"] == "check" and event["name"] == "arm"]
    assert "gate-1 ended by itself with exit code 3" in failure["detail"]
    assert str(ports.gate) in failure["detail"]
    assert stack_processes(run_dir) == []


def test_an_exception_of_the_lab_itself_still_proves_and_ends_the_stack(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(*_arguments: object) -> None:
        raise RuntimeError("a mistake in the lab")

    monkeypatch.setattr(StackProbe, "check_steady_state", broken)
    with pytest.raises(RuntimeError, match="a mistake in the lab"):
        run_drill(request_in(tmp_path))
    run_dir = tmp_path / "reports" / "latest"
    checks = {event["name"]: event["ok"] for event in journal(run_dir / "A-1") if event["event"] == "check"}
    assert checks["clean_state"]
    assert checks["processes_ended"]
    assert stack_processes(run_dir) == []
