"""Draws the trade: shed rate against the SLO's percentile, intervals as bars, the feasible side shaded.

A verdict has its own marker besides its colour, and each point stands beside its policy's letter.
"""

import math

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from lab.reporter.labels import place_labels
from lab.reporter.plots import STYLE, Figure, Line
from lab.reporter.svg import INK, LINES, VERDICTS, inline_svg
from lab.reporter.trade import Trade, TradePoint

WIDTH_INCHES, HEIGHT_INCHES = 5.4, 3.4
LEFT, RIGHT, BOTTOM, TOP = 0.105, 0.985, 0.14, 0.96
MARKERS = {"held": "o", "breached": "X"}
# A label keeps clear of a bar at so many places along it.
BAR_STEPS = 12
LABEL_PIXELS = 18.0
# What the axes show beyond the farthest finite value, so that an infinite one has a place above it.
HEADROOM = 1.2
INFINITE_AT = 0.94


def draw_trade(trade: Trade) -> Figure | None:
    """The picture of the trade; None where no policy has a point."""
    drawn = [point for point in trade.points if point.value_s is not None]
    if not drawn:
        return None
    with mpl.rc_context(STYLE):
        canvas = Canvas(figsize=(WIDTH_INCHES, HEIGHT_INCHES))
        canvas.subplots_adjust(left=LEFT, right=RIGHT, bottom=BOTTOM, top=TOP)
        axes = canvas.subplots()
        _frame(axes, trade, drawn)
        for point in drawn:
            _draw(axes, point)
        _letters(axes, drawn)
        svg = inline_svg(canvas, "trade")
    where = "in the fault" if trade.phase == "fault" else "over the whole drill"
    return Figure(
        name="trade",
        title="What each policy pays, and what it gets",
        caption=f"Shed rate against {trade.slo}, {where}. In the shaded area the SLO holds; farther left is cheaper.",
        alt=f"Shed rate against {trade.slo} {where}. {'; '.join(point.words() for point in trade.points)}.",
        legend=_legend(trade, drawn),
        svg=svg,
    )


def _frame(axes: Axes, trade: Trade, points: list[TradePoint]) -> None:
    ends = [
        end for point in points for end in (point.value_s, point.interval.high_s, point.slowest_s) if end is not None
    ]
    top = HEADROOM * max(trade.within_s, *(end for end in ends if math.isfinite(end)), 0.0)
    right = max(0.1, *(point.shed_ratio for point in points))
    axes.set_xlim(-4.0 * right, 108.0 * right)
    axes.set_ylim(0, top)
    axes.grid(visible=True)
    axes.set_xlabel("shed, % of the offered requests")
    axes.set_ylabel(f"{trade.slo}, seconds", parse_math=False)
    axes.axhspan(0, trade.within_s, color=VERDICTS["held"], alpha=0.1, linewidth=0)
    axes.axhline(trade.within_s, color=LINES["vermilion"], linestyle="--", linewidth=1.3)


def _draw(axes: Axes, point: TradePoint) -> None:
    colour, x, top = VERDICTS[point.verdict], 100 * point.shed_ratio, axes.get_ylim()[1]
    height, upper = _height(point, top), _upper(point, top)
    axes.plot([x, x], [_lower(point, top), upper], color=colour, linewidth=1.2)
    if point.interval.high_s is None or upper >= top:
        axes.plot([x], [upper], color=colour, marker="^", markersize=6, clip_on=False)
    face = "none" if point.too_close else colour
    axes.plot([x], [height], color=colour, marker=MARKERS[point.verdict], markersize=9, markerfacecolor=face)


def _lower(point: TradePoint, top: float) -> float:
    """Where the bar begins: at the interval's lower end, else at the point itself."""
    height = _height(point, top)
    return height if point.interval.low_s is None else min(point.interval.low_s, height)


def _upper(point: TradePoint, top: float) -> float:
    """Where the bar ends: at the interval's end, else at the slowest job seen; at the edge where that is infinite."""
    end = point.slowest_s if point.interval.high_s is None else point.interval.high_s
    return top if end is None or math.isinf(end) else min(end, top)


def _letters(axes: Axes, points: list[TradePoint]) -> None:
    """Each point's letter, beside it."""
    top = axes.get_ylim()[1]
    to_pixels, from_pixels = axes.transData.transform, axes.transData.inverted().transform
    origin = axes.transAxes.transform((0, 0))
    width, height = axes.transAxes.transform((1, 1)) - origin
    places = [tuple(to_pixels((100 * p.shed_ratio, _height(p, top))) - origin) for p in points]
    bars = [
        tuple(to_pixels((100 * p.shed_ratio, low + (_upper(p, top) - low) * step / BAR_STEPS)) - origin)
        for p in points
        for low in [_lower(p, top)]
        for step in range(BAR_STEPS + 1)
    ]
    for point, place in zip(points, place_labels(places, bars, LABEL_PIXELS, width, height), strict=True):
        x, y = from_pixels((place[0] + origin[0], place[1] + origin[1]))
        axes.text(x, y, point.letter, ha="center", va="center", fontsize=11, fontweight="bold", color=INK)


def _height(point: TradePoint, top: float) -> float:
    """Where it stands: an infinite time near the upper edge, with an arrow beyond."""
    return point.value_s if point.value_s is not None and math.isfinite(point.value_s) else INFINITE_AT * top


def _legend(trade: Trade, points: list[TradePoint]) -> tuple[Line, ...]:
    lines = [
        Line(f"SLO, {trade.within_s:g} s", "vermilion", "dashed"),
        Line("bar: where the percentile lies, 95 % sure", "ink", "solid"),
    ]
    marks = {"held": "● held", "breached": "✖ breached"}
    lines += [
        Line(words, verdict, "none") for verdict, words in marks.items() if any(p.verdict == verdict for p in points)
    ]
    if any(point.too_close for point in points):
        lines.append(Line("hollow: too close to call", "ink", "none"))
    if any(point.interval.high_s is None or math.isinf(point.interval.high_s) for point in points):
        lines.append(Line("▲ upper end infinite, or not known: the slowest job seen", "ink", "none"))
    return tuple(lines)
