"""Faults and policies as a command line says them: which kinds there are, which flags each takes, what is wrong.

All of it is read off the models, so that a kind or key which a scenario may hold can be said at a terminal too.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeVar, get_args, get_origin

from pydantic import TypeAdapter, ValidationError
from pydantic.fields import FieldInfo

from lab.contract.fault_spec import AnyFault, PolicyFault, RouteFault
from lab.contract.policy_spec import POLICY_ADAPTER, PolicySpec
from lab.contract.spec import Spec
from lab.contract.units import write_duration

Value = TypeVar("Value")
_FAULT_ADAPTER: TypeAdapter[AnyFault] = TypeAdapter(AnyFault)
_NUMBER = re.compile(r"^-?\d+(\.\d+)?$")
_MISSING = "missing"


class FlagError(Exception):
    """Words that make no fault or policy; one sentence a line, each with its flag."""


@dataclass(frozen=True, slots=True)
class Flag:
    """One flag: `key` as scenario files spell it, what may be said (empty: see `shown`), and its default as text."""

    key: str
    required: bool
    choices: tuple[str, ...]
    shown: str
    default: str
    many: bool

    @property
    def option(self) -> str:
        """`--max-age` of `max_age`."""
        return f"--{self.key.replace('_', '-')}"


def _kinds(union: object) -> dict[str, type[Spec]]:
    members = get_args(get_args(union)[0])
    return {get_args(member.model_fields["kind"].annotation)[0]: member for member in members}


# By hand a policy is switched by verbs of its own, and a route by a command in the edge.
FAULT_KINDS = {kind: model for kind, model in _kinds(AnyFault).items() if model not in (PolicyFault, RouteFault)}
POLICY_KINDS = _kinds(PolicySpec)


def flags_of(model: type[Spec], without: frozenset[str]) -> tuple[Flag, ...]:
    """The flags of one kind but for `kind` and the keys in `without`; a section, such as degrade, has its defaults."""
    fields = {field.alias or name: field for name, field in model.model_fields.items()}
    said = {key: field for key, field in fields.items() if key not in without | {"kind"} and not _is_section(field)}
    return tuple(_flag(key, field) for key, field in said.items())


def _is_section(field: FieldInfo) -> bool:
    members = (field.annotation, *get_args(field.annotation))
    return any(isinstance(member, type) and issubclass(member, Spec) for member in members)


def kind_help(model: type[Spec]) -> str:
    """The first line of a kind's description."""
    return (model.__doc__ or "").strip().splitlines()[0]


def read_fault(said: Mapping[str, Any]) -> AnyFault:
    """A fault from its keys; texts are read as YAML would read them.

    Raises:
        FlagError: they make none.
    """
    return _read(_FAULT_ADAPTER, said)


def read_policy(said: Mapping[str, Any]) -> PolicySpec:
    """A policy from its keys.

    Raises:
        FlagError: they make none.
    """
    return _read(POLICY_ADAPTER, said)


def fault_json(fault: AnyFault) -> dict[str, Any]:
    """A fault as values that `read_fault` takes back."""
    return fault.model_dump(mode="json", by_alias=True)


def _read(adapter: TypeAdapter[Value], said: Mapping[str, Any]) -> Value:
    try:
        return adapter.validate_python({key: _scalar(value) for key, value in said.items()})
    except ValidationError as error:
        details = error.errors(include_url=False, include_input=False)
        raise FlagError("\n".join(dict.fromkeys(map(_sentence, details)))) from None


def _scalar(value: Any) -> Any:
    if isinstance(value, str) and _NUMBER.match(value.strip()):
        return float(value) if "." in value else int(value)
    return value


def _sentence(detail: Any) -> str:
    # The first part of the place names the kind; alone, it is the kind as a whole that does not hang together.
    kind, *keys = detail["loc"] or ("kind",)
    key = next((part for part in keys if isinstance(part, str)), None)
    option = f"{kind}" if key is None else f"--{key.replace('_', '-')}"
    if detail["type"] == _MISSING:
        return f"{option} is missing; say it"
    error = detail.get("ctx", {}).get("error")
    text = str(error) if error is not None else f"{detail['msg'][0].lower()}{detail['msg'][1:]}"
    return f"{option}: {text}"


def _flag(key: str, field: FieldInfo) -> Flag:
    annotation = field.annotation
    return Flag(
        key=key,
        required=field.is_required(),
        choices=tuple(map(str, get_args(annotation))) if get_origin(annotation) is Literal else (),
        shown=_shown(field),
        default=_default(field),
        many=get_origin(annotation) is tuple,
    )


def _shown(field: FieldInfo) -> str:
    """What stands for the value in the help."""
    if _is_duration(field):
        return "TIME"
    words: dict[object, str] = {int: "N", float: "NUMBER", tuple: "A,B"}
    return next((word for kind, word in words.items() if _holds(field.annotation, kind)), "WORD")


def _holds(annotation: object, kind: object) -> bool:
    """Whether an annotation is this type, a union with it, or a collection of that type."""
    if annotation is kind or get_origin(annotation) is kind:
        return True
    return get_origin(annotation) is not tuple and any(_holds(part, kind) for part in get_args(annotation))


def _is_duration(field: FieldInfo) -> bool:
    return any(getattr(mark, "func", None) is write_duration for mark in field.metadata)


def _default(field: FieldInfo) -> str:
    if field.is_required() or field.default in ("", (), None):
        return ""
    return write_duration(field.default) if _is_duration(field) else str(field.default)
