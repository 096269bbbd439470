"""The report on a phone, in a real browser: nothing makes the page scroll sideways."""

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
# A frame is as narrow as a phone, where a headless window has a least width of its own.
FRAME = """<!doctype html><body><iframe src="{page}" style="width:{width}px;height:800px;border:0"></iframe>
<script>onload = () => {{
  const page = document.querySelector("iframe").contentDocument;
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
    program = browser()
    frame = tmp_path / "frame.html"
    frame.write_text(FRAME.format(page=page_of(tmp_path, letters).as_uri(), width=PHONE_PX))
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--allow-file-access-from-files"]
    own = f"--user-data-dir={tmp_path / 'profile'}"
    shown = subprocess.run(
        [program, *flags, own, "--virtual-time-budget=10000", "--dump-dom", frame.as_uri()],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    ).stdout
    told = dict(re.findall(r'data-(width|rows)="(\d+)"', shown))
    assert told["rows"] == "8"
    assert int(told["width"]) <= PHONE_PX
