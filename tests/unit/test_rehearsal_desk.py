"""The verbs of a rehearsal: what may be said, what a look shows, and one sentence for what may not be."""

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from lab.__main__ import main
from lab.contract.flags import read_fault, read_policy
from lab.contract.names import EXIT_COULD_NOT_RUN, EXIT_OK, EXIT_USAGE
from lab.desk import rehearsing
from lab.desk.arguments import parser
from lab.desk.fault import fault_asked_for
from lab.desk.watch_view import view_rows
from lab.drill.rehearsal import RehearsalError
from lab.drill.rehearsal.bench import Bench
from lab.drill.rehearsal.faults import injected, new_record, save_fault
from lab.drill.rehearsal.play import Play
from lab.drill.rehearsal.policies import policy_words
from lab.drill.rehearsal.record import ended_play
from lab.drill.rehearsal.state import State
from lab.drill.rehearsal.watch import View, model_words
from lab.drill.rehearsal.window import Rates
from tests.unit.rehearsal_bench import FakeBench

T = 1_800_000_000.0
RATES = Rates(10.0, 8.0, 2.0, 0.0, 7.5, 1.234, math.inf, 2)
SIGNALS = {"queue_age_s": 1.5, "queue_depth": 12, "in_flight": 8, "slots": 8, "utilization_ratio": 0.97}
VIEW = View(
    at=T,
    runtime="local",
    rates=RATES,
    play=Play(T - 9, T - 8, 588, 80, ended=False),
    load_runs=True,
    signals=SIGNALS,
    policy={"kind": "queue_age", "max_age": "1.6s", "mode": "log_only", "why": ""},
    faults=(),
    acts=(),
    troubles=(),
)


