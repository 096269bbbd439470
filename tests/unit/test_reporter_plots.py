import re
from pathlib import Path

import pytest

from lab.reporter.arm import ArmReport, report_arm
from lab.reporter.plots import draw_figures, fault_windows
from lab.reporter.read import read_arm
from tests.journals import small_run


@pytest.fixture(scope="module")
def arms(tmp_path_factory: pytest.TempPathFactory) -> tuple[ArmReport, ...]:
    run_dir = small_run(tmp_path_factory.mktemp("run"))
    return _arm(run_dir / "A-1"), _arm(run_dir / "B-1")


def _arm(folder: Path) -> ArmReport:
    journal = read_arm(folder)
    assert journal.header is not None
    return report_arm(journal, journal.header)


def test_five_figures_are_drawn_in_the_reports_order_each_said_in_words(arms: tuple[ArmReport, ...]) -> None:
    figures = draw_figures(arms)
    assert [figure.name for figure in figures] == ["rates", "age", "depth", "utilization", "ttft"]
    for figure in figures:
        assert "A-1" in figure.alt
        assert "B-1" in figure.alt
        styles = [line.style for line in figure.legend]
        # Told apart without colour.
        assert len(styles) == len(set(styles))


def test_the_same_arms_give_the_same_drawing_that_holds_no_address_and_no_colour_of_its_own(
    arms: tuple[ArmReport, ...],
) -> None:
    first, second = draw_figures(arms), draw_figures(arms)
    for figure, again in zip(first, second, strict=True):
        assert figure.svg == again.svg
        assert "//" not in figure.svg
        assert not re.findall(r"#[0-9a-fA-F]{6}\b", figure.svg)
        assert "currentColor" in figure.svg
        assert "var(--shade)" in figure.svg
        assert "<text" in figure.svg
        assert "<style" not in figure.svg


def test_every_id_of_a_figure_is_its_own(arms: tuple[ArmReport, ...]) -> None:
    for figure in draw_figures(arms):
        named = re.findall(r'\bid="([^"]+)"', figure.svg)
        used = re.findall(r'(?:href="#|url\(#)([^")]+)', figure.svg)
        assert all(name.startswith(f"{figure.name}-") for name in named)
        assert set(used) <= set(named)


def test_the_shaded_band_is_when_the_fault_acted(arms: tuple[ArmReport, ...]) -> None:
    ((start_s, end_s),) = fault_windows(arms[0])
    assert start_s == pytest.approx(6.004, abs=1e-4)
    assert end_s == pytest.approx(12.004, abs=1e-4)
