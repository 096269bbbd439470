import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from lab.reporter.build import ReportError, RunReport, build_report
from tests.journals import SMALL, Event, arm_events, small, small_run, write_arm

GOLDEN = Path(__file__).parent / "golden"
HOSTILE = "<script>alert(1)</script>&\"'"


def events_of(letter: str = "A", text: str = SMALL) -> list[Event]:
    scenario, text = small(text)
    return list(arm_events(scenario, text, letter, rate_per_s=3.0))


def run_of(run_dir: Path, **arms: list[Event]) -> RunReport:
    for letter, events in arms.items():
        write_arm(run_dir, f"{letter}-1", events)
    return build_report(run_dir)


def read_json(run_dir: Path) -> Event:
    document: Event = json.loads((run_dir / "report.json").read_text(), parse_constant=pytest.fail)
    return document


def without(events: list[Event], lost: Callable[[Event], bool]) -> list[Event]:
    """The events less the first that `lost` picks."""
    index = next(number for number, event in enumerate(events) if lost(event))
    return events[:index] + events[index + 1 :]


@pytest.mark.parametrize("name", ["report.json", "comparison.csv", "junit.xml"])
def test_the_report_of_a_fixed_journal_is_the_golden_one(tmp_path: Path, name: str) -> None:
    build_report(small_run(tmp_path))
    made, golden = (tmp_path / name).read_text(), GOLDEN / f"small_{name}"
    if os.environ.get("UPDATE_GOLDEN"):
        golden.write_text(made)
    assert made == golden.read_text()


def test_the_same_journals_give_the_same_page_byte_for_byte(tmp_path: Path) -> None:
    small_run(tmp_path)
    pages = []
    for _ in range(2):
        build_report(tmp_path)
        pages.append((tmp_path / "report.html").read_bytes())
    assert pages[0] == pages[1]


def test_a_run_that_does_what_is_expected_exits_with_0_and_leaves_no_file_beside_its_four(tmp_path: Path) -> None:
    report = build_report(small_run(tmp_path))
    assert report.exit_code == 0
    assert report.valid
    assert len(report.rows) == 2
    assert all(len(row) == len(report.columns) for row in report.rows)
    assert {path.name for path in tmp_path.iterdir() if path.is_file()} == {
        "report.html",
        "report.json",
        "junit.xml",
        "comparison.csv",
    }


def test_a_run_that_deviates_exits_with_1_and_its_junit_failure_names_the_measured_number(tmp_path: Path) -> None:
    text = SMALL.replace("A: {verdict: breached}", "A: {verdict: held, bounds: [{measure: shed_rate, at_least: 0.5}]}")
    report = run_of(tmp_path, A=events_of("A", text), B=events_of("B", text))
    assert report.exit_code == 1
    suite = ET.parse(tmp_path / "junit.xml").getroot().find("testsuite")  # noqa: S314 - our own file
    assert suite is not None
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("4", "2", "0")
    failures = [failure.text for failure in suite.iter("failure")]
    assert re.search(r"fault: p80 time to first token is \d+\.\d\d s \(from [^)]*\), limit 1 s", failures[0] or "")
    assert failures[1] == "shed_rate in all is 0.0 %"
    assert "Not what the scenario expects: A-1." in report.summary_lines()


LOST_LINES: dict[str, Callable[[Event], bool]] = {
    "a worker's outcome": lambda event: event["event"] == "outcome",
    "a gate's admission": lambda event: event["event"] == "decision" and event["decision"] == "admit",
    "a gate's shed": lambda event: event["event"] == "decision" and event["decision"] == "shed",
    "a client's record": lambda event: event["event"] == "request",
    "the runner's last word": lambda event: event["event"] == "phase" and event["phase"] == "done",
    "the schedule's start": lambda event: event["event"] == "schedule_start",
}


@pytest.mark.parametrize("what", LOST_LINES)
def test_losing_one_line_of_one_witness_makes_the_arm_void_and_the_exit_code_3(tmp_path: Path, what: str) -> None:
    report = run_of(tmp_path, A=events_of("A"), B=without(events_of("B"), LOST_LINES[what]))
    assert report.exit_code == 3
    assert not report.valid
    document = read_json(tmp_path)
    assert [arm["verdict"] for arm in document["arms"]] == ["breached", "void"]
    assert document["arms"][1]["void_reasons"]
    suite = ET.parse(tmp_path / "junit.xml").getroot().find("testsuite")  # noqa: S314 - our own file
    assert suite is not None
    assert suite.get("errors") == "2"
    assert "B-1 does not count" in (tmp_path / "report.html").read_text()


