"""The doctor: a line per check, a remedy for each problem, and the exit code that says whether drills can run."""

import json
from pathlib import Path

import pytest

from lab.contract.names import EXIT_COULD_NOT_RUN, EXIT_OK
from lab.desk import doctor
from lab.desk.doctor_engine import engine_findings
from lab.desk.finding import Finding
from lab.drill.testbed import StackError
from tests.unit.fake_docker import FakeDocker

INFO = {"ServerVersion": "27.1", "NCPU": 4, "MemTotal": 8_000_000_000, "SystemTime": "2020-01-01T00:00:00.123456789Z"}
CONFIG = {"services": {"gate": {"image": "shedlab/gate:dev", "ports": [{"published": "1"}]}}}


def found(*findings: Finding) -> tuple[object, ...]:
    return tuple(lambda finding=finding: finding for finding in findings)


@pytest.fixture(autouse=True)
def _no_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "engine_findings", list)


def test_a_sound_machine_is_exit_code_0(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "CHECKS", found(Finding("cores", ok=True, found="4", remedy="buy more")))
    assert doctor.doctor() == EXIT_OK
    assert capsys.readouterr().out == "ok       cores: 4\n"


def test_a_problem_is_told_with_its_remedy(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    findings = (Finding("cores", ok=True, found="4"), Finding("disk", ok=False, found="full", remedy="free 0.5 GB"))
    monkeypatch.setattr(doctor, "CHECKS", found(*findings))
    assert doctor.doctor() == EXIT_COULD_NOT_RUN
    assert capsys.readouterr().out.splitlines() == ["ok       cores: 4", "PROBLEM  disk: full; free 0.5 GB"]


def test_every_check_of_this_machine_has_an_answer() -> None:
    subjects = [check().subject for check in doctor.CHECKS]
    assert subjects == [
        *("python", "cores", "memory", "disk", "reports", "redis", "toxiproxy", "ports", "clock", "leftovers")
    ]


def test_reports_that_cannot_be_a_folder_are_a_problem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("in the way", encoding="utf-8")
    monkeypatch.setenv("SHEDLAB_REPORTS", str(tmp_path / "file" / "reports"))
    finding = next(finding for check in doctor.CHECKS if (finding := check()).subject == "reports")
    assert not finding.ok
    assert "Not a directory" in finding.found
    assert "SHEDLAB_REPORTS" in finding.remedy


def test_a_machine_without_redis_is_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    def none() -> None:
        raise StackError("no Redis")

    monkeypatch.setattr(doctor, "redis_program", none)
    finding = next(finding for check in doctor.CHECKS if (finding := check()).subject == "redis")
    assert (finding.ok, finding.found, finding.remedy) == (False, "no Redis", "install redis-server")


def test_a_machine_without_an_engine_can_run_drills_and_is_told_how_to_get_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    FakeDocker(tmp_path, monkeypatch, {"info": (1, "", "Cannot connect to the Docker daemon\n")})
    (finding,) = engine_findings()
    assert finding.line().startswith("note     engine: docker info: Cannot connect to the Docker daemon; start Docker")
    assert not finding.needed


def test_an_engine_that_the_client_tells_of_without_reaching_it_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    FakeDocker(tmp_path, monkeypatch, {"info": (0, json.dumps({"ServerErrors": ["no such socket"]}), "")})
    (finding,) = engine_findings()
    assert (finding.ok, finding.found) == (False, "no such socket")


def test_each_thing_that_an_engine_lacks_has_a_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answers = {
        "info": (0, json.dumps(INFO), ""),
        "compose version": (0, "2.12.1\n", ""),
        "image inspect": (1, "", "no such image\n"),
        "compose --file": (0, json.dumps(CONFIG), ""),
    }
    FakeDocker(tmp_path, monkeypatch, answers)
    lines = {finding.subject: finding.line() for finding in engine_findings()}
    assert list(lines) == ["engine", "compose", "engine memory", "engine clock", "images", "bench ports"]
    assert lines["engine"] == "ok       engine: Docker 27.1, 4 cores"
    assert lines["compose"].startswith("note     compose: 2.12.1; install Docker Compose 2.")
    assert lines["engine memory"].startswith("ok ")
    assert lines["engine clock"].endswith("; restart the engine")
    assert lines["images"].startswith("note     images: missing: shedlab/gate:dev; make images")
