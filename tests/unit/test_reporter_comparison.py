from pathlib import Path

import pytest

from lab.reporter.arm import ArmReport, report_arm
from lab.reporter.comparison import Cell, PhaseTable, compare, typical
from lab.reporter.read import read_arm
from lab.reporter.wording import listed, measured, signed
from tests.journals import small_run


@pytest.fixture(scope="module")
def arms(tmp_path_factory: pytest.TempPathFactory) -> tuple[ArmReport, ...]:
    run_dir = small_run(tmp_path_factory.mktemp("run"), repeats=3)
    return tuple(_arm(run_dir / f"{letter}-{repeat}") for letter in "AB" for repeat in (1, 2, 3))


def _arm(folder: Path) -> ArmReport:
    journal = read_arm(folder)
    assert journal.header is not None
    return report_arm(journal, journal.header)


def cells(tables: tuple[PhaseTable, ...], phase: str, measure: str) -> tuple[Cell, ...]:
    table = next(table for table in tables if table.phase == phase)
    return next(row.cells for row in table.rows if row.measure.name == measure)


def test_the_whole_comes_first_then_the_phase_where_policies_differ_most(arms: tuple[ArmReport, ...]) -> None:
    assert [table.phase for table in compare(arms)] == ["all", "fault", "baseline", "recovery"]


def test_the_best_is_marked_and_differences_are_to_the_policy_that_admits_everything(
    arms: tuple[ArmReport, ...],
) -> None:
    none, age = cells(compare(arms), "fault", "p95_ttft_s")
    assert (none.best, age.best) == (False, True)
    assert none.delta == ""
    assert age.delta.startswith("−")  # noqa: RUF001 - the minus as printed
    none, age = cells(compare(arms), "fault", "shed_rate")
    assert (none.best, age.best) == (True, False)
    assert age.delta.startswith("+")
    assert age.delta.endswith(" pt")


def test_repeats_are_the_median_with_their_range(arms: tuple[ArmReport, ...]) -> None:
    several = sorted(arm.phases["fault"].numbers["p95_ttft_s"] or 0.0 for arm in arms[:3])
    cell = cells(compare(arms), "fault", "p95_ttft_s")[0]
    assert cell.text == measured(several[1], "s")
    assert cell.spread == f"{measured(several[0], 's')} to {measured(several[2], 's')}"
    assert typical(arms[:3], "fault", "p95_ttft_s") == several[1]


def test_what_is_the_same_for_all_has_no_best_and_counts_have_none_either(arms: tuple[ArmReport, ...]) -> None:
    tables = compare(arms[:1] + arms[3:4])
    assert not any(cell.best for cell in cells(tables, "baseline", "deadline_miss_rate"))
    assert not any(cell.best for cell in cells(tables, "fault", "admitted"))


def test_a_percentile_that_rests_on_few_samples_is_marked(arms: tuple[ArmReport, ...]) -> None:
    assert all(cell.few for cell in cells(compare(arms), "fault", "p99_ttft_s"))
    assert not any(cell.few for cell in cells(compare(arms), "all", "p50_ttft_s"))
    assert not any(cell.few for cell in cells(compare(arms), "fault", "peak_queue_age_s"))


def test_errors_have_a_row_only_where_there_are_any(arms: tuple[ArmReport, ...]) -> None:
    names = [row.measure.name for row in compare(arms)[0].rows]
    assert "refused_in_error" not in names
    assert "recovery_time_s" in names
    assert "recovery_time_s" not in [row.measure.name for row in compare(arms)[1].rows]


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (None, "s", "–"),  # noqa: RUF001 - the dash as printed
        (float("inf"), "s", "∞"),
        (1.234, "s", "1.23 s"),
        (1234.5, "s", "1,234 s"),
        (0.1234, "ratio", "12.3 %"),
        (1234, "count", "1,234"),
        (4.000001, "count", "4"),
        (9.5, "per_s", "9.50/s"),
    ],
)
def test_numbers_read_with_their_unit(value: float | None, unit: str, text: str) -> None:
    assert measured(value, unit) == text


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0.25, "ratio", "+25.0 pt"),
        (-1.5, "s", "−1.50 s"),  # noqa: RUF001 - the minus as printed
        (-0.0001, "s", "±0.00 s"),
        (float("inf"), "s", "+∞ s"),
    ],
)
def test_differences_read_with_their_sign(value: float, unit: str, text: str) -> None:
    assert signed(value, unit) == text


def test_lists_read_as_people_write_them() -> None:
    assert [listed(words) for words in ([], ["A"], ["A", "B"], ["A", "B", "C"])] == ["", "A", "A and B", "A, B and C"]
