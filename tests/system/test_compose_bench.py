"""The images and the bench of compose.yaml: what a user gets from `docker compose up`."""

import json
import os
import subprocess
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest

from tests.system.containers import ROOT, Bench, docker, own_bench, require_engine

pytestmark = [pytest.mark.system, pytest.mark.timeout(300)]
# What each image must not be able to import, of the lab and of its packages.
FORBIDDEN = {
    "gate": ("locust", "pandas", "matplotlib", "pytest", "tests", "worker", "mock_model", "loadgen", "lab.drill"),
    "worker": ("locust", "pandas", "fastapi", "gate", "mock_model", "loadgen", "lab.drill", "lab.reporter"),
    "mock-model": ("locust", "pandas", "redis", "gate", "worker", "loadgen", "lab.policies", "lab.drill"),
    "loadgen": ("pandas", "fastapi", "redis", "gate", "worker", "mock_model", "lab.policies", "lab.drill"),
    "schedule": ("locust", "pandas", "fastapi", "redis", "gate", "worker", "loadgen", "lab.drill", "lab.reporter"),
}


@pytest.fixture(autouse=True)
def _engine() -> None:
    require_engine()


@pytest.fixture
def bench() -> Iterator[Bench]:
    with own_bench("bench", "load") as made:
        yield made


def test_the_file_is_sound_with_no_environment_at_all() -> None:
    bare = {name: os.environ[name] for name in ("PATH", "HOME", "DOCKER_HOST") if name in os.environ}
    done = subprocess.run(["docker", "compose", "config", "-q"], cwd=ROOT, env=bare, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize("image", sorted(FORBIDDEN))
def test_an_image_holds_its_own_rooms_alone(image: str) -> None:
    docker("compose", "--profile", "load", "build", "--quiet", image)
    found = (
        "import importlib.util as u, sys\n"
        "def there(name):\n"
        "    try: return u.find_spec(name) is not None\n"
        "    except ModuleNotFoundError: return False\n"
        "print(*[name for name in sys.argv[1:] if there(name)])"
    )
    run = ("run", "--rm", "--network", "none", "--entrypoint", "python", f"shedlab/{image}:dev", "-c", found)
    assert docker(*run, *FORBIDDEN[image], "lab.contract").split() == ["lab.contract"]


def test_the_bench_comes_up_healthy_and_idle_with_policy_b_and_is_hardened(bench: Bench) -> None:
    bench.compose("up", "--detach", "--wait", "--wait-timeout", "60", "--scale", "worker=3")
    assert bench.get("/admin/policy")["kind"] == "queue_age"
    signals = bench.get("/signals")
    assert (signals["queue_depth"], signals["in_flight"], signals["slots"]) == (0, 0, 12)
    for service in ("redis", "toxiproxy", "mock-model", "gate", "worker"):
        told = json.loads(docker("inspect", "--format", "{{json .}}", f"{bench.project}-{service}-1"))
        host = told["HostConfig"]
        assert host["ReadonlyRootfs"], service
        assert host["CapDrop"] == ["ALL"], service
        assert host["SecurityOpt"] == ["no-new-privileges"], service
        assert min(host["Memory"], host["PidsLimit"]) > 0, service
        assert told["Config"]["User"] == "10001:10001", service
        published = [p["HostIp"] for ports in host["PortBindings"].values() for p in ports]
        assert set(published) <= {"127.0.0.1"}, service
    assert docker("exec", f"{bench.project}-gate-1", "id", "-u").strip() == "10001"


def test_a_full_queue_and_a_lost_redis_leave_the_gate_healthy(bench: Bench) -> None:
    bench.compose("up", "--detach", "--wait", "--wait-timeout", "60")
    bench.compose("pause", "worker")
    url = f"http://127.0.0.1:{bench.variables['GATE_PORT']}/v1/jobs"
    job = {"job_class": "chat", "deadline_s": 600, "max_output_tokens": 1, "work_s": 0.1, "first_token_s": 0.05}
    for number in range(30):
        body = json.dumps({**job, "request_id": f"full-{number}"}).encode()
        request = urllib.request.Request(url, body, {"content-type": "application/json"})
        with urllib.request.urlopen(request, timeout=5) as answer:  # noqa: S310 - a loopback address
            assert answer.status == 202
    assert bench.get("/signals")["queue_depth"] > 0
    await_probes(bench, 3)
    bench.compose("kill", "redis")
    bench.await_that(lambda: not bench.get("/health")["redis"], "the gate to notice that Redis is gone")
    await_probes(bench, 3)
    bench.compose("unpause", "worker")


def await_probes(bench: Bench, count: int) -> None:
    """Waits for so many further health probes of the gate; each must have found it healthy."""
    seen = {probe["End"] for probe in bench.state("gate")["Health"]["Log"]}
    fresh: list[dict[str, Any]] = []

    def enough() -> bool:
        fresh[:] = [probe for probe in bench.state("gate")["Health"]["Log"] if probe["End"] not in seen]
        return len(fresh) >= count

    bench.await_that(enough, f"{count} probes of the gate")
    assert [probe["ExitCode"] for probe in fresh] == [0] * len(fresh), fresh
    assert bench.state("gate")["Health"]["Status"] == "healthy"


def test_the_load_profile_plays_a_named_scenario_headless(bench: Bench) -> None:
    bench.compose("up", "--detach", "--wait", "--wait-timeout", "60")
    load = {"SCENARIO": "quick_check", "SPEED": "2", "LOAD_PAGE_PORT": ""}
    bench.compose("--profile", "load", "up", "--detach", "loadgen", **load)
    bench.await_that(lambda: bench.state("loadgen")["Status"] == "exited", "the load to end")
    assert bench.state("loadgen")["ExitCode"] == 0
    lines = docker("logs", f"{bench.project}-loadgen-1").splitlines()
    end = json.loads(lines[-1])
    assert end["event"] == "load_end"
    assert end["answered_count"] == end["due_count"] == len(lines) - 2


def test_the_load_generators_page_is_served_where_one_is_asked_for(bench: Bench) -> None:
    bench.compose("up", "--detach", "--wait", "--wait-timeout", "60")
    bench.compose("--profile", "load", "up", "--detach", "--wait", "--no-recreate", "loadgen", SCENARIO="quick_check")
    with urllib.request.urlopen(f"http://127.0.0.1:{bench.variables['LOCUST_PORT']}/", timeout=10) as page:
        assert b"Locust" in page.read()
    bench.compose("--profile", "load", "stop", "loadgen")
    assert bench.state("loadgen")["ExitCode"] == 0
    assert json.loads(docker("logs", f"{bench.project}-loadgen-1").splitlines()[-1])["event"] == "load_end"
