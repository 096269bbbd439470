"""The plan of a drill: how many arms fit, where a run is written."""

import re
from pathlib import Path

import pytest

from lab.contract.messages import ScheduledRequest
from lab.drill.plan import PEAK_WINDOW_S, Schedule, affordable_arms, new_run_dir, peak_rate
from lab.drill.request import DrillError


def request_due(due_s: float) -> ScheduledRequest:
    return ScheduledRequest(
        request_id="r1",
        due_s=due_s,
        job_class="a",
        tenant="t",
        input_tokens=1,
        output_tokens=1,
        work_s=0.1,
        first_token_s=0.1,
        deadline_s=1,
    )


def schedules(peak_rate_per_s: float) -> dict[int, Schedule]:
    return {1: Schedule(Path("schedule-1.jsonl"), "0", 1, peak_rate_per_s, {})}


def test_the_peak_rate_is_that_of_the_densest_window() -> None:
    sparse = [request_due(second) for second in range(10)]
    dense = [request_due(20 + step / 10) for step in range(20)]
    assert peak_rate((*sparse, *dense)) == 20 / PEAK_WINDOW_S


def test_an_empty_schedule_has_no_peak() -> None:
    assert peak_rate(()) == 0


def test_more_cores_carry_more_arms_and_a_higher_rate_fewer() -> None:
    assert affordable_arms(8, schedules(20)) > affordable_arms(2, schedules(20)) > affordable_arms(2, schedules(60))


def test_one_arm_always_plays_however_heavy() -> None:
    assert affordable_arms(1, schedules(10_000)) == 1


def test_two_cores_carry_the_flagships_four_arms() -> None:
    assert affordable_arms(2, schedules(12)) >= 4


def test_runs_of_the_same_second_get_folders_of_their_own_and_latest_is_the_newest(tmp_path: Path) -> None:
    first, second = (new_run_dir(tmp_path / "reports", "drill") for _ in range(2))
    assert first != second
    assert (tmp_path / "reports" / "latest").resolve() == second.resolve()


def test_runs_of_two_checkouts_of_the_same_second_have_ids_of_their_own(tmp_path: Path) -> None:
    """A run's id names its Compose projects, and two checkouts may share an engine."""
    ids = {new_run_dir(tmp_path / checkout, "drill").name for checkout in ("one", "two", "three")}
    assert len(ids) == 3
    # Lower case, digits, hyphens and underscores are what Compose takes.
    assert all(re.fullmatch(r"\d{8}-\d{6}-drill-[0-9a-f]{6}", run_id) for run_id in ids)


def test_reports_that_is_a_file_is_refused_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "reports").write_text("in the way", encoding="utf-8")
    with pytest.raises(DrillError, match="reports cannot be written"):
        new_run_dir(tmp_path / "reports", "drill")
