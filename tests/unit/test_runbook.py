"""docs/RUNBOOK.md and docs/REHEARSE.md: what they tell to type can be typed, and no alert lacks a section."""

import argparse
import inspect
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from prometheus_client import generate_latest

from gate.metrics import GateMetrics
from lab.contract import journal
from lab.contract.alert_spec import UNITS
from lab.contract.flags import POLICY_KINDS, flags_of, read_policy
from lab.contract.names import EXIT_OK
from lab.desk.arguments import parser
from lab.desk.fault import fault_asked_for
from lab.policies.snapshot import SIGNALS
from worker.metrics import Metrics

ROOT = Path(__file__).parents[2]
RUNBOOK = ROOT / "docs" / "RUNBOOK.md"
REHEARSE = ROOT / "docs" / "REHEARSE.md"
TEXT = RUNBOOK.read_text(encoding="utf-8")
# What a command line ends at: another command, or where its output goes.
SHELL = {"|", ">", "<", "&", "&&", ";"}
PARTS = ("**Look first**", "**Do**", "**Roll back**", "**It worked when**", "**Do not**")


def command_lines(page: Path) -> Iterator[str]:
    """Every `shedlab ...` of a page, from its blocks of code and from its sentences."""
    text = page.read_text(encoding="utf-8")
    yield from re.findall(r"^ {4}(shedlab .+)$", text, re.MULTILINE)
    prose = re.sub(r"^ {4}.*$", "", text, flags=re.MULTILINE)
    yield from (" ".join(found.split()) for found in re.findall(r"`(shedlab\s[^`]+)`", prose))


def words_of(line: str) -> list[str]:
    """The arguments of one command line, up to where the shell goes on with something else."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars="|<>&;")
    lexer.whitespace_split = True
    words = list(lexer)
    ends = [number for number, word in enumerate(words) if word in SHELL]
    return words[1 : min(ends, default=len(words))]


def asked_for(line: str) -> argparse.Namespace | None:
    """What the line asks for; None where that is help. Raises SystemExit where it cannot be said."""
    try:
        return parser().parse_args(words_of(line))
    except SystemExit as end:
        if end.code != EXIT_OK:
            raise
    return None


def check_values(asked: argparse.Namespace) -> None:
    """Reads a fault or policy as the verb would. Raises FlagError."""
    if asked.command == "fault" and asked.verb == "add":
        fault_asked_for(asked)
    if asked.command == "policy" and asked.verb == "set":
        keys = [flag.key for flag in flags_of(POLICY_KINDS[asked.kind], frozenset(("why",)))]
        said = {key: getattr(asked, key) for key in keys if getattr(asked, key) is not None}
        read_policy({**said, "kind": asked.kind})


LINES = [pytest.param(line, id=f"{page.stem}: {line}") for page in (RUNBOOK, REHEARSE) for line in command_lines(page)]


def sections() -> dict[str, str]:
    """The runbook's sections by title."""
    titled = re.split(r"^#{2,3} (.+)$", TEXT, flags=re.MULTILINE)
    return dict(zip(titled[1::2], titled[2::2], strict=True))


def anchor(title: str) -> str:
    """As the page's viewer makes it of a heading."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def code_lines() -> list[str]:
    return re.findall(r"^ {4}(\S.*)$", TEXT, re.MULTILINE)


def functions() -> set[str]:
    """The runbook's own words, which its reader pastes first."""
    return {match[1] for line in code_lines() if (match := re.match(r"(\w+)\(\) ", line))}


@pytest.mark.parametrize("line", LINES)
def test_every_command_of_the_pages_can_be_said(line: str) -> None:
    asked = asked_for(line)
    if asked is not None:
        check_values(asked)


@pytest.mark.parametrize("line", LINES)
def test_every_scenario_that_the_pages_name_exists(line: str) -> None:
    named = getattr(asked_for(line), "scenario", None)
    assert named in {None, "stop", "NAME"} or (ROOT / "scenarios" / f"{named}.yaml").is_file()


@pytest.mark.parametrize(
    "line",
    [
        "shedlab fault inject latency --latency 1s",
        "shedlab policy set queue_age --max-depth 3 | jq .",
        "shedlab watch --twice # no such flag",
    ],
)
def test_what_cannot_be_said_would_be_found(line: str) -> None:
    with pytest.raises(SystemExit):
        asked_for(line)


def test_both_pages_have_commands_to_check() -> None:
    assert len(list(command_lines(RUNBOOK))) > 20
    assert "shedlab policy set queue_age --max-age 2s --mode log_only" in command_lines(REHEARSE)


@pytest.mark.parametrize("signal", sorted(UNITS))
def test_every_signal_of_the_contract_has_a_section_with_every_part(signal: str) -> None:
    found = [text for title, text in sections().items() if signal in re.split(r"[, ]+", title)]
    assert len(found) == 1
    assert [part for part in PARTS if part not in found[0]] == []


@pytest.mark.parametrize("title", ["breaker open", "dead letters growing", "workers lost"])
def test_every_trouble_without_an_alert_has_a_section_with_every_part(title: str) -> None:
    assert [part for part in PARTS if part not in sections()[title]] == []


def test_every_link_within_the_runbook_leads_to_a_heading() -> None:
    linked = set(re.findall(r"\]\(#([^)]+)\)", TEXT))
    assert linked - {anchor(title) for title in sections()} == set()


def test_what_the_runbook_pipes_to_and_calls_is_defined_in_it() -> None:
    called = {match[1] for line in code_lines() if (match := re.search(r"\| (put|recent)\b", line))}
    called |= {match[1] for match in re.finditer(r"`(?:put < \S+|(\w+) \d+)`", TEXT) if match[1]}
    assert called - functions() == set()


def test_the_fields_that_the_runbook_reads_are_the_contracts() -> None:
    of_lines = (line for line in code_lines() if re.match(r"\w+\(\) +\{ (gate|worker)_log", line))
    read = {name for line in of_lines for name in re.findall(r"\.([a-z_]+)", line.replace("$GATE/signals", ""))}
    events = [event for _, event in inspect.getmembers(journal, inspect.isclass) if hasattr(event, "__annotations__")]
    fields = {name for event in events for name in event.__annotations__}
    assert "endpoint_latency_s" in read
    assert read - fields - set(SIGNALS) == set()


def metric_names() -> set[str]:
    """Of gate and worker."""
    text = (GateMetrics().render() + generate_latest(Metrics(1).registry)).decode()
    return set(re.findall(r"^# HELP (\S+) ", text, re.MULTILINE))


def searched_metrics() -> Iterator[str]:
    """The metrics that the runbook's commands look for."""
    for found in re.findall(r"/metrics \| grep (?:-E )?'?\^([\w()|]+)", TEXT):
        before, among, after = re.fullmatch(r"(\w*)(?:\(([\w|]+)\))?(\w*)", found).groups()  # type: ignore[union-attr]
        yield from (f"{before}{one}{after}".removesuffix("_count") for one in (among or "").split("|"))


def test_the_metrics_that_the_runbook_looks_for_are_exported() -> None:
    searched = set(searched_metrics())
    assert {"gate_queue_negative_slack_ratio", "gate_estimator_samples", "worker_deliveries_total"} <= searched
    assert searched - metric_names() == set()


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash here to read the blocks")
def test_the_blocks_to_paste_are_sound_shell() -> None:
    block = "\n".join(line for line in code_lines() if re.match(r"(\w+\(\) |[A-Z]+=)", line))
    done = subprocess.run(["bash", "-n"], input=block, text=True, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
