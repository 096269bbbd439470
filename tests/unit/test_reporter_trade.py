"""The page's first picture and the rows that decide: their numbers, their order, four policies or eight."""

import itertools
import math
import re
from dataclasses import replace
from pathlib import Path

import pytest

from lab.reporter.arm import ArmReport, report_arm
from lab.reporter.build import build_report
from lab.reporter.deciding import DECIDING_ROWS, deciding_rows
from lab.reporter.interval import Interval
from lab.reporter.labels import place_labels
from lab.reporter.plots import columns_of, draw_figures
from lab.reporter.read import read_arm
from lab.reporter.trade import TradePoint, trade_of
from lab.reporter.trade_plot import draw_trade
from lab.reporter.wording import measured
from tests.journals import SMALL, arm_events, small, small_run, write_arm

EIGHT = "ABCDEFGH"
POINT = TradePoint("A", "none", 0.1, 2.0, Interval(1.5, 2.5), 2.6, "held", too_close=False)


@pytest.fixture(scope="module")
def eight_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    others = "".join(
        f"  {letter}: {{kind: queue_age, max_age: {200 + 100 * n}ms}}\n" for n, letter in enumerate("CDEFGH")
    )
    scenario, text = small(SMALL.replace("expect:\n", f"{others}expect:\n"))
    run_dir = tmp_path_factory.mktemp("eight")
    for letter in EIGHT:
        write_arm(run_dir, f"{letter}-1", list(arm_events(scenario, text, letter, rate_per_s=3.0)))
    build_report(run_dir)
    return run_dir


def arms_of(run_dir: Path, letters: str) -> tuple[ArmReport, ...]:
    journals = [read_arm(run_dir / f"{letter}-1") for letter in letters]
    return tuple(report_arm(journal, journal.header) for journal in journals if journal.header)


def test_cards_come_first_then_the_trade_the_pictures_the_rows_that_decide_and_the_folded_rest(tmp_path: Path) -> None:
    build_report(small_run(tmp_path))
    page = (tmp_path / "report.html").read_text()
    marks = ('class="verdicts"', 'id="trade"', 'id="figures"', "comparison deciding", "Every measure", 'class="tables"')
    places = [page.index(mark) for mark in marks]
    assert places == sorted(places)
    # Nothing but the rows that decide stands open before what explains them.
    assert page[page.index('class="verdicts"') : page.index('class="tables"')].count("<table") == 1


def test_eight_rows_decide_each_with_a_cell_per_policy(eight_dir: Path) -> None:
    rows = deciding_rows(arms_of(eight_dir, EIGHT))
    assert len(rows) == DECIDING_ROWS == 8
    assert all(len(row.cells) == len(row.intervals) == 8 for row in rows)
    assert [(row.measure.name, row.where) for row in rows][:3] == [
        ("shed_rate", "in the fault"),
        ("slo_percentile_s", "in the baseline"),
        ("slo_percentile_s", "in the fault"),
    ]


def test_a_drill_without_a_fault_has_eight_rows_too(tmp_path: Path) -> None:
    small_run(tmp_path)
    arms = tuple(
        replace(arm, phases={name: phase for name, phase in arm.phases.items() if name in ("all", "baseline")})
        for arm in arms_of(tmp_path, "AB")
    )
    assert len(deciding_rows(arms)) == DECIDING_ROWS
    assert trade_of(arms).phase == "all"


def test_each_point_is_the_arms_own_numbers_and_its_text_says_them(tmp_path: Path) -> None:
    small_run(tmp_path)
    arms = arms_of(tmp_path, "AB")
    figure, points = draw_trade(trade_of(arms)), trade_of(arms).points
    assert figure is not None
    for arm, point in zip(arms, points, strict=True):
        numbers = arm.phases["fault"].numbers
        assert (point.shed_ratio, point.value_s) == (numbers["shed_rate"], numbers["slo_percentile_s"])
        assert point.interval == arm.judgement.intervals["fault"]
        assert point.verdict == arm.judgement.verdict
        assert f"{point.letter} sheds {measured(point.shed_ratio, 'ratio')}" in figure.alt
        assert point.value_s is not None
        assert measured(point.value_s, "s") in figure.alt


def test_the_feasible_side_is_shaded_and_the_slo_is_a_line(tmp_path: Path) -> None:
    small_run(tmp_path)
    figure = draw_trade(trade_of(arms_of(tmp_path, "AB")))
    assert figure is not None
    assert "var(--good)" in figure.svg
    assert "var(--vermilion)" in figure.svg
    assert figure.legend[0].text == "SLO, 1 s"


def test_every_policy_has_its_letter_in_the_picture(eight_dir: Path) -> None:
    figure = draw_trade(trade_of(arms_of(eight_dir, EIGHT)))
    assert figure is not None
    assert [letter for letter in EIGHT if re.search(rf">{letter}<", figure.svg)] == list(EIGHT)


@pytest.mark.parametrize(
    ("point", "words"),
    [
        (POINT, "A sheds 10.0 % for 2.00 s (1.50 s to 2.50 s): held"),
        (replace(POINT, too_close=True), "A sheds 10.0 % for 2.00 s (1.50 s to 2.50 s): held, too close to call"),
        (
            replace(POINT, interval=Interval(1.5, None)),
            "A sheds 10.0 % for 2.00 s (from 1.50 s, not known above; the slowest job took 2.60 s): held",
        ),
        (replace(POINT, value_s=math.inf), "A sheds 10.0 % for an infinite time: too many jobs failed: held"),
        (replace(POINT, value_s=None, verdict="breached"), "A sheds 10.0 % and admitted nothing: breached"),
    ],
)
def test_what_is_infinite_or_not_known_is_said_as_such(point: TradePoint, words: str) -> None:
    assert point.words() == words


@pytest.mark.parametrize("spread", [0.0, 5.0, 40.0])
def test_labels_of_points_close_together_cover_neither_each_other_nor_a_point(spread: float) -> None:
    points = [(100 + spread * n, 100.0) for n in range(8)]
    labels = place_labels(points, [], 18.0, 400.0, 200.0)
    for one, other in itertools.combinations(labels, 2):
        assert abs(one[0] - other[0]) >= 15 or abs(one[1] - other[1]) >= 15
    assert all(9 <= x <= 391 and 9 <= y <= 191 for x, y in labels)


def test_a_label_keeps_clear_of_a_bar() -> None:
    bar = [(118.0, 10.0 * step) for step in range(20)]
    ((x, _),) = place_labels([(100.0, 100.0)], bar, 18.0, 400.0, 200.0)
    assert abs(x - 118) >= 18


@pytest.mark.parametrize(("policies", "columns"), [(1, 1), (4, 4), (5, 3), (8, 4), (9, 3)])
def test_panels_stand_in_rows_that_a_page_shows_whole(policies: int, columns: int) -> None:
    assert columns_of(policies) == columns


def test_eight_policies_have_a_panel_each_in_every_picture(eight_dir: Path) -> None:
    for figure in draw_figures(arms_of(eight_dir, EIGHT)):
        assert [letter for letter in EIGHT if f">{letter} · " in figure.svg] == list(EIGHT)