def test_a_journal_cut_off_in_its_last_line_is_incomplete_and_void(tmp_path: Path) -> None:
    run_dir = small_run(tmp_path)
    journal = run_dir / "B-1" / "journal.jsonl"
    journal.write_bytes(journal.read_bytes()[:-10])
    assert build_report(run_dir).exit_code == 3
    assert "incomplete" in read_json(run_dir)["arms"][1]["void_reasons"][0]


def test_a_malformed_line_in_the_middle_is_named_by_file_and_line(tmp_path: Path) -> None:
    run_dir = small_run(tmp_path)
    journal = run_dir / "B-1" / "journal.jsonl"
    lines = journal.read_text().splitlines(keepends=True)
    journal.write_text("".join([*lines[:20], "{not json\n", *lines[20:]]))
    assert build_report(run_dir).exit_code == 3
    assert "journal.jsonl:21:" in read_json(run_dir)["arms"][1]["void_reasons"][0]


def test_an_arm_whose_first_line_is_lost_is_void_and_the_others_are_reported(tmp_path: Path) -> None:
    report = run_of(tmp_path, A=events_of("A"), B=events_of("B")[1:])
    assert report.exit_code == 3
    arm = read_json(tmp_path)["arms"][1]
    assert (arm["policy"], arm["kind"], arm["verdict"]) == ("B", "queue_age", "void")
    assert "does not begin with a run event" in arm["void_reasons"][0]


def test_an_arm_folder_without_a_journal_is_void(tmp_path: Path) -> None:
    (small_run(tmp_path) / "B-2").mkdir()
    assert build_report(tmp_path).exit_code == 3


def test_an_arm_that_the_runner_gave_up_is_void_with_the_runners_reason(tmp_path: Path) -> None:
    failed = {"event": "check", "at": 1.0, "source": "runner", "name": "arm", "ok": False, "detail": "gate-1 ended"}
    report = run_of(tmp_path, A=[events_of("A")[0], {**failed, "evidence": {}}])
    assert report.exit_code == 3
    assert report.answer == (
        "Nothing can be said: no arm counts.",
        "A-1 does not count: the drill stopped: gate-1 ended.",
    )


@pytest.mark.parametrize("make", [lambda path: path / "nowhere", lambda path: path])
def test_a_run_that_is_not_there_or_holds_no_journal_is_one_clear_sentence(
    tmp_path: Path, make: Callable[[Path], Path]
) -> None:
    with pytest.raises(ReportError, match=r"^[^\n]+$"):
        build_report(make(tmp_path))


def test_a_run_of_which_no_journal_can_be_read_is_one_clear_sentence(tmp_path: Path) -> None:
    write_arm(tmp_path, "A-1", [])
    with pytest.raises(ReportError, match="does not begin with a run event"):
        build_report(tmp_path)


def test_a_folder_that_takes_the_reports_name_is_one_clear_sentence(tmp_path: Path) -> None:
    (small_run(tmp_path) / "report.json").mkdir()
    with pytest.raises(ReportError, match="cannot be written"):
        build_report(tmp_path)


def test_hostile_text_is_escaped_wherever_it_comes_from(tmp_path: Path) -> None:
    text = SMALL.replace("A small drill for tests.", "'<script>alert(1)</script>'").replace(
        "Half of what is left of the SLO.", "<script>alert(1)</script>"
    )
    events = events_of("B", text)
    for event in events:
        hostile: dict[str, Event] = {
            "decision": {"job_class": HOSTILE},
            "request": {"reason": HOSTILE if event.get("status") == 429 else None},
            "fault": {"name": HOSTILE, "detail": HOSTILE},
            "check": {"detail": HOSTILE, "ok": event.get("name") == "capacity"},
            "run": {
                "kind": HOSTILE,
                "runtime_why": HOSTILE,
                "versions": {HOSTILE: HOSTILE},
                "host": {HOSTILE: HOSTILE},
            },
        }
        event.update(hostile.get(event["event"], {}))
    numbered = [event for event in events if event["event"] == "request"]
    for number, event in enumerate(numbered):
        event["job_class"] = f"{HOSTILE}{number % 2}"
    capacity = next(event for event in events if event.get("name") == "capacity")
    capacity["evidence"] = {"phases": [{"phase": HOSTILE, "slots": HOSTILE}, HOSTILE], "lines": [HOSTILE]}
    run_of(tmp_path, B=events)
    page = (tmp_path / "report.html").read_text()
    assert "<script" not in page
    assert page.count("&lt;script&gt;") > 10


