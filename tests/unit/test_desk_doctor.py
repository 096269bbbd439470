"""The doctor: a line per check, a remedy for each problem, and the exit code that says whether drills can run."""

import json
from pathlib import Path

import pytest

from lab.contract.names import EXIT_COULD_NOT_RUN, EXIT_OK
from lab.desk import doctor, doctor_engine
from lab.desk.doctor_engine import engine_findings
from lab.desk.finding import Finding
from lab.drill.testbed import StackError
from lab.drill.testbed.engine import compose_command
from tests.unit.fake_docker import FakeDocker

INFO = {"ServerVersion": "27.1", "NCPU": 4, "MemTotal": 8_000_000_000, "SystemTime": "2020-01-01T00:00:00.123456789Z"}
CONFIG = {"services": {"gate": {"image": "shedlab/gate:dev", "ports": [{"published": "1"}]}}}

# 2026-11-30T08:11:33.04Z
AT = 1_796_026_293.04


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
    assert lines["images"].startswith("note     images: missing: shedlab/gate:dev; the first drill on compose makes")


def config(*published: str) -> str:
    ports = [{"target": 80, "published": each} if each else {"target": 80} for each in published]
    return json.dumps({"services": {"gate": {"image": "shedlab/gate:dev", "ports": ports}}})


def lines_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answers: dict[str, tuple[int, str, str]]
) -> dict[str, str]:
    """The findings by subject, where docker answers as a sound one without a bench that is up, but for `answers`."""
    sound = {
        "info": (0, json.dumps(INFO), ""),
        "compose version": (0, "2.26.1\n", ""),
        " ".join(compose_command("shedlab", "ps")): (0, "", ""),
        "compose --file": (0, config("1"), ""),
    }
    FakeDocker(tmp_path, monkeypatch, {**sound, **answers})
    return {finding.subject: finding.line() for finding in engine_findings()}


@pytest.mark.parametrize(
    "says",
    [
        "2026-11-30T10:11:33.040577003+02:00",
        "2026-11-30T08:11:33.040577003Z",
        "2026-11-30T08:11:33.04Z",
        "2026-11-30T01:11:33-07:00",
    ],
)
def test_an_engines_clock_is_read_with_its_offset(says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.time", lambda: AT)
    told = (0, json.dumps(INFO | {"SystemTime": says}), "")
    assert lines_with(tmp_path, monkeypatch, {"info": told})["engine clock"].startswith("ok       engine clock: ")


@pytest.mark.parametrize("says", ["", "yesterday", "2026-11-30T08:11:33.040577003"])
def test_an_engines_clock_that_says_no_moment_is_told_as_it_is(
    says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = (0, json.dumps(INFO | {"SystemTime": says}), "")
    line = lines_with(tmp_path, monkeypatch, {"info": told})["engine clock"]
    assert line == f"note     engine clock: it says {says!r}; update Docker"


@pytest.mark.parametrize(
    ("published", "busy", "line"),
    [
        (("8080-8082", "9000"), {8080}, "ok       bench ports: free: 8080-8082, 9000"),
        (("8080-8082", "9000"), {8080, 8081, 8082}, "note     bench ports: taken: 8080-8082 (gate); name others in"),
        (("8080", ""), {8080}, "note     bench ports: taken: 8080 (gate); name others in"),
        (("",), set(), "ok       bench ports: free: any"),
        (("eighty",), set(), "note     bench ports: docker answers what the doctor does not know: ValueError("),
    ],
)
def test_the_benchs_ports_may_be_ranges_or_left_to_the_engine(
    published: tuple[str, ...], busy: set[int], line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor_engine, "_is_free", lambda port: port not in busy)
    lines = lines_with(tmp_path, monkeypatch, {"compose --file": (0, config(*published), "")})
    assert lines["bench ports"].startswith(line)


def test_a_check_that_breaks_is_one_finding_and_the_others_stand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = {
        "info": (0, json.dumps(INFO | {"MemTotal": None}), ""),
        "compose version": (1, "", "broken plugin\n"),
    }
    lines = lines_with(tmp_path, monkeypatch, answers)
    assert lines["compose"].startswith("note     compose: docker compose: broken plugin; update Docker")
    assert lines["engine memory"].startswith(
        "note     engine memory: docker answers what the doctor does not know: Type"
    )
    assert {subject for subject, line in lines.items() if line.startswith("ok ")} == {"engine", "images", "bench ports"}


def test_a_compose_file_that_cannot_be_read_leaves_what_the_engine_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = lines_with(tmp_path, monkeypatch, {"compose --file": (1, "", "invalid hostPort: x\n")})
    assert list(lines) == ["engine", "compose", "engine memory", "engine clock", "bench"]
    assert lines["bench"].startswith("note     bench: docker compose: invalid hostPort: x; ")
