"""The report in the terminal: every arm and number is there, whatever the width, and plain without a terminal."""

from pathlib import Path

import pytest

from lab.desk.report_view import breakdown_lines, comparison_tables, print_report
from lab.reporter.build import RunReport
from lab.reporter.doubt_groups import DoubtGroup

TITLES = ("arm", "policy", "verdict", "shed")
ROWS = (
    ("A-1", "none", "breached", "0.0 %"),
    ("B-1", "queue_age", "held", "8.3 %"),
    ("C-1", "queue_depth", "breached", "3.9 %"),
    ("D-1", "utilization", "held", "[bold]14.6 %"),
)


def made_report(exit_code: int = 1) -> RunReport:
    return RunReport(
        run_dir=Path("reports/run"),
        html=Path("reports/run/report.html"),
        exit_code=exit_code,
        valid=True,
        columns=TITLES,
        rows=ROWS,
        answer=("B holds the SLO.",),
        doubts=(DoubtGroup("host_saturated", ("A-1",), "the machine was 99 % busy"),),
        breakdowns_s={"A-1": {"bring_up_s": 3.72, "run_s": 60.7}, "B-1": {}},
    )


def headers(width: int) -> list[list[str]]:
    """The arms of each table at this width."""
    return [[str(column.header) for column in table.columns[1:]] for table in comparison_tables(TITLES, ROWS, width)]


def test_all_arms_stand_side_by_side_where_the_width_allows_it() -> None:
    assert headers(80) == [["A-1", "B-1", "C-1", "D-1"]]


@pytest.mark.parametrize("width", [1, 20, 30, 40, 50, 60])
def test_a_narrow_terminal_gets_more_tables_and_loses_no_arm(width: int) -> None:
    tables = headers(width)
    assert len(tables) > 1
    assert [arm for table in tables for arm in table] == ["A-1", "B-1", "C-1", "D-1"]


def test_a_run_without_arms_has_no_table() -> None:
    assert list(comparison_tables(TITLES, (), 80)) == []


@pytest.mark.parametrize("width", ["40", "80", "200"])
def test_everything_is_printed_and_nothing_is_cut(
    width: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", width)
    print_report(made_report(), "Whole drill: 70 s")
    said = capsys.readouterr().out
    # What looks like markup is text.
    assert [cell for row in ROWS for cell in row if cell not in said] == []
    assert "B holds the SLO.\n" in said
    assert "Doubt, A-1: the machine was 99 % busy. Run fewer arms side by side" in said
    assert "Report: reports/run/report.html\n" in said
    assert said.endswith("Whole drill: 70 s\n")


def test_without_a_terminal_there_is_no_colour(capsys: pytest.CaptureFixture[str]) -> None:
    print_report(made_report())
    assert "\x1b" not in capsys.readouterr().out


def test_the_wall_time_is_broken_down_per_arm_that_was_played_to_its_end() -> None:
    assert list(breakdown_lines(made_report().breakdowns_s)) == ["Wall time of A-1: bring-up 3.7 s, run 60.7 s"]
