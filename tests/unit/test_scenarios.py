"""The shipped scenarios parse, and what is written about their keys is what the models say."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lab.contract.loading import load_scenario
from lab.contract.scenario import Scenario

SCENARIOS = Path(__file__).parents[2] / "scenarios"
FILES = sorted(SCENARIOS.glob("*.yaml"))
SCHEMA = Scenario.model_json_schema(by_alias=True)
README = (SCENARIOS / "README.md").read_text(encoding="utf-8")
# A line of a table of keys begins with the key in backticks.
KEY_LINE = re.compile(r"^\| `(?P<key>\w+)` \|", re.MULTILINE)


def models() -> Iterator[dict[str, Any]]:
    yield SCHEMA
    yield from SCHEMA["$defs"].values()


def properties() -> set[str]:
    return {name for model in models() for name in model.get("properties", {})}


def kinds() -> set[str]:
    return {model["properties"]["kind"]["const"] for model in models() if "kind" in model.get("properties", {})}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_shipped_scenario_parses_and_is_called_like_its_file(path: Path) -> None:
    assert load_scenario(path).scenario.name == path.stem


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_shipped_scenario_expects_something_of_every_policy(path: Path) -> None:
    scenario = load_scenario(path).scenario
    assert set(scenario.expect) == set(scenario.policies)


def test_the_flagship_and_the_quick_check_are_shipped() -> None:
    assert {"slow_provider", "quick_check"} <= {path.stem for path in FILES}


def test_a_breaker_and_a_policy_with_the_third_answer_are_shipped() -> None:
    shipped = [load_scenario(path).scenario for path in FILES]
    assert any(scenario.stack.breaker for scenario in shipped)
    assert any(getattr(policy, "degrade", None) for scenario in shipped for policy in scenario.policies.values())


def test_every_key_of_the_models_has_a_line_in_the_readme() -> None:
    assert properties() - set(KEY_LINE.findall(README)) == set()


def test_every_key_in_the_readme_exists_in_the_models() -> None:
    assert set(KEY_LINE.findall(README)) - properties() == set()


def test_every_kind_of_the_models_stands_in_the_readme() -> None:
    assert {kind for kind in kinds() if f"`{kind}`" not in README} == set()


def test_the_schema_file_is_what_the_models_generate() -> None:
    written = json.loads((SCENARIOS / "scenario.schema.json").read_text(encoding="utf-8"))
    assert written == SCHEMA, "run: make schema"
