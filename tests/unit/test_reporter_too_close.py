"""A verdict that other chance could have turned says so in every file, and has an exit code of its own."""

import csv
import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from lab.contract.loading import parse_scenario
from lab.reporter.build import RunReport, build_report
from lab.reporter.measures import PhaseMeasures, Span
from lab.reporter.verdict import judge
from tests.journals import SMALL, START_AT, arm_events, small, write_arm

# Of B's jobs in the fault 80 % have their first token within 1.62 s.
CLOSE = SMALL.replace("within: 1s", "within: 1.5s").replace("B: {verdict: breached", "B: {verdict: held")


def played(run_dir: Path, text: str, letters: str = "AB", repeats: int = 1) -> RunReport:
    scenario, _ = small(text)
    for letter in letters:
        for repeat in range(1, repeats + 1):
            write_arm(run_dir, f"{letter}-{repeat}", arm_events(scenario, text, letter, repeat, rate_per_s=3.0))
    return build_report(run_dir)


def document(run_dir: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((run_dir / "report.json").read_text(), parse_constant=pytest.fail)
    return found


def test_an_expectation_contradicted_only_by_a_verdict_too_close_to_call_exits_with_4_and_a_doubt(
    tmp_path: Path,
) -> None:
    report = played(tmp_path, CLOSE)
    assert report.exit_code == 4
    (doubt,) = [doubt for doubt in report.doubts if doubt.code == "too_close_to_call"]
    assert doubt.arms == ("B-1",)
    assert "REPEATS=auto" in doubt.advice
    assert "Whether the scenario's expectations are met is too close to call: B-1." in report.answer
    assert report.rows[1][report.columns.index("verdict")] == "breached, too close"


def test_it_is_in_every_file(tmp_path: Path) -> None:
    played(tmp_path, CLOSE)
    sure, close = document(tmp_path)["arms"]
    assert (sure["too_close"], close["too_close"], close["verdict"]) == (False, True, "breached")
    assert close["phases"]["fault"]["too_close"] is True
    low_s, high_s = close["phases"]["fault"]["p80_interval_s"]
    assert low_s < 1.5
    assert high_s is None
    rows = list(csv.DictReader((tmp_path / "comparison.csv").read_text().splitlines()))
    (row,) = [row for row in rows if (row["policy"], row["phase"]) == ("B", "fault")]
    assert (row["slo_interval_low_s"], row["slo_interval_high_s"], row["too_close"]) == (str(low_s), "", "true")
    suite = ET.parse(tmp_path / "junit.xml").getroot().find("testsuite")  # noqa: S314 - our own file
    assert suite is not None
    assert (suite.get("failures"), suite.get("skipped")) == ("0", "1")
    assert "breached, too close to call" in (tmp_path / "report.html").read_text()


def test_a_sure_contradiction_beside_it_still_exits_with_1(tmp_path: Path) -> None:
    assert played(tmp_path, CLOSE.replace("A: {verdict: breached}", "A: {verdict: held}")).exit_code == 1


def test_a_void_arm_beside_it_still_exits_with_3(tmp_path: Path) -> None:
    played(tmp_path, CLOSE, "B")
    scenario, _ = small(CLOSE)
    write_arm(tmp_path, "A-1", list(arm_events(scenario, CLOSE, "A", rate_per_s=3.0))[:-1])
    assert build_report(tmp_path).exit_code == 3


def test_at_3_53_of_3_5_seconds_it_is_breached_and_too_close_to_call_and_says_between_what() -> None:
    text = SMALL.replace("percentile: 80, within: 1s", "percentile: 95, within: 3.5s")
    waits_s = tuple(3.53 + ((7 * number % 100) - 94) / 40 for number in range(600))
    numbers: dict[str, float | None] = {"offered": 600, "slo_percentile_s": 3.53}
    fault = PhaseMeasures(Span("fault", 0, 60), numbers, {}, {}, {}, waits_s)
    judgement = judge({"fault": fault}, parse_scenario(text, "small"), "B", void=False)
    assert (judgement.verdict, judgement.too_close) == ("breached", True)
    assert judgement.phases[0].sentence.startswith("fault: p95 time to first token is 3.53 s (3.")
    assert judgement.phases[0].sentence.endswith("limit 3.5 s: too close to call")


def test_a_recovery_that_never_came_and_one_that_nothing_called_for_are_told_apart(tmp_path: Path) -> None:
    scenario, text = small(SMALL)
    slow = list(arm_events(scenario, text, "A", rate_per_s=6.0))
    for event in slow:
        if event["event"] == "outcome" and event["first_token_at"] > START_AT + 12:
            event["first_token_at"] += 3.0
    write_arm(tmp_path / "slow", "A-1", slow)
    never = build_report(tmp_path / "slow")
    calm_text = "\n".join(line for line in SMALL.splitlines() if "latency" not in line and line != "faults:") + "\n"
    calm = played(tmp_path / "calm", calm_text, "A")
    column = never.columns.index("recovered in")
    assert (never.rows[0][column], calm.rows[0][column]) == ("never within the drill", "nothing to recover from")
    recovery = [document(tmp_path / name)["arms"][0]["phases"]["all"]["recovery_time_s"] for name in ("slow", "calm")]
    assert recovery == ["never", "nothing_to_recover_from"]


def test_the_answer_names_the_price_of_what_it_recommends(tmp_path: Path) -> None:
    text = (
        SMALL.replace("within: 1s", "within: 2.2s")
        .replace("expect:", "expect: {}\nclaims: []")
        .split("  A: {verdict")[0]
    )
    report = played(tmp_path, text)
    missed = {arm["policy"]: arm["phases"]["all"]["deadline_miss_rate_offered"] for arm in document(tmp_path)["arms"]}
    assert missed["A"] < missed["B"]
    assert (
        f"The price of B: it does {100 * (1 - missed['B']):.1f} % of the offered jobs within their deadlines, while A, "
        f"which does not hold the SLO, does {100 * (1 - missed['A']):.1f} %; a deadline of 7 s or more is more "
        "generous than the SLO's 2.2 s."
    ) in report.answer


def test_an_arm_that_does_most_in_time_and_holds_has_no_price(tmp_path: Path) -> None:
    report = played(tmp_path, SMALL.replace("within: 1s", "within: 6s"))
    assert not [sentence for sentence in report.answer if sentence.startswith("The price")]