def test_the_page_stands_alone_without_any_address(tmp_path: Path) -> None:
    build_report(small_run(tmp_path))
    page = (tmp_path / "report.html").read_text()
    assert "//" not in page
    assert not re.findall(r"<(?:link|script|img|iframe|object)\b|@import|\bsrc=", page)
    assert set(re.findall(r'href="(.)', page)) == {"#"}


def test_the_page_says_things_in_the_reports_order(tmp_path: Path) -> None:
    build_report(small_run(tmp_path))
    page = (tmp_path / "report.html").read_text()
    order = ["answer", "trade", "figures", "comparison", "signals", "timeline", "doubts", "capacity", "environment"]
    assert re.findall(r'<h2 id="(\w+)"', page) == order
    assert page.count("<svg") == 6
    assert page.count("<table") == page.count("<caption>")
    ids = re.findall(r'\bid="([^"]+)"', page)
    assert len(ids) == len(set(ids))


def test_failures_make_percentiles_infinite_in_every_file_and_no_json_number_is_infinite(tmp_path: Path) -> None:
    events = events_of("A")
    for event in events:
        if event["event"] == "outcome":
            event.update(outcome="timeout", first_token_at=None)
    run_of(tmp_path, A=events)
    phase = read_json(tmp_path)["arms"][0]["phases"]["fault"]
    assert phase["p95_ttft_s"] == phase["p95_turnaround_s"] == phase["slo_percentile_s"] == "infinite"
    assert phase["p80_interval_s"] == ["infinite", None]
    assert "infinite" in (tmp_path / "comparison.csv").read_text().splitlines()[1].split(",")
    page = (tmp_path / "report.html").read_text()
    assert '<span title="infinite: so many jobs failed">∞</span>' in page
    assert "too many jobs failed in the" in page


def test_a_scenario_without_a_fault_has_one_phase_and_says_that_nothing_was_injected(tmp_path: Path) -> None:
    text = re.sub(r"faults:\n.*\n", "", SMALL).replace("breached", "held")
    report = run_of(tmp_path, A=events_of("A", text))
    assert report.exit_code == 0
    assert list(read_json(tmp_path)["arms"][0]["phases"]) == ["baseline", "all"]
    assert "No fault was injected in any arm." in (tmp_path / "report.html").read_text()


def test_repeats_are_shown_as_median_with_range_and_each_is_judged(tmp_path: Path) -> None:
    report = build_report(small_run(tmp_path, repeats=3))
    assert [row[0] for row in report.rows] == ["A-1", "A-2", "A-3", "B-1", "B-2", "B-3"]
    page = (tmp_path / "report.html").read_text()
    assert "ranges over repeats" in page
    assert '<small class="range">' in page
    assert "<small>repeat 3</small>" in page
    # One schedule per repeat, the same for every policy.
    schedules = {(arm["repeat"], arm["schedule_sha256"]) for arm in read_json(tmp_path)["arms"]}
    assert len(schedules) == 3


def test_several_classes_are_measured_each_for_itself(tmp_path: Path) -> None:
    text = SMALL.replace(
        "  classes:\n", "  classes:\n    batch: {service: {kind: constant, time: 400ms}, deadline: 7s}\n"
    )
    run_of(tmp_path, A=events_of("A", text))
    arm = read_json(tmp_path)["arms"][0]
    assert set(arm["classes"]) == {"batch", "chat"}
    offered = [phases["all"]["offered"] for phases in arm["classes"].values()]
    assert sum(offered) == arm["ledger"]["offered"]
    assert "By class" in (tmp_path / "report.html").read_text()


def test_claims_stand_beside_the_measured_numbers(tmp_path: Path) -> None:
    text = SMALL + "claims:\n  - {policy: A, measure: shed_rate, phase: fault, value: 0.11, text: as published}\n"
    run_of(tmp_path, A=events_of("A", text), B=events_of("B", text))
    assert read_json(tmp_path)["claims"] == [
        {
            "policy": "A",
            "repeat": 1,
            "measure": "shed_rate",
            "phase": "fault",
            "claimed": 0.11,
            "measured": 0.0,
            "ruled_out": None,
            "why_ruled_out": "",
            "text": "as published",
        }
    ]
    assert "<td>11.0 %</td><td>0.0 %</td>" in (tmp_path / "report.html").read_text()


