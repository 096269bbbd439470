"""Where the labels of points stand so that they cover neither each other nor a point. Pure."""

from collections.abc import Sequence

Place = tuple[float, float]
# Right of the point first, then around it, then the same farther out; in units of the label's size.
_AROUND = ((1, 0), (-1, 0), (0.9, 0.9), (0.9, -0.9), (-0.9, 0.9), (-0.9, -0.9), (0, 1.2), (0, -1.2))
CANDIDATES: tuple[Place, ...] = tuple((x * far, y * far) for far in (1.0, 2.0, 3.0) for x, y in _AROUND)


def place_labels(
    points: Sequence[Place], others: Sequence[Place], size: float, width: float, height: float
) -> list[Place]:
    """Centres of the labels, in the unit of the points: the first candidate around each that is free and inside.

    `others` are more places to keep clear of, `size` is a label's side. Where every candidate is taken, the one that
    covers least.
    """
    placed: list[Place] = []
    for x, y in points:
        candidates = [(x + size * dx, y + size * dy) for dx, dy in CANDIDATES]
        inside = [
            (cx, cy)
            for cx, cy in candidates
            if size / 2 <= cx <= width - size / 2 and size / 2 <= cy <= height - size / 2
        ]
        taken = [*placed, *points, *others]
        placed.append(min(inside or candidates, key=lambda centre: _covered(centre, taken, size)))
    return placed


def _covered(centre: Place, taken: Sequence[Place], size: float) -> float:
    """The share of a label's area that others cover."""
    return sum(max(0.0, size - abs(centre[0] - x)) * max(0.0, size - abs(centre[1] - y)) for x, y in taken) / size**2
