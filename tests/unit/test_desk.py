"""The front desk: what may be said, and one sentence for what may not."""

from pathlib import Path

import pytest

from lab.__main__ import COMMANDS, main
from lab.contract.names import EXIT_OK, EXIT_USAGE
from lab.desk.arguments import parser

SOUND = """\
name: sound
summary: A small drill.
slo: {within: 1s}
workload:
  seed: 1
  duration: 10s
  arrivals: {kind: constant, rate: 5/s}
  classes: {chat: {service: {kind: constant, time: 100ms}, deadline: 2s}}
policies: {A: {kind: none}}
"""


@pytest.fixture
def scenarios(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of scenarios: a broken one, then a sound one."""
    (tmp_path / "broken.yaml").write_text("name: broken\nsumary: none\n", encoding="utf-8")
    (tmp_path / "sound.yaml").write_text(SOUND, encoding="utf-8")
    monkeypatch.setattr("lab.desk.places.SCENARIOS", tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "the following arguments are required: COMMAND"),
        (["rnu"], "invalid choice: 'rnu'"),
        (["run"], "the following arguments are required: NAME|FILE"),
        (["run", "x", "--speed", "0"], "'0' is not a speed; give a number above 0, such as 2"),
        (["run", "x", "--speed", "nan"], "'nan' is not a speed"),
        (["run", "x", "--speed", "fast"], "'fast' is not a speed"),
        (["run", "x", "--jobs", "0"], "'0' is not a whole number from 1 to 100"),
        (["run", "x", "--repeats", "1.5"], "'1.5' is not a whole number from 1 to 100"),
        (["run", "x", "--only", "AB"], "'AB' does not name policies; give letters such as A,B"),
        (["run", "x", "--only", ","], "',' does not name policies"),
        (["run", "x", "--runtime", "moon"], "invalid choice: 'moon'"),
        (["run", "x", "--sped", "2"], "unrecognized arguments: --sped 2"),
    ],
)
def test_a_bad_argument_is_one_line_and_exit_code_2(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as left:
        main(words)
    shown = capsys.readouterr()
    assert left.value.code == EXIT_USAGE
    assert said in shown.err
    assert shown.err.count("\n") == 1
    assert shown.out == ""


def test_letters_may_be_small_and_jobs_may_be_auto() -> None:
    asked = parser().parse_args(["run", "x", "--only", "a, b", "--jobs", "auto"])
    assert (asked.only, asked.jobs, asked.speed, asked.runtime) == (("A", "B"), None, 1.0, "auto")


def test_repeats_may_be_auto_and_what_is_neither_gets_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert parser().parse_args(["run", "x", "--repeats", "auto"]).repeats == "auto"
    with pytest.raises(SystemExit) as refused:
        parser().parse_args(["run", "x", "--repeats", "often"])
    assert refused.value.code == EXIT_USAGE
    assert "'often' is not a whole number from 1 to 100, or auto; see" in capsys.readouterr().err


def test_every_command_of_the_parser_has_its_function() -> None:
    (commands,) = (action for action in parser()._actions if action.dest == "command")
    assert set(COMMANDS) == set(commands.choices or ())


@pytest.mark.parametrize("command", ["run", "validate", "alerts", "derive"])
@pytest.mark.usefixtures("scenarios")
def test_an_unknown_name_suggests_the_nearest(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([command, "sond"]) == EXIT_USAGE
    assert capsys.readouterr().err == "shedlab: no scenario is called 'sond'; did you mean 'sound'?\n"


@pytest.mark.usefixtures("scenarios")
def test_a_name_like_no_other_lists_what_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", "zzz"]) == EXIT_USAGE
    assert capsys.readouterr().err == "shedlab: no scenario is called 'zzz'; there are broken, sound\n"


def test_a_broken_scenario_is_named_with_file_and_line(scenarios: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", str(scenarios / "broken.yaml")]) == EXIT_USAGE
    shown = capsys.readouterr()
    assert f"{scenarios / 'broken.yaml'}:2: sumary: is not a known key; did you mean 'summary'?" in shown.err
    assert shown.out == ""


@pytest.mark.usefixtures("scenarios")
def test_a_broken_file_does_not_stop_the_list(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list"]) == EXIT_OK
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith("broken  broken: ")
    assert second == "sound   10 s, policies A: A small drill."


@pytest.mark.usefixtures("scenarios")
def test_validate_says_what_arithmetic_expects(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", "sound"]) == EXIT_OK
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "sound: valid; 10 s, policies A"
    assert lines[2].strip().startswith("baseline: 5.00/s x 0.10 s = 0.5 slots of work")


@pytest.mark.usefixtures("scenarios")
def test_alerts_of_a_scenario_without_any_are_a_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["alerts", "sound"]) == EXIT_USAGE
    assert capsys.readouterr().err.startswith("shedlab: sound declares no alerts; ")


def test_alerts_are_printed_as_a_rules_file(scenarios: Path, capsys: pytest.CaptureFixture[str]) -> None:
    alert = "alerts: [{name: deep, signal: queue_depth, threshold: 9, for: 2m, severity: warn, action: Look.}]\n"
    (scenarios / "sound.yaml").write_text(SOUND + alert, encoding="utf-8")
    assert main(["alerts", "sound"]) == EXIT_OK
    lines = capsys.readouterr().out.splitlines()
    assert lines[4:7] == ["      - alert: deep", '        expr: "max(gate_queue_depth) > 9"', "        for: 120s"]


def test_a_run_that_is_not_there_gets_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SHEDLAB_REPORTS", str(tmp_path))
    assert main(["report", "nowhere"]) == EXIT_USAGE
    assert capsys.readouterr().err.startswith(f"shedlab: no run is called 'nowhere' in {tmp_path}; ")
