"""A compose stack told by a fake engine: restarts are seen through, and nobody hangs on a container that runs again."""

import asyncio
import gc
from pathlib import Path

import pytest

from lab.contract.fault_spec import ProcessFault
from lab.contract.loading import load_scenario
from lab.drill.testbed.compose import ComposeStack
from tests.unit.fake_docker import FakeDocker

SCENARIO = load_scenario(Path(__file__).parents[2] / "scenarios" / "quick_check.yaml").scenario
# The engine finds it running each time it is asked, as it does right after a restart.
RUNS = (0, '{"Running": true, "Paused": false, "ExitCode": 0, "Status": "running"}', "")


def fault(action: str, **fields: object) -> ProcessFault:
    declared = {"kind": "process", "at": "1s", "for": "1s", "service": "worker", "action": action, **fields}
    return ProcessFault.model_validate(declared)


def play(stack: ComposeStack, *faults: ProcessFault) -> None:
    async def run() -> None:
        async with asyncio.timeout(20):
            await stack.start()
            for each in faults:
                await stack.inject_process(each)
                await stack.revert_process(each)
            await stack.stop()

    asyncio.run(run())
    # A process that nobody waited for is complained of here, and not in whichever test comes next.
    gc.collect()


@pytest.fixture
def docker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeDocker:
    monkeypatch.setattr("lab.drill.testbed.compose.image_tag", lambda: "dev-of-this-checkout")
    return FakeDocker(tmp_path, monkeypatch, {"inspect": RUNS})


def stack_in(folder: Path, followed: list[str]) -> ComposeStack:
    arm_dir = folder / "B-1"
    arm_dir.mkdir()
    return ComposeStack(SCENARIO, "B", arm_dir, "run", lambda source, _path: followed.append(source))


def test_a_restart_whose_end_nobody_saw_does_not_hang(tmp_path: Path, docker: FakeDocker) -> None:
    followed: list[str] = []
    play(stack_in(tmp_path, followed), fault("restart"))
    assert [line for line in docker.asked if line.startswith("restart")] == [
        "restart --time 7 shedlab-run-b-1-worker-1"
    ]
    # Followed anew, and told to the journal once.
    assert sum(line == "logs --follow shedlab-run-b-1-worker-1" for line in docker.asked) >= 2
    assert followed.count("worker-1") == 1


def test_a_pause_is_lifted_only_where_there_is_one(tmp_path: Path, docker: FakeDocker) -> None:
    play(stack_in(tmp_path, []), fault("pause"))
    asked = [line.split()[0] for line in docker.asked]
    assert "pause" in asked
    assert "unpause" not in asked


def test_all_of_a_stack_is_removed_at_its_end(tmp_path: Path, docker: FakeDocker) -> None:
    play(stack_in(tmp_path, []))
    assert any("down --volumes --remove-orphans" in line and "shedlab-run-b-1" in line for line in docker.asked)