def test_claims_that_arithmetic_rules_out_are_said_to_be_with_the_arithmetic(tmp_path: Path) -> None:
    text = (
        SMALL
        + """claims:
  - {policy: A, measure: p95_ttft_s, phase: fault, value: 0.1}
  - {policy: A, measure: offered_slots, phase: fault, value: 1.2}
  - {policy: A, measure: shed_rate, value: 0.1}
"""
    )
    events = events_of("A", text)
    evidence = next(event for event in events if event.get("name") == "capacity")["evidence"]
    evidence["claims"] = [
        {"ruled_out": True, "sentence": "the wait <grows> to 9 s; 0.1 s cannot be"},
        {"ruled_out": False, "sentence": ""},
        "damaged",
    ]
    run_of(tmp_path, A=events)
    first, second, third = read_json(tmp_path)["claims"]
    assert (first["ruled_out"], first["why_ruled_out"]) == (True, "the wait <grows> to 9 s; 0.1 s cannot be")
    # What a phase demands is not measured but taken from the capacity check.
    assert (second["ruled_out"], second["measured"]) == (False, pytest.approx(3.6))
    assert (third["ruled_out"], third["measured"]) == (None, 0.0)
    page = (tmp_path / "report.html").read_text()
    assert "✕ ruled out by capacity</strong>: the wait &lt;grows&gt; to 9 s; 0.1 s cannot be" in page
    assert ">not ruled out<" in page
    assert ">not checked<" in page


def test_what_a_policy_that_only_logs_would_have_shed_is_flagged_as_projected(tmp_path: Path) -> None:
    text = SMALL.replace("{kind: queue_age,", "{kind: queue_age, mode: log_only,")
    events = events_of("A", text)
    events[0].update(policy="B", kind="queue_age", mode="log_only")
    decisions = [event for event in events if event["event"] == "decision"]
    for event in decisions[::2]:
        event.update(would="shed", reason="queue_age", mode="log_only")
    report = run_of(tmp_path, B=events)
    arm = read_json(tmp_path)["arms"][0]
    assert arm["ledger"]["shed"] == 0
    assert arm["ledger"]["projected_shed"] == len(decisions[::2])
    assert arm["phases"]["all"]["projected_by_reason"] == {"queue_age": arm["phases"]["all"]["projected_shed_rate"]}
    page = (tmp_path / "report.html").read_text()
    assert "of the requests: <em>projected</em>, for all of them were let in" in page
    assert "would have shed (projected)" in page
    assert report.exit_code == 0


def test_degraded_jobs_and_hard_back_offs_have_tables_of_their_own_where_there_are_any(tmp_path: Path) -> None:
    events = events_of("B")
    decisions = [event for event in events if event["event"] == "decision"]
    admitted = next(event for event in decisions if event["decision"] == "admit")
    admitted.update(decision="degrade", would="degrade", reason="queue_age")
    next(event for event in decisions if event["decision"] == "shed")["hard_backoff"] = True
    run_of(tmp_path / "some", B=events)
    page = (tmp_path / "some" / "report.html").read_text()
    assert "<caption>Degraded jobs apart" in page
    assert '<td class="text">queue age</td><td>1</td>' in page
    run_of(tmp_path / "none", B=events_of("B"))
    page = (tmp_path / "none" / "report.html").read_text()
    assert "Degraded jobs apart" not in page
    assert "Hard back-off" not in page


def test_a_doubt_does_not_change_the_exit_code_but_a_late_generator_makes_the_run_invalid(tmp_path: Path) -> None:
    events = events_of("A")
    for event in events:
        if event["event"] == "request":
            event["sent_at"] += 0.2
    report = run_of(tmp_path, A=events)
    assert report.exit_code == 0
    assert not report.valid
    assert read_json(tmp_path)["valid"] is False
    assert read_json(tmp_path)["doubts"][0]["code"] == "generator_late"
    assert any("p99 send lag is 201 ms" in line for line in report.summary_lines())


def test_repeats_that_disagree_are_said_to_be_too_close_to_call(tmp_path: Path) -> None:
    text = SMALL.replace("within: 1s", "within: 3s")
    scenario, _ = small(text)
    arms = [list(arm_events(scenario, text, "B", repeat, rate_per_s=3.0)) for repeat in (1, 2)]
    for event in arms[1]:
        if event["event"] == "outcome":
            event["first_token_at"] += 4.0
    for repeat, events in enumerate(arms, start=1):
        write_arm(tmp_path, f"B-{repeat}", events)
    answer = build_report(tmp_path).answer
    assert answer[0] == "No policy holds the SLO in every repeat, p80 time to first token within 3 s."
    assert answer[1] == "B holds in 1 of 2 repeats: it is too close to call."
