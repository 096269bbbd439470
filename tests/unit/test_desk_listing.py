"""The list of scenarios: a line each, whatever their summaries hold."""

from pathlib import Path

import pytest

from lab.contract.names import EXIT_OK
from lab.desk.listing import list_scenarios

TEXT = """\
name: sound
summary: {summary}
slo: {{within: 1s}}
workload:
  seed: 1
  duration: 90s
  arrivals: {{kind: constant, rate: 5/s}}
  classes: {{chat: {{service: {{kind: constant, time: 100ms}}, deadline: 2s}}}}
policies: {{A: {{kind: none}}, C: {{kind: queue_depth, max_depth: 4}}}}
"""


@pytest.mark.parametrize(
    ("summary", "gist"),
    [
        ("The provider gets 1.5 s slower. Nothing crashes.", "The provider gets 1.5 s slower."),
        ("No full stop", "No full stop"),
        (r'"Two\nlines? Yes."', "Two lines?"),
        (r'"\e[31mred\a"', "[31mred"),
    ],
    ids=["first sentence", "whole", "one line", "no control characters"],
)
def test_a_scenario_is_listed_by_length_policies_and_gist(
    summary: str, gist: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "sound.yaml").write_text(TEXT.format(summary=summary), encoding="utf-8")
    monkeypatch.setattr("lab.desk.places.SCENARIOS", tmp_path)
    assert list_scenarios() == EXIT_OK
    assert capsys.readouterr().out == f"sound  90 s, policies A, C: {gist}\n"
