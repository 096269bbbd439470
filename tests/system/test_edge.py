"""The edge on both testbeds: a switch loses nothing, and what a dead gate loses it says itself."""

import json
import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from lab.drill.testbed.ports import LOOPBACK
from tests.system.containers import ROOT, Bench, docker, on_engine, own_bench, require_engine
from tests.system.drills import Run, check, events, interrupt, report, stack_processes, start

pytestmark = [pytest.mark.system, pytest.mark.timeout(240)]
BOTH = pytest.mark.parametrize("runtime", ["local", "compose"])

DRILL = """
name: edge_drill
summary: A short drill with an edge, for the lab's own tests.
slo: {{measure: ttft, percentile: 95, within: 10s}}
stack: {{workers: 2, slots: 2, drain: 10s, {stack}}}
workload:
  seed: 3
  duration: {duration}
  arrivals: {{kind: constant, rate: 8/s}}
  classes:
    small:
      output_tokens: {{kind: constant, value: 8}}
      service: {{kind: constant, time: 100ms, first_token: 40ms}}
      deadline: 20s
faults: {faults}
policies:
  A: {{kind: none}}
"""
# The gate dies between two requests, which are due every 125 ms, and is routed past a second later.
INCIDENT = """
  - {kind: process, at: 1060ms, for: 3s, service: gate, action: kill}
  - {kind: route, at: 2060ms, for: 6s, to: bypass}
"""


def write(folder: Path, *, stack: str = "edge: true", duration: str = "10s", faults: str = "[]") -> Path:
    path = folder / "edge_drill.yaml"
    path.write_text(DRILL.format(stack=stack, duration=duration, faults=faults), encoding="utf-8")
    return path


def need(runtime: str) -> None:
    """Skips where the testbed has no edge, and fails there where one is promised."""
    if runtime == "compose":
        require_engine()
    elif shutil.which("nginx") is None:
        assert not os.environ.get("LAB_REQUIRE_NGINX"), "CI promises nginx and it is not on PATH"
        pytest.skip("no nginx on PATH")


def without_nginx(folder: Path) -> str:
    """A PATH on which there is everything but nginx: the folders that hold one, as folders of links to all else."""
    kept = []
    for number, place in enumerate(os.environ["PATH"].split(os.pathsep)):
        if not (Path(place) / "nginx").exists():
            kept.append(place)
            continue
        others = folder / f"path-{number}"
        others.mkdir()
        for program in Path(place).iterdir():
            if program.name != "nginx":
                (others / program.name).symlink_to(program)
        kept.append(str(others))
    return os.pathsep.join(kept)


@BOTH
def test_what_comes_between_the_gates_death_and_the_switch_is_lost_and_nothing_else(
    tmp_path: Path, runtime: str
) -> None:
    need(runtime)
    run = start(write(tmp_path, faults=INCIDENT), tmp_path / "reports", runtime=runtime)
    code, said = run.finish(120)
    assert code == 0, said
    (arm,) = report(run.run_dir)["arms"]
    assert arm["ledger"]["balanced"], arm["ledger"]["discrepancies"]
    killed, switched = (
        next(e["applied_at"] for e in events(run, "A-1", "fault") if e["kind"] == kind and e["action"] == "inject")
        for kind in ("process", "route")
    )
    requests = events(run, "A-1", "request")
    lost = [request for request in requests if request["status"] != 202]
    assert {(request["status"], request["reason"]) for request in lost} == {(502, "route_unreachable")}
    assert all(killed - 0.3 < request["sent_at"] < switched for request in lost), (killed, switched, lost)
    assert {e["request_id"] for e in events(run, "A-1", "refusal") if e["source"] == "edge-1"} == {
        request["request_id"] for request in lost
    }
    assert {e["source"] for e in events(run, "A-1", "decision")} == {"gate-1", "enqueue-1"}
    assert check(run, "A-1", "clean_state")["evidence"]["route"] == "gate"
    assert_nothing_left(run, runtime)


@BOTH
def test_an_interrupt_while_the_route_leads_past_the_gate_leads_it_back_and_leaves_nothing(
    tmp_path: Path, runtime: str
) -> None:
    need(runtime)
    faults = "[{kind: route, at: 1s, for: 20s}]"
    run = start(write(tmp_path, duration="25s", faults=faults), tmp_path / "reports", runtime=runtime)
    run.await_event("A-1", lambda event: event["event"] == "fault", "the switch")
    if runtime == "local":
        # Its mark is what a later run would find it by, should this one die.
        assert any("nginx" in process.name() for process in stack_processes(run.run_dir))
    interrupt(run, signal.SIGINT)
    code, said = run.finish()
    assert code == 130, said
    assert "Traceback" not in said
    assert [event["action"] for event in events(run, "A-1", "fault")] == ["inject", "revert"]
    assert check(run, "A-1", "clean_state")["evidence"]["route"] == "gate"
    assert_nothing_left(run, runtime)


