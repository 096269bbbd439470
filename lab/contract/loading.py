"""Reads a scenario file; everything wrong in it becomes `file:line: what is wrong, what would be right`."""

import difflib
import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails
from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.error import MarkedYAMLError, YAMLError

from lab.contract.scenario import Scenario

MAX_SCENARIO_BYTES = 1_000_000


class ScenarioError(Exception):
    """A scenario that cannot be used; its text is one sentence per fault found, each with file and line."""


@dataclass(frozen=True, slots=True)
class LoadedScenario:
    """A valid scenario with the text it was read from."""

    scenario: Scenario
    text: str
    path: Path

    @property
    def sha256(self) -> str:
        """Hash of the file's text."""
        return hashlib.sha256(self.text.encode()).hexdigest()


def load_scenario(path: Path) -> LoadedScenario:
    """Reads and checks one scenario file.

    Raises:
        ScenarioError: it cannot be read, is no YAML, or declares something that cannot be played.
    """
    text = _read(path)
    return LoadedScenario(parse_scenario(text, str(path)), text, path)


def parse_scenario(text: str, name: str) -> Scenario:
    """The scenario of a YAML text; `name` stands for the file in the sentences of a ScenarioError."""
    document = _parse_yaml(text, name)
    try:
        return Scenario.model_validate(document)
    except ValidationError as error:
        sentences = [_sentence(document, detail, name) for detail in error.errors(include_url=False)]
        raise ScenarioError("\n".join(dict.fromkeys(sentences))) from None


def _read(path: Path) -> str:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ScenarioError(
            f"{path}: cannot be read: {error.strerror or error}; give the path of a scenario file"
        ) from None
    if len(data) > MAX_SCENARIO_BYTES:
        raise ScenarioError(f"{path}: is larger than {MAX_SCENARIO_BYTES:,} bytes; a scenario is a short YAML file")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise ScenarioError(f"{path}: is not UTF-8 text; a scenario is a YAML file in UTF-8") from None


def _parse_yaml(text: str, name: str) -> CommentedMap:
    try:
        document = YAML(typ="rt").load(text)
    except MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise ScenarioError(f"{name}:{line}: is not YAML: {error.problem or error.context}") from None
    except (YAMLError, ValueError, RecursionError) as error:
        first_line = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise ScenarioError(f"{name}:1: is not YAML: {first_line}") from None
    if not isinstance(document, CommentedMap):
        raise ScenarioError(f"{name}:1: is not a mapping of keys; a scenario starts with `name:`, `summary:` and so on")
    return document


def _sentence(document: CommentedMap, detail: ErrorDetails, name: str) -> str:
    place = tuple(detail["loc"])
    line, keys, parent = _locate(document, place)
    return f"{name}:{line}: {'.'.join(keys) or 'scenario'}: {_explain(detail, place, parent)}"


def _locate(document: CommentedMap, place: tuple[int | str, ...]) -> tuple[int, list[str], Any]:
    """The line of the last part of `place` that stands in the file, its keys, and the value that holds it."""
    line, keys, node = 1, list[str](), document
    parent: Any = document
    for part in place:
        if isinstance(node, CommentedMap) and part in node:
            line, parent = node.lc.key(part)[0] + 1, node
        elif isinstance(node, CommentedSeq) and isinstance(part, int) and part < len(node):
            line, parent = node.lc.item(part)[0] + 1, node
        elif isinstance(node, CommentedMap) and part == place[-1]:
            # A key that is missing is named at its parent's line.
            keys.append(str(part))
            return line, keys, node
        else:
            # The name of a union's member, which pydantic puts in the path, stands nowhere in the file.
            continue
        keys.append(str(part))
        node = node[part]
    return line, keys, parent


def _explain(detail: ErrorDetails, place: tuple[int | str, ...], parent: Any) -> str:
    kind, context = detail["type"], detail.get("ctx", {})
    if kind == "extra_forbidden":
        return f"is not a known key{_nearest(str(place[-1]), place)}"
    if kind == "missing":
        return "is missing; add this key"
    if kind == "union_tag_invalid":
        return f"kind {context['tag']!r} is unknown; known are {context['expected_tags']}{_nearest_tag(context)}"
    if kind == "union_tag_not_found":
        return "needs `kind:`"
    if kind == "value_error":
        return str(context["error"])
    message = detail["msg"]
    return f"{message[0].lower()}{message[1:]}, not {_shown(detail['input'])}"


def _nearest_tag(context: dict[str, Any]) -> str:
    tags = [tag.strip("' ") for tag in str(context["expected_tags"]).split(",")]
    match = difflib.get_close_matches(str(context["tag"]), tags, n=1)
    return f"; did you mean {match[0]!r}?" if match else ""


def _nearest(key: str, place: tuple[int | str, ...]) -> str:
    known = _known_keys(place[:-1])
    match = difflib.get_close_matches(key, known, n=1)
    if match:
        return f"; did you mean {match[0]!r}?"
    return f"; known here are {', '.join(known)}" if known else ""


def _known_keys(place: tuple[int | str, ...]) -> list[str]:
    """The keys a scenario may have at `place`, read from the models' own JSON schema."""
    schema = Scenario.model_json_schema()
    node: dict[str, Any] = schema
    for part in place:
        node = _resolve(_step(_resolve(node, schema), part), schema)
    return list(_resolve(node, schema).get("properties", {}))


def _step(node: dict[str, Any], part: int | str) -> dict[str, Any]:
    mapping = node.get("discriminator", {}).get("mapping", {})
    if part in mapping:
        return {"$ref": mapping[part]}
    if isinstance(part, int):
        return dict(node.get("items", {}))
    if part in node.get("properties", {}):
        return dict(node["properties"][part])
    inner = node.get("additionalProperties") or next(iter(node.get("patternProperties", {}).values()), None)
    return inner if isinstance(inner, dict) else node


def _resolve(node: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    while "$ref" in node:
        node = schema["$defs"][node["$ref"].rsplit("/", 1)[-1]]
    return node


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
