"""Reads a scenario file; everything wrong in it becomes `file:line: what is wrong, what would be right`."""

import difflib
import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails
from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from lab.contract.scenario import Scenario
from lab.contract.spec import SpecError
from lab.contract.units import shown

MAX_SCENARIO_BYTES = 100_000
# Counted with every alias written out, since aliases of aliases make a small file immense.
MAX_SCENARIO_VALUES = 20_000
LONGEST_TAG = 40
# Where a key in the path pydantic gives stands for the key itself, not for its value.
_KEY_MARK = "[key]"


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
        words = YAML(typ="rt").compose(text)
        sentences = [_sentence(document, words, detail, name) for detail in error.errors(include_url=False)]
        raise ScenarioError("\n".join(dict.fromkeys(sentences))) from None


def _read(path: Path) -> str:
    try:
        with path.open("rb") as file:
            data = file.read(MAX_SCENARIO_BYTES + 1)
    except OSError as error:
        raise ScenarioError(
            f"{path}: cannot be read: {error.strerror or error}; give the path of a scenario file"
        ) from None
    if len(data) > MAX_SCENARIO_BYTES:
        raise ScenarioError(f"{path}: is larger than {MAX_SCENARIO_BYTES:,} bytes; a scenario is a short YAML file")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ScenarioError(f"{path}:{line}: is not UTF-8 text; a scenario is a YAML file in UTF-8") from None


def _parse_yaml(text: str, name: str) -> CommentedMap:
    try:
        document = YAML(typ="rt").load(text)
    except MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise ScenarioError(f"{name}:{line}: is not YAML: {_yaml_problem(error)}") from None
    except RecursionError:
        raise ScenarioError(f"{name}:1: is nested too deeply for a scenario") from None
    except (YAMLError, ValueError) as error:
        first_line = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise ScenarioError(f"{name}:1: is not YAML: {first_line}") from None
    if not isinstance(document, CommentedMap):
        raise ScenarioError(f"{name}:1: is not a mapping of keys; a scenario starts with `name:`, `summary:` and so on")
    if _count_values(document, {}) > MAX_SCENARIO_VALUES:
        raise ScenarioError(
            f"{name}:1: holds more than {MAX_SCENARIO_VALUES:,} values once its aliases are written out"
        )
    return document


def _count_values(node: Any, known: dict[int, float]) -> float:
    """Values below a node, each alias counted in full; infinite where one contains itself."""
    if not isinstance(node, dict | list):
        return 1
    if id(node) not in known:
        known[id(node)] = float("inf")
        inner = node.values() if isinstance(node, dict) else node
        known[id(node)] = 1 + sum(_count_values(value, known) for value in inner)
    return known[id(node)]


def _yaml_problem(error: MarkedYAMLError) -> str:
    problem = str(error.problem or error.context).strip().splitlines()[0]
    if "'\\t'" in problem:
        return "a tab stands where YAML allows only spaces; indent with spaces"
    if "duplicate key" in problem:
        return f"{problem}; keep one of the two"
    if "another document" in problem:
        return "a second document begins here; a file holds one scenario"
    return problem


def _sentence(document: CommentedMap, words: Node, detail: ErrorDetails, name: str) -> str:
    place = (*detail["loc"], *_inner_place(detail))
    line, keys = _locate(document, place, len(detail["loc"]))
    said = _in_the_users_words(_explain(detail), detail, _word_at(words, keys))
    return f"{name}:{line}: {_path(keys) or 'scenario'}: {said}"


def _in_the_users_words(sentence: str, detail: ErrorDetails, word: str | None) -> str:
    """What YAML made of a bare word, such as a date or a number, named as it stands in the file."""
    value = detail["input"]
    # Of a key that is wrong, the word that stands beside it is the value.
    if word is None or isinstance(value, str | dict | list) or detail["type"] == "invalid_key":
        return sentence
    word = _cut(word) or "nothing"
    if detail["type"] == "string_type":
        remedy = f'; put it in quotes: "{word}"' if value is not None else "; write a text"
        return f"{word} is {_made_of(value)} to YAML, and this must be text{remedy}"
    read = shown(value)
    if sentence.startswith(read):
        return f"{word}{sentence.removeprefix(read)}"
    return f"{sentence.removesuffix(read)}{word}" if sentence.endswith(read) else sentence


def _made_of(value: object) -> str:
    if value is None:
        return "no value"
    if isinstance(value, bool):
        return "true or false"
    return "a date" if isinstance(value, date) else "a number" if isinstance(value, int | float) else "no text"


