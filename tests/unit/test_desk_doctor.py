"""The doctor: a line per check, a remedy for each problem, and the exit code that says whether drills can run."""

from pathlib import Path

import pytest

from lab.contract.names import EXIT_COULD_NOT_RUN, EXIT_OK
from lab.desk import doctor
from lab.desk.doctor import Finding
from lab.drill.testbed import StackError


def found(*findings: Finding) -> tuple[object, ...]:
    return tuple(lambda finding=finding: finding for finding in findings)


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
