"""`shedlab derive`."""

from pathlib import Path

import pytest

from lab.__main__ import main
from lab.contract.loading import load_scenario
from lab.contract.names import EXIT_COULD_NOT_RUN, EXIT_OK, EXIT_USAGE
from lab.contract.policy_spec import QueueAgePolicy, QueueDepthPolicy
from tests.journals import SMALL, small_run

WITH_DEPTH = SMALL.replace("policies:\n", "policies:\n  C: {kind: queue_depth, max_depth: 40}  # a guess\n")


@pytest.fixture
def scenario_file(tmp_path: Path) -> Path:
    path = tmp_path / "small.yaml"
    path.write_text(WITH_DEPTH, encoding="utf-8")
    return path


def test_thresholds_are_printed_with_their_arithmetic(scenario_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["derive", str(scenario_file)]) == EXIT_OK
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "small, declared, at the heaviest load:"
    # Two slots, 1.2 s under the fault, of which 0.9 s to the first token; p80 within 1 s.
    assert lines[1] == "  load: 3.00/s x 1.20 s for 2 slots = 180% of capacity at the peak"
    assert lines[2].startswith("  age limit: 0.03 to 0.04 s: slack 1 s - 0.90 s = 0.10 s")
    assert lines[3].startswith("  depth limit: 0, as max_depth 0: 2 slots x (7.00 s - 1.20 s) / 1.20 s = 9 jobs")
    assert lines[4].startswith("  slack floor: 0.60 s, or 0.60 s: ")


def test_they_are_written_into_a_copy_that_is_called_like_its_file_and_never_over_another(
    scenario_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = tmp_path / "derived.yaml"
    assert main(["derive", str(scenario_file), "--write", str(copy)]) == EXIT_OK
    assert capsys.readouterr().out.splitlines()[-1] == f"Written: {copy}, policies C, B"
    made = load_scenario(copy).scenario
    age, depth = made.policies["B"], made.policies["C"]
    assert isinstance(age, QueueAgePolicy)
    assert isinstance(depth, QueueDepthPolicy)
    assert (made.name, age.max_age, depth.max_depth) == ("derived", 0.033, 0)
    assert age.why.startswith("Derived: slack 1 s - 0.90 s")
    assert "# a guess" in copy.read_text()
    assert main(["derive", str(scenario_file), "--write", str(copy)]) == EXIT_USAGE
    assert "cannot be written: File exists; name a file that does not exist" in capsys.readouterr().err


def test_a_run_gives_service_times_as_measured_before_any_fault_and_undoes_its_speed(
    scenario_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run_dir = small_run(tmp_path / "run", repeats=3)
    assert main(["derive", str(scenario_file), "--run", str(run_dir)]) == EXIT_OK
    normal = capsys.readouterr().out.splitlines()
    assert normal[0].startswith("small, service as measured before any fault by 20270115-080000-test, ")
    assert normal[1].startswith("  queue wait measured: p95 ")
    for journal in run_dir.glob("*/journal.jsonl"):
        journal.write_text(journal.read_text().replace('"speed":1.0', '"speed":2.0'))
    assert main(["derive", str(scenario_file), "--run", str(run_dir)]) == EXIT_OK
    fast = capsys.readouterr().out.splitlines()
    mean_s = [float(lines[2].split(" x ")[1].split(" s ")[0]) for lines in (normal, fast)]
    assert mean_s[1] == pytest.approx(2 * mean_s[0], abs=0.02)


def test_a_run_of_another_scenario_is_refused(
    scenario_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run_dir = small_run(tmp_path / "run", SMALL.replace("name: small", "name: other"), repeats=3)
    assert main(["derive", str(scenario_file), "--run", str(run_dir)]) == EXIT_COULD_NOT_RUN
    said = capsys.readouterr()
    assert said.out == ""
    assert "this is a run of other; nothing can be derived from it for small" in said.err


def test_void_arms_are_left_out_and_a_run_of_void_arms_alone_is_a_sentence(
    scenario_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run_dir = small_run(tmp_path / "run", repeats=3)
    journals = sorted(run_dir.glob("*/journal.jsonl"))
    job_counts = []
    for voided in (journals[:0], journals[:3]):
        for journal in voided:
            # Without its last line nothing says that the drill came to its end.
            journal.write_text("".join(journal.read_text().splitlines(keepends=True)[:-1]))
        assert main(["derive", str(scenario_file), "--run", str(run_dir)]) == EXIT_OK
        job_counts.append(int(capsys.readouterr().out.splitlines()[0].split(", ")[2].split()[0]))
    # Both policies let the same in before the fault.
    assert job_counts[0] == 2 * job_counts[1]
    for journal in journals[3:]:
        journal.write_text("".join(journal.read_text().splitlines(keepends=True)[:-1]))
    assert main(["derive", str(scenario_file), "--run", str(run_dir)]) == EXIT_COULD_NOT_RUN
    assert "all arms of this run are void, so nothing can be derived from it; of A-1, its" in capsys.readouterr().err


def test_a_run_in_whose_baseline_too_little_was_done_is_a_sentence(
    scenario_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "empty").mkdir()
    assert main(["derive", str(scenario_file), "--run", str(tmp_path / "empty")]) == EXIT_COULD_NOT_RUN
    assert "no journal of this run can be read" in capsys.readouterr().err
    run_dir = small_run(tmp_path / "run", SMALL.replace("at: 6s, for: 6s", "at: 1s, for: 6s"))
    assert main(["derive", str(scenario_file), "--run", str(run_dir)]) == EXIT_COULD_NOT_RUN
    assert "jobs were done in its baseline; at least 20 are needed" in capsys.readouterr().err


def test_a_scenario_without_a_threshold_that_a_rule_gives_writes_nothing(
    scenario_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scenario_file.write_text(SMALL.replace("  B: {kind: queue_age, max_age: 400ms, why", "  B: {kind: none, why"))
    copy = tmp_path / "derived.yaml"
    assert main(["derive", str(scenario_file), "--write", str(copy)]) == EXIT_USAGE
    assert "small has no policy with a threshold that can be derived" in capsys.readouterr().err
    assert not copy.exists()
