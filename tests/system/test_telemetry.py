"""docs/TELEMETRY.md against a real run: fields are there and of their types, metrics are exported, counters agree."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lab.contract.journal import read_journal
from lab.contract.loading import load_scenario
from lab.drill.probes import StackProbe
from lab.drill.request import DrillRequest
from lab.drill.runner import run_drill
from lab.drill.testbed.local import LocalStack
from tests.system.drills import ROOT, Run, check, report, start, write_drill

pytestmark = [pytest.mark.system, pytest.mark.timeout(180)]

PAGE = (ROOT / "docs" / "TELEMETRY.md").read_text(encoding="utf-8")
FIELDS = re.findall(r"^\| (decision|outcome|signals|heartbeat) \| (\w+) \| ([^|]+?) \|", PAGE, re.MULTILINE)
METRICS = re.findall(r"^\| (\w+) \| [\w, ]*\| (gate|worker) \|$", PAGE, re.MULTILINE)
# Two slots at 100 ms do 40/s of the 80 that come, so that some are shed and some wait.
OVERLOAD = """
name: telemetry
summary: Overload of policy F, whose decisions have every field.
slo: {{measure: ttft, percentile: 95, within: 10s}}
stack: {{workers: 2, slots: 2, drain: 10s}}
workload:
  seed: 3
  duration: 5s
  arrivals: {{kind: constant, rate: 80/s}}
  classes:
    small:
      output_tokens: {{kind: constant, value: 8}}
      service: {{kind: constant, time: 100ms, first_token: 40ms}}
      deadline: 1s
warm_up: {{completions: 200}}
faults: [{{kind: model, at: 2s, for: 1s, failure_ratio: 0.5}}]
policies:
  {policy}
"""
IS: dict[str, Callable[[Any], bool]] = {
    "text": lambda value: isinstance(value, str),
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "count": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "truth": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
}


def played(folder: Path, policy: str) -> Run:
    scenario = folder / "telemetry.yaml"
    scenario.write_text(OVERLOAD.format(policy=policy), encoding="utf-8")
    run = start(scenario, folder / "reports")
    code, said = run.finish()
    assert code == 0, said
    return run


def test_every_field_of_the_page_is_in_the_journal_and_of_its_type(tmp_path: Path) -> None:
    run = played(tmp_path, "F: {kind: slack_v1, slack_floor: 300ms}")
    journal = read_journal(run.run_dir / "F-1" / "journal.jsonl")
    events = [event for event in journal if not str(event.get("request_id")).startswith("probe")]
    assert len(FIELDS) > 30
    for line, field, type_words in FIELDS:
        values = [event[field] for event in events if event["event"] == line]
        kinds = type_words.split(" or ")
        wrong = [value for value in values if not any(IS[kind](value) for kind in kinds)]
        assert values, line
        assert wrong == [], (line, field)
        # A field that may be null is not always so.
        assert any(not IS["null"](value) for value in values), (line, field)
    decisions = {event["decision"] for event in events if event["event"] == "decision"}
    assert decisions == {"admit", "shed"}
    assert {event["result"] for event in events if event["event"] == "outcome"} >= {"ok", "error"}


def test_the_services_counters_agree_with_the_ledger_at_the_end(tmp_path: Path) -> None:
    run = played(tmp_path, "B: {kind: queue_age, max_age: 200ms}")
    counters = check(run, "B-1", "counters")
    assert counters["ok"], counters["detail"]
    (arm,) = report(run.run_dir)["arms"]
    ledger, metrics = arm["ledger"], counters["evidence"]["metrics"]
    assert (metrics["admitted"], metrics["shed"]) == (ledger["admitted"], ledger["shed"])
    assert metrics["settled"] == sum(ledger["outcomes"].values()) - ledger["outcomes"].get("unfinished", 0)
    assert ledger["shed"] > 0


def test_every_metric_of_the_page_is_exported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told: dict[str, str] = {}
    gate_metrics, worker_metrics = StackProbe.gate_metrics, LocalStack.worker_metrics

    async def keep_gate(probe: StackProbe) -> str:
        told["gate"] = await gate_metrics(probe)
        return told["gate"]

    async def keep_workers(stack: LocalStack) -> list[str]:
        texts = await worker_metrics(stack)
        told["worker"] = texts[0]
        return texts

    monkeypatch.setattr(StackProbe, "gate_metrics", keep_gate)
    monkeypatch.setattr(LocalStack, "worker_metrics", keep_workers)
    loaded = load_scenario(write_drill(tmp_path, duration="2s"))
    run_drill(DrillRequest(loaded, "local", speed=1, jobs=None, repeats=None, only=(), reports_root=tmp_path / "r"))
    assert len(METRICS) > 20
    missing = [(name, where) for name, where in METRICS if f"# HELP {name.removesuffix('_total')}" not in told[where]]
    assert missing == []