def assert_nothing_left(run: Run, runtime: str) -> None:
    assert stack_processes(run.run_dir) == []
    if runtime == "compose":
        assert on_engine(run.run_dir.resolve().name) == []


def test_without_an_nginx_the_load_goes_straight_past_the_gate_and_the_report_says_so(tmp_path: Path) -> None:
    faults = "[{kind: route, at: 500ms, for: 1s}]"
    scenario = write(tmp_path, duration="2s", faults=faults)
    run = start(scenario, tmp_path / "reports", path=without_nginx(tmp_path))
    code, said = run.finish()
    assert code == 0, said
    assert {event["source"] for event in events(run, "A-1", "decision") if "probe" not in event["request_id"]} == {
        "enqueue-1"
    }
    assert "no nginx on PATH" in events(run, "A-1", "run")[0]["versions"]["edge"]
    page = (run.run_dir / "report.html").read_text(encoding="utf-8")
    assert "the load goes straight to the enqueue endpoint, past the gate" in page


@pytest.mark.parametrize(
    ("declared", "status", "reason"),
    [
        ("closed", 503, "queue_unreachable"),
        ("reject", 429, "queue_unreachable"),
        # The enqueue endpoint has lost the same Redis.
        ("bypass", 429, "queue_unreachable"),
    ],
)
def test_a_gate_whose_redis_was_killed_answers_as_the_scenario_declares(
    tmp_path: Path, declared: str, status: int, reason: str
) -> None:
    faults = "[{kind: process, at: 1060ms, for: 2s, service: redis, action: kill}]"
    scenario = write(tmp_path, stack=f"on_queue_failure: {declared}", duration="5s", faults=faults)
    run = start(scenario, tmp_path / "reports")
    _, said = run.finish()
    killed, back = (event["applied_at"] for event in events(run, "A-1", "fault"))
    # From when the gate has noticed until the server is there again.
    within = [e for e in events(run, "A-1", "request") if e["sent_at"] and killed + 0.5 < e["sent_at"] < back - 0.2]
    assert within, said
    assert {(request["status"], request["reason"]) for request in within} == {(status, reason)}
    assert stack_processes(run.run_dir) == []


def test_the_shipped_configuration_is_sound_in_its_image_read_only_and_as_no_root() -> None:
    require_engine()
    mount = f"{ROOT / 'deploy' / 'nginx.conf'}:/etc/nginx/nginx.conf:ro"
    hardened = ("--read-only", "--tmpfs", "/tmp", "--user", "10001:10001", "--cap-drop", "ALL", "--network", "none")  # noqa: S108 - of the container
    image = os.environ.get("NGINX_IMAGE", "nginx:1.26-alpine")
    docker("run", "--rm", *hardened, "--volume", mount, "--entrypoint", "nginx", image, "-e", "stderr", "-t")


@pytest.fixture
def bench() -> Iterator[Bench]:
    with own_bench("edge", "edge") as made:
        yield made


def test_on_the_bench_one_command_leads_past_a_dead_gate_and_one_back(bench: Bench) -> None:
    bench.compose("--profile", "edge", "up", "--detach", "--wait", "--wait-timeout", "60")
    edge = f"http://{LOOPBACK}:{bench.variables['EDGE_PORT']}"
    assert (said(f"{edge}/route"), post(f"{edge}/v1/jobs", "by-gate")) == ("gate", 202)
    bench.compose("exec", "edge", "touch", "/tmp/bypass")  # noqa: S108 - in the container
    bench.compose("kill", "gate")
    assert (said(f"{edge}/route"), post(f"{edge}/v1/jobs", "past-gate")) == ("bypass", 202)
    bench.compose("--profile", "edge", "up", "--detach", "--wait", "--wait-timeout", "60")
    bench.compose("exec", "edge", "rm", "-f", "/tmp/bypass")  # noqa: S108 - in the container
    assert (said(f"{edge}/route"), post(f"{edge}/v1/jobs", "by-gate-again")) == ("gate", 202)
    assert httpx.get(f"{edge}/admin/policy").status_code == 404
    for service in ("edge", "enqueue"):
        told = json.loads(docker("inspect", "--format", "{{json .}}", f"{bench.project}-{service}-1"))
        assert told["HostConfig"]["ReadonlyRootfs"], service
        assert told["HostConfig"]["CapDrop"] == ["ALL"], service
        assert told["Config"]["User"] == "10001:10001", service
        assert docker("exec", f"{bench.project}-{service}-1", "id", "-u").strip() == "10001"


def said(url: str) -> str:
    return httpx.get(url, timeout=5).raise_for_status().text.strip()


def post(url: str, request_id: str) -> int:
    body = {"request_id": request_id, "deadline_s": 60, "max_output_tokens": 1, "work_s": 0.1, "first_token_s": 0.05}
    return httpx.post(url, json=body, timeout=5).status_code
