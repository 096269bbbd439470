"""Reads and writes JSON as Go's decoder does, since Toxiproxy's clients have come to rely on it.

The first value of a body counts and what follows it is ignored; keys match without regard to case; null leaves a field
as it was; an integer field takes no fraction, not even 1.0.
"""

import json
import math
import re
import struct
from typing import Any

Object = dict[str, Any]

_INTEGER = re.compile(r"^-?\d{1,20}$")
_INT64_MIN, _INT64_MAX = -(2**63), 2**63 - 1
_FLOAT32_DIGITS = 9


class GoJsonError(ValueError):
    """A body that Go's decoder would refuse; the sentence is its own where clients see it often."""


class Number(str):
    """A number as it was written, so that 1.0 and 1 stay apart."""

    __slots__ = ()


def decode(body: bytes) -> Any:
    """The first JSON value of a body; numbers stay text, objects are keyed in lower case.

    Raises:
        GoJsonError: there is none.
    """
    text = body.decode("utf-8", "replace").lstrip(" \t\r\n")
    if not text:
        raise GoJsonError("EOF")
    try:
        value, _ = _DECODER.raw_decode(text)
    except json.JSONDecodeError as error:
        raise GoJsonError(_syntax(error, text)) from None
    except RecursionError:
        raise GoJsonError("exceeded max depth") from None
    return value


def decode_object(body: bytes, go_type: str) -> Object:
    """The first JSON value of a body, which must be an object or null.

    Raises:
        GoJsonError: it is neither.
    """
    value = decode(body)
    return as_object(value, f"value of type {go_type}") or {}


def as_object(value: Any, where: str) -> Object | None:
    """An object, or None for null. Raises GoJsonError for anything else."""
    if value is None or isinstance(value, dict):
        return value
    raise _mismatch(value, where)


def text_field(fields: Object, name: str, owner: str, default: str = "") -> str:
    """A string field; its default where absent or null. Raises GoJsonError for anything else."""
    value = fields.get(name)
    if value is None:
        return default
    if isinstance(value, str) and not isinstance(value, Number):
        # A lone surrogate cannot be sent back; Go replaces it too.
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    raise _mismatch(value, f"struct field {owner}.{name} of type string")


def flag_field(fields: Object, name: str, owner: str, *, default: bool) -> bool:
    """A boolean field; its default where absent or null. Raises GoJsonError for anything else."""
    value = fields.get(name)
    if value is None:
        return default
    if isinstance(value, bool):
        return value
    raise _mismatch(value, f"struct field {owner}.{name} of type bool")


def integer_field(fields: Object, name: str, owner: str, default: int) -> int:
    """A 64-bit integer field; its default where absent or null. Raises GoJsonError for fractions and all else."""
    value = fields.get(name)
    if value is None:
        return default
    where = f"struct field {owner}.{name} of type int64"
    if not isinstance(value, Number):
        raise _mismatch(value, where)
    if not _INTEGER.match(value) or not _INT64_MIN <= int(value) <= _INT64_MAX:
        raise GoJsonError(f"json: cannot unmarshal number {value[:40]} into Go {where}")
    return int(value)


def float32_field(fields: Object, name: str, owner: str, default: float) -> float:
    """A 32-bit float field; its default where absent or null. Raises GoJsonError for all but numbers in range."""
    value = fields.get(name)
    if value is None:
        return default
    where = f"struct field {owner}.{name} of type float32"
    if not isinstance(value, Number):
        raise _mismatch(value, where)
    try:
        return shortest_float32(float(value))
    except OverflowError:
        raise GoJsonError(f"json: cannot unmarshal number {value[:40]} into Go {where}") from None


def shortest_float32(number: float) -> float:
    """The number with the fewest digits that is the same 32-bit float, as Go prints it.

    Raises:
        OverflowError: no 32-bit float is near.
    """
    if math.isinf(number):
        raise OverflowError("no 32-bit float is near")
    # Only a stated byte order makes an overflow an error; the native one gives infinity.
    packed = struct.pack("<f", number)
    candidates = (float(f"{number:.{digits}g}") for digits in range(1, _FLOAT32_DIGITS + 1))
    return next((near for near in candidates if _packs_to(near, packed)), number)


def encode(value: object) -> bytes:
    """Compact JSON, with the characters escaped that Go escapes."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text.encode()


def whole(number: float) -> float:
    """The same number, an int where it is one, so that it is written without a fraction."""
    return int(number) if number.is_integer() else number


def _packs_to(number: float, packed: bytes) -> bool:
    try:
        return struct.pack("<f", number) == packed
    except OverflowError:
        return False


def _fold(pairs: list[tuple[str, Any]]) -> Object:
    folded: Object = {}
    for key, value in pairs:
        name = key.casefold()
        if value is not None or name not in folded:
            folded[name] = value
    return folded


def _refuse_constant(name: str) -> Any:
    raise GoJsonError(f"invalid character {name[0]!r} looking for beginning of value")


def _syntax(error: json.JSONDecodeError, text: str) -> str:
    if error.pos >= len(text) or error.msg.startswith("Unterminated string"):
        return "unexpected EOF"
    sought = "object key string" if "property name" in error.msg else "value"
    return f"invalid character {text[error.pos]!r} looking for beginning of {sought}"


def _mismatch(value: Any, where: str) -> GoJsonError:
    return GoJsonError(f"json: cannot unmarshal {_kind(value)} into Go {where}")


def _kind(value: Any) -> str:
    match value:
        case bool():
            return "bool"
        case Number():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
        case _:
            return "object"


_DECODER = json.JSONDecoder(
    parse_int=Number, parse_float=Number, parse_constant=_refuse_constant, object_pairs_hook=_fold
)
