"""Faults and policies as a command line says them: which kinds there are, which flags each takes, what is wrong.

All of it is read off the models, so that a kind or key which a scenario may hold can be said at a terminal too.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, get_args

from pydantic import TypeAdapter, ValidationError
from pydantic.fields import FieldInfo

from lab.contract.fault_spec import AnyFault
from lab.contract.policy_spec import POLICY_ADAPTER, PolicySpec
from lab.contract.spec import Spec
from lab.contract.units import write_duration

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


FAULT_KINDS = _kinds(AnyFault)
POLICY_KINDS = _kinds(PolicySpec)


def flags_of(model: type[Spec], without: frozenset[str]) -> tuple[Flag, ...]:
    """The flags of one kind, `kind` and the keys in `without` left out."""
    fields = {field.alias or name: field for name, field in model.model_fields.items()}
    return tuple(_flag(key, field) for key, field in fields.items() if key not in without | {"kind"})


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


def _read(adapter: TypeAdapter[Any], said: Mapping[str, Any]) -> Any:
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
    # What comes before the key names the member of the union.
    key = next((part for part in reversed(detail["loc"]) if isinstance(part, str)), "kind")
    option = f"--{key.replace('_', '-')}"
    if detail["type"] == _MISSING:
        return f"{option} is missing; say it"
    error = detail.get("ctx", {}).get("error")
    text = str(error) if error is not None else f"{detail['msg'][0].lower()}{detail['msg'][1:]}"
    return f"{option}: {text}"


def _flag(key: str, field: FieldInfo) -> Flag:
    choices = get_args(field.annotation)
    is_list = field.annotation not in (str, int, float) and bool(choices) and not all(map(_is_text, choices))
    return Flag(
        key=key,
        required=field.is_required(),
        choices=() if is_list else tuple(map(str, choices)),
        shown=_shown(field),
        default=_default(field),
        many=is_list,
    )


def _is_text(choice: object) -> bool:
    return isinstance(choice, str)


def _shown(field: FieldInfo) -> str:
    """What stands for the value in the help."""
    if _is_duration(field):
        return "TIME"
    return {int: "N", float: "NUMBER"}.get(field.annotation or str, "WORDS")


def _is_duration(field: FieldInfo) -> bool:
    return any(getattr(mark, "func", None) is write_duration for mark in field.metadata)


def _default(field: FieldInfo) -> str:
    if field.is_required() or field.default in ("", ()):
        return ""
    return write_duration(field.default) if _is_duration(field) else str(field.default)
