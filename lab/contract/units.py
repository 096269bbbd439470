"""Durations, rates and ratios as people write them in YAML, and as typed fields.

A field typed `Duration` holds seconds, `Rate` holds events per second, `Ratio` a number from 0 to 1.
The marker in the annotation is what `lab.contract.speed` scales by.
"""

import math
import re
from dataclasses import dataclass
from typing import Annotated

from pydantic import BeforeValidator, PlainSerializer

_SECONDS_PER_UNIT = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_NUMBER = r"(?P<number>\d+(?:\.\d+)?)"
_DURATION = re.compile(rf"^{_NUMBER}\s*(?P<unit>us|ms|s|m|h)$")
_RATE = re.compile(rf"^{_NUMBER}\s*/\s*(?P<unit>s|m|h)$")
_PERCENT = re.compile(rf"^{_NUMBER}\s*%$")
_LONGEST_SHOWN = 60


def shown(value: object) -> str:
    """A value as an error message names it: short, whatever it is. Aliases can make a small file's list immense."""
    if isinstance(value, dict | list | tuple | set):
        return "a mapping" if isinstance(value, dict) else "a list"
    text = repr(value)
    return text if len(text) <= _LONGEST_SHOWN else f"{text[: _LONGEST_SHOWN - 3]}..."


@dataclass(frozen=True, slots=True)
class Scale:
    """How a field follows SPEED: its value is multiplied by speed to this power."""

    power: int


def parse_duration(value: object) -> float:
    """Seconds of a duration such as `350ms`, `2s`, `5m`.

    Raises:
        ValueError: the value is no duration with a unit; the sentence says what would be right.
    """
    match = _DURATION.match(value.strip()) if isinstance(value, str) else None
    if match is None:
        raise ValueError(
            f"{shown(value)} is not a duration; write a number that is not negative and a unit, such as 350ms, 2s or 5m"
        )
    return _finite(float(match["number"]) * _SECONDS_PER_UNIT[match["unit"]])


def parse_rate(value: object) -> float:
    """Events per second of a rate such as `40/s` or `6/m`.

    Raises:
        ValueError: the value is no rate with a unit.
    """
    match = _RATE.match(value.strip()) if isinstance(value, str) else None
    if match is None:
        raise ValueError(
            f"{shown(value)} is not a rate; write a number that is not negative and a unit, such as 40/s or 6/m"
        )
    return _finite(float(match["number"]) / _SECONDS_PER_UNIT[match["unit"]])


def parse_ratio(value: object) -> float:
    """A number from 0 to 1, written as `80%` or `0.8`.

    Raises:
        ValueError: the value is neither, or lies outside 0 to 1.
    """
    ratio = math.nan
    if isinstance(value, str) and (match := _PERCENT.match(value.strip())):
        ratio = float(match["number"]) / 100
    elif isinstance(value, int | float) and not isinstance(value, bool):
        ratio = float(value)
    if not 0 <= ratio <= 1:
        raise ValueError(f"{shown(value)} is not a ratio; write a percentage from 0% to 100% or a number from 0 to 1")
    return ratio


def _finite(number: float) -> float:
    if not math.isfinite(number):
        raise ValueError(f"{number!r} is not a finite number")
    return number


def write_duration(seconds: float) -> str:
    """The shortest exact way to write a duration in seconds: `0.35` -> `350ms`."""
    return f"{seconds:g}s" if seconds >= 1 or seconds == 0 else f"{seconds * 1000:g}ms"


def write_rate(per_second: float) -> str:
    """A rate per second as text: `10.0` -> `10/s`."""
    return f"{per_second:g}/s"


# Serialised as text with a unit, so that a dumped scenario can be read back.
# A stretch of a recording: SPEED plays recordings faster, it does not shorten them.
RecordedDuration = Annotated[float, BeforeValidator(parse_duration), PlainSerializer(write_duration, when_used="json")]
Duration = Annotated[
    float, BeforeValidator(parse_duration), PlainSerializer(write_duration, when_used="json"), Scale(-1)
]
Rate = Annotated[float, BeforeValidator(parse_rate), PlainSerializer(write_rate, when_used="json"), Scale(1)]
Ratio = Annotated[float, BeforeValidator(parse_ratio)]