def play_lines(*, ended: bool) -> list[str]:
    events: list[dict[str, Any]] = [
        {"event": "schedule_start", "at": T, "start_at": T + 1, "due_count": 2},
        {"event": "request", "at": T + 2, "request_id": "r-1", "sent_at": T + 2},
    ]
    return [json.dumps(event) for event in [*events, *([{"event": "load_end", "at": T + 3}] if ended else [])]]


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> FakeBench:
    """The bench that every verb finds."""
    fake = FakeBench()

    def find(_state: State, _runtime: str) -> Bench:
        return fake

    monkeypatch.setenv("SHEDLAB_REPORTS", str(tmp_path))
    monkeypatch.setattr(rehearsing, "find_bench", find)
    return fake


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["fault", "add", "latency"], "the following arguments are required: --latency"),
        (["fault", "add", "latncy"], "invalid choice: 'latncy'"),
        (["fault", "add", "latency", "--latency", "1s", "--jiter", "1s"], "unrecognized arguments: --jiter 1s"),
        # A switch of policy has verbs of its own.
        (["fault", "add", "policy"], "invalid choice: 'policy'"),
        (["fault", "melt"], "invalid choice: 'melt'"),
        (["policy", "set", "queue_age"], "the following arguments are required: --max-age"),
        (["policy", "mode", "loud"], "invalid choice: 'loud'"),
        (["watch", "--every", "1"], "'1' is not a duration"),
        (["watch", "--every", "1ms"], "1ms is too short; give 0.1s or more"),
        (["load", "--speed", "0"], "'0' is not a speed"),
        (["rehearsal"], "the following arguments are required: report"),
    ],
)
def test_bad_words_are_one_line_and_exit_code_2(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as left:
        main(words)
    assert left.value.code == EXIT_USAGE
    shown = capsys.readouterr().err
    assert said in shown
    assert shown.count("\n") == 1


@pytest.mark.usefixtures("bench")
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["fault", "add", "latency", "--latency", "800"], "shedlab: --latency: '800' is not a duration"),
        (["fault", "add", "latency", "--latency", "1s", "--for", "soon"], "shedlab: --for: 'soon' is not a duration"),
        (["policy", "set", "utilization", "--max-utilization", "120%"], "shedlab: --max-utilization: '120%' is not"),
    ],
)
def test_a_value_that_cannot_be_is_one_line_and_exit_code_2(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == EXIT_USAGE
    assert capsys.readouterr().err.replace("800 ", "'800' ").startswith(said)


def test_flags_make_the_fault_that_a_scenario_would_declare() -> None:
    words = ["fault", "add", "model", "--slow-factor", "4", "--classes", "chat, code", "--for", "30s"]
    asked = parser().parse_args(words)
    said = {"kind": "model", "slow_factor": 4, "classes": ("chat", "code"), "at": "0s", "for": "30s"}
    assert fault_asked_for(asked) == read_fault(said)
    assert fault_asked_for(parser().parse_args(["fault", "add", "noop"])).lasts == 86_400


def test_no_bench_is_a_sentence_and_exit_code_3(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def find(_state: State, _runtime: str) -> Bench:
        raise RehearsalError("no rehearsal bench is up; start one with `shedlab up`")

    monkeypatch.setattr(rehearsing, "find_bench", find)
    for words in (["watch"], ["fault", "list"], ["policy", "show"], ["load"], ["rehearsal", "report"]):
        assert main(words) == EXIT_COULD_NOT_RUN
        assert capsys.readouterr().err.splitlines()[0] == (
            "shedlab: no rehearsal bench is up; start one with `shedlab up`"
        )


@pytest.mark.usefixtures("bench")
def test_faults_are_listed_and_one_that_is_not_there_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fault", "list"]) == EXIT_OK
    assert main(["fault", "clear", "1-latency"]) == EXIT_COULD_NOT_RUN
    shown = capsys.readouterr()
    assert shown.out == "no fault acts\n"
    assert shown.err == "shedlab: no fault '1-latency' acts; acting are none\n"


def test_a_fault_of_a_bench_that_is_gone_is_not_listed(
    bench: FakeBench, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    state, said = State(tmp_path), {"kind": "latency", "latency": "800ms", "at": "0s", "for": "60s"}
    state.make()
    save_fault(state, new_record(read_fault(said), 1, "local", T, has_end=False, workers=None, bench="gone"))
    assert main(["fault", "list"]) == EXIT_OK
    shown = capsys.readouterr()
    assert shown.out == "no fault acts\n"
    assert shown.err == "shedlab: 1-latency acted on a bench that is gone, and is forgotten\n"
    assert bench.asked == []


@pytest.mark.usefixtures("bench")
def test_a_gate_that_does_not_answer_is_a_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def nobody(*_arguments: object, **_options: object) -> None:
        raise httpx.ConnectError("nobody there")

    monkeypatch.setattr(httpx.Client, "request", nobody)
    assert main(["policy", "show"]) == EXIT_COULD_NOT_RUN
    assert "the gate at http://127.0.0.1:1 does not answer" in capsys.readouterr().err


def test_a_report_needs_a_play_that_is_over(bench: FakeBench) -> None:
    with pytest.raises(RehearsalError, match="no load was played on this bench; start one with `shedlab load`"):
        ended_play(bench)
    bench.logs["loadgen"], bench.load_is_there = play_lines(ended=False), True
    with pytest.raises(
        RehearsalError, match="still playing, 1 of 2 requests; wait, or end it with `shedlab load stop`"
    ):
        ended_play(bench)
    bench.logs["loadgen"] = play_lines(ended=True)
    assert ended_play(bench).ended
    # One that was killed has said no end, and plays no more.
    bench.logs["loadgen"], bench.load_is_there = play_lines(ended=False), False
    assert not ended_play(bench).ended


def test_a_look_shows_rates_signals_and_policy() -> None:
    rows = dict(view_rows(VIEW))
    assert rows["load"] == "playing, 80 of 588 requests"
    assert (rows["offered"], rows["shed"]) == ("10.0/s", "2.0/s")
    assert (rows["queue age"], rows["in flight"], rows["utilization"]) == ("1.50 s", "8 on 8 slots", "97 %")
    assert (rows["p95 first token"], rows["p95 turnaround"]) == ("1.23 s over 30 s", "never over 30 s")
    assert (rows["policy"], rows["faults"]) == ("queue_age max_age 1.6s, log_only", "none")


def test_a_look_says_what_is_wrong_and_goes_on() -> None:
    view = replace(VIEW, signals=None, policy=None, troubles=("the gate does not answer (ConnectError)",))
    rows = dict(view_rows(view))
    assert (rows["queue age"], rows["policy"]) == ("-", "-")
    assert rows["trouble"] == "the gate does not answer (ConnectError)"
    assert rows["workers live"] == "2"


def test_a_look_tells_recorded_faults_from_what_acts_besides() -> None:
    said = {"kind": "latency", "latency": "800ms", "at": "0s", "for": "60s"}
    record = injected(new_record(read_fault(said), 1, "local", T - 20, has_end=True, workers=None), T - 20)
    acts = ("1-latency on model", "by_hand on redis", "model: slow_factor 2.0")
    rows = list(view_rows(replace(VIEW, faults=(record,), acts=acts)))
    assert ("fault 1-latency", "latency on model, latency 800ms; 40 s left") in rows
    unrecorded = [value for name, value in rows if name == "acts, unrecorded"]
    assert unrecorded == ["by_hand on redis", "model: slow_factor 2.0"]


@pytest.mark.parametrize(
    ("told", "words"),
    [
        ({"kind": "queue_depth", "max_depth": 90, "mode": "log_only"}, "queue_depth max_depth 90, log_only"),
        ({"kind": "none"}, "none, enforce"),
        ({"kind": "deadline_slack"}, "deadline_slack margin 250ms wait queued, enforce"),
        (
            {"kind": "queue_age", "max_age": "2s", "degrade": {"at": "1s", "max_output_tokens": 64}},
            "queue_age max_age 2s, enforce",
        ),
    ],
)
def test_a_policy_is_told_by_what_can_be_said_of_it(told: dict[str, Any], words: str) -> None:
    assert policy_words(read_policy(told)) == words


@pytest.mark.parametrize(
    ("told", "words"),
    [
        ({"at_rest": True, "slow_factor": 1.0}, ()),
        ({"at_rest": False, "slow_factor": 3.0, "stall_ratio": 0.0, "classes": []}, ("slow_factor 3.0",)),
    ],
)
def test_a_model_at_rest_is_not_worth_a_word(told: dict[str, Any], words: tuple[str, ...]) -> None:
    said = model_words(told)
    assert len(said) == len(words)
    assert all(word in "".join(said) for word in words)
