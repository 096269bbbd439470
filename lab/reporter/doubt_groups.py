"""The same doubt about several arms is one doubt that names them. Pure."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from lab.reporter.doubts import CODES, Doubt

# A figure stands alone: the 1 of `latency-1` and the 95 of `p95` are names.
_FIGURE = re.compile(r"(?<![\w.-])\d+(?:,\d{3})*(?:\.\d+)?(?![\w-])")


@dataclass(frozen=True, slots=True)
class DoubtGroup:
    """One doubt about `arms`, in their order; where their figures differ, the sentence gives the lowest and highest."""

    code: str
    arms: tuple[str, ...]
    sentence: str

    @property
    def advice(self) -> str:
        """What to do about it."""
        return CODES[self.code]


def group_doubts(doubts: Iterable[Doubt]) -> tuple[DoubtGroup, ...]:
    """Groups by code and by the sentence but for its figures; a group stands where its first doubt stood."""
    groups: dict[tuple[str, str], list[Doubt]] = {}
    for doubt in doubts:
        groups.setdefault((doubt.code, _FIGURE.sub("#", doubt.sentence)), []).append(doubt)
    return tuple(
        DoubtGroup(code, tuple(dict.fromkeys(doubt.arm for doubt in group)), _merged([d.sentence for d in group]))
        for (code, _), group in groups.items()
    )


def _merged(sentences: list[str]) -> str:
    """Their common sentence; each figure becomes `low to high` where it is not the same in all."""
    columns = iter(zip(*(_FIGURE.findall(sentence) for sentence in sentences), strict=True))
    return _FIGURE.sub(lambda _match: _range(next(columns)), sentences[0])


def _range(figures: tuple[str, ...]) -> str:
    ordered = sorted(set(figures), key=lambda figure: float(figure.replace(",", "")))
    return ordered[0] if len(ordered) == 1 else f"{ordered[0]} to {ordered[-1]}"