def _word_at(node: Node, keys: list[str | int]) -> str | None:
    """The bare text of a value as it stands in the file; None where `keys` lead to no such, as past a merged key."""
    for key in keys:
        if isinstance(node, SequenceNode) and isinstance(key, int):
            node = node.value[key]
        elif isinstance(node, MappingNode):
            found = [value for name, value in node.value if name.value == str(key)]
            if not found:
                return None
            node = found[0]
    return str(node.value) if isinstance(node, ScalarNode) else None


def _inner_place(detail: ErrorDetails) -> tuple[str | int, ...]:
    """Where in the part that noticed an error the wrong value stands."""
    error = detail.get("ctx", {}).get("error")
    return error.place if isinstance(error, SpecError) else ()


def _path(keys: list[str | int]) -> str:
    """`faults[0].for`, as people write paths; indices from 0."""
    parts = (f"[{key}]" if isinstance(key, int) else f".{key}" for key in keys)
    return "".join(parts).removeprefix(".")


def _locate(document: CommentedMap, place: tuple[int | str, ...], named_count: int) -> tuple[int, list[str | int]]:
    """The line of the last part of `place` that stands in the file, and the keys that lead there.

    The first `named_count` parts are pydantic's, in which members of unions are named.
    """
    line, keys = 1, list[str | int]()
    node: Any = document
    member: Any = None
    for depth, part in enumerate(place):
        # In pydantic's part of the path a union member's name comes once before its keys, and may equal one of them.
        if depth < named_count and node is not member and isinstance(node, CommentedMap) and node.get("kind") == part:
            member = node
            continue
        if not _has(node, part):
            # The name of a union's member, which pydantic puts in the path, stands nowhere in the file, but a key that
            # is missing ends the path and is named at its parent's line.
            if part == place[-1] and isinstance(node, CommentedMap) and part != _KEY_MARK:
                keys.append(part)
            continue
        line = _line_of(node, part)
        keys.append(part)
        node = node[part]
    return line, keys


def _has(node: Any, part: int | str) -> bool:
    if isinstance(node, CommentedSeq):
        return isinstance(part, int) and part < len(node)
    return isinstance(node, CommentedMap) and part in node


def _line_of(node: CommentedMap | CommentedSeq, part: int | str) -> int:
    """Counted from 1. A key merged in by `<<` stands elsewhere: its line is the mapping's own."""
    known = node.lc.data or {}
    if part not in known:
        return int(node.lc.line) + 1
    return int(known[part][0]) + 1


def _explain(detail: ErrorDetails) -> str:
    explain = _EXPLANATIONS.get(detail["type"])
    if explain is not None:
        return explain(detail)
    message = detail["msg"]
    return f"{message[0].lower()}{message[1:]}, not {shown(detail['input'])}"


def _unknown_key(detail: ErrorDetails) -> str:
    place = detail["loc"]
    return f"is not a known key{_nearest(str(place[-1]), place)}"


def _unknown_kind(detail: ErrorDetails) -> str:
    context = detail["ctx"]
    key = str(context["discriminator"]).strip("'")
    known = context["expected_tags"]
    return f"{key} {_cut(str(context['tag']))!r} is unknown; known are {known}{_nearest_tag(context)}"


def _no_mapping(detail: ErrorDetails) -> str:
    return f"must be a mapping of keys, not {shown(detail['input'])}"


# By pydantic's names for its errors; what is not here is worded well enough by pydantic.
_EXPLANATIONS: dict[str, Callable[[ErrorDetails], str]] = {
    "extra_forbidden": _unknown_key,
    "missing": lambda _detail: "is missing; add this key",
    "union_tag_invalid": _unknown_kind,
    "union_tag_not_found": lambda detail: "needs `{}:`".format(str(detail["ctx"]["discriminator"]).strip("'")),
    "value_error": lambda detail: str(detail["ctx"]["error"]),
    "model_type": _no_mapping,
    "model_attributes_type": _no_mapping,
    "dict_type": _no_mapping,
    "tuple_type": lambda detail: f"must be a list, not {shown(detail['input'])}",
    "int_parsing": lambda detail: f"must be a whole number, not {shown(detail['input'])}",
    "string_pattern_mismatch": lambda detail: f"{shown(detail['input'])} does not match {detail['ctx']['pattern']}",
}


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST_TAG else f"{text[:LONGEST_TAG]}..."


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
    node = _resolve(node, schema)
    forms = [node, *(_resolve(form, schema) for form in (*node.get("oneOf", ()), *node.get("anyOf", ())))]
    return [key for form in forms for key in form.get("properties", {})]


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
