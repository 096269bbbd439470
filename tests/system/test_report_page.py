"""The report in a real browser, on a phone and on paper: nothing is wider than the page."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from lab.reporter.build import build_report
from tests.journals import SMALL, arm_events, small, write_arm

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
# Set where CI promises a browser, so that its absence fails instead of skipping.
REQUIRE = "LAB_REQUIRE_CHROMIUM"
PHONE_PX = 390
# Letter, the narrower of the two common sheets across, less a browser's margins of 0.4 inch.
PAPER_PX = 739
# A frame is as narrow as a phone, where a headless window has a least width of its own.
FRAME = """<!doctype html><body><iframe src="{page}" style="width:{width}px;height:800px;border:0"></iframe>
<script>onload = () => {{
  const page = document.querySelector("iframe").contentDocument;
  if ({print}) for (const style of page.querySelectorAll("style"))
    style.textContent = style.textContent.replace("@media print", "@media all");
  if ({print}) for (const folded of page.querySelectorAll("details")) folded.open = true;
  document.body.dataset.width = page.documentElement.scrollWidth;
  document.body.dataset.rows = page.querySelectorAll(".deciding tbody tr").length;
}}</script>"""


def browser() -> str:
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        assert not os.environ.get(REQUIRE), f"there is none of {', '.join(BROWSERS)} on PATH, and {REQUIRE} is set"
        pytest.skip("there is no chromium on PATH")
    return found


def page_of(run_dir: Path, letters: str) -> Path:
    others = "".join(
        f"  {letter}: {{kind: queue_age, max_age: {300 + 50 * n}ms}}\n" for n, letter in enumerate(letters[2:])
    )
    scenario, text = small(SMALL.replace("expect:\n", f"{others}expect:\n"))
    for letter in letters:
        write_arm(run_dir, f"{letter}-1", list(arm_events(scenario, text, letter, rate_per_s=3.0)))
    return build_report(run_dir).html


@pytest.mark.parametrize("letters", ["ABCD", "ABCDEFGH"])
def test_on_a_phone_the_page_needs_no_sideways_scroll(tmp_path: Path, letters: str) -> None:
    assert widest_of(page_of(tmp_path, letters), PHONE_PX) <= PHONE_PX


@pytest.mark.parametrize("letters", ["ABCD", "ABCDEFGH"])
def test_on_paper_nothing_is_cut_off(tmp_path: Path, letters: str) -> None:
    assert widest_of(page_of(tmp_path, letters), PAPER_PX, on_paper=True) <= PAPER_PX


def widest_of(page: Path, width_px: int, *, on_paper: bool = False) -> int:
    """How wide a page becomes in so wide a frame, in pixels; on paper with everything unfolded."""
    program = browser()
    frame = page.with_name("frame.html")
    frame.write_text(FRAME.format(page=page.as_uri(), width=width_px, print=str(on_paper).lower()))
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--allow-file-access-from-files"]
    own = f"--user-data-dir={page.with_name('profile')}"
    shown = subprocess.run(
        [program, *flags, own, "--virtual-time-budget=10000", "--dump-dom", frame.as_uri()],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    ).stdout
    told = dict(re.findall(r'data-(width|rows)="(\d+)"', shown))
    assert told["rows"] == "8"
    return int(told["width"])
