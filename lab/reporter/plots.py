"""Draws the small multiples: one figure per measure, one panel per policy, shared axes, fault windows shaded.

Colours are stand-ins that `lab.reporter.svg` turns into the page's own, so that a figure follows light, dark and print.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import matplotlib as mpl
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from lab.reporter.arm import ArmReport
from lab.reporter.svg import INK, LINES, SHADE, inline_svg
from lab.reporter.thresholds import OWN, threshold_of
from lab.reporter.wording import slo_words

# Intended times in the journal are the timeline's plus a unix time, so they carry its rounding.
SAME_STEP_S = 0.001
# Fixed margins, so that time stands at the same place in every figure.
COLUMN_INCHES, HEIGHT_INCHES = 2.85, 1.95
MOST_COLUMNS = 4
LEFT_INCHES, RIGHT_INCHES, BOTTOM_INCHES, TOP_INCHES, GAP_RATIO = 0.6, 0.08, 0.45, 0.25, 0.08
STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "shedlab",
    "font.size": 9,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.titlecolor": INK,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "grid.color": INK,
    "grid.alpha": 0.15,
    "grid.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "lines.linewidth": 1.6,
}


@dataclass(frozen=True, slots=True)
class Line:
    """An entry of a figure's legend: which colour and style stands for what."""

    text: str
    colour: str
    style: str


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure of the page: its SVG, and in words what it shows."""

    name: str
    title: str
    caption: str
    alt: str
    legend: tuple[Line, ...]
    svg: str


def draw_figures(arms: tuple[ArmReport, ...]) -> tuple[Figure, ...]:
    """The five figures, in the report's order. Repeats of a policy share its panel."""
    return (_rates(arms), *(_sampled(arms, shown) for shown in _SAMPLED), _ttft(arms))


def _rates(arms: tuple[ArmReport, ...]) -> Figure:
    def draw(axes: Axes, arm: ArmReport, alpha: float) -> None:
        rates = arm.series.rates
        axes.step(rates["second"], rates["arrivals"], where="post", color=LINES["blue"], alpha=alpha)
        axes.step(rates["second"], rates["shed"], where="post", color=LINES["vermilion"], alpha=alpha, linestyle="--")

    return _figure(
        arms,
        draw,
        name="rates",
        title="Arrivals and sheds",
        unit="per second",
        caption="The same arrivals for every policy, and what each refused of them.",
        legend=(Line("arrivals", "blue", "solid"), Line("shed", "vermilion", "dashed")),
        peaks=[f"{arm.name} sheds up to {arm.series.rates['shed'].max():.1f}/s" for arm in arms],
    )


@dataclass(frozen=True, slots=True)
class _Sampled:
    """One sampled signal's figure; `factor` turns the sampled unit into the shown one."""

    name: str
    signal: str
    title: str
    unit: str
    factor: float
    caption: str


_SAMPLED = (
    _Sampled(
        "age",
        "queue_age_s",
        "Queue age",
        "seconds",
        1.0,
        "How long the oldest job has waited undelivered. It grows as soon as work arrives faster than it is done.",
    ),
    _Sampled(
        "depth",
        "queue_depth",
        "Queue depth",
        "jobs",
        1.0,
        "How many jobs wait undelivered. The same depth means a longer wait once each job takes longer.",
    ),
    _Sampled(
        "utilization",
        "utilization_ratio",
        "Utilization",
        "%",
        100.0,
        "Occupied slots over slots, smoothed. It says that the stack is busy, not for how long jobs wait.",
    ),
)


def _sampled(arms: tuple[ArmReport, ...], shown: _Sampled) -> Figure:
    def draw(axes: Axes, arm: ArmReport, alpha: float) -> None:
        signals = arm.series.signals
        axes.plot(signals["second"], signals[shown.signal] * shown.factor, color=LINES["blue"], alpha=alpha)
        declared = threshold_of(arm.header.scenario, arm.header.policy, shown.signal)
        if declared:
            style = "--" if declared[1] == OWN else ":"
            axes.axhline(declared[0] * shown.factor, color=LINES["vermilion"], linestyle=style, linewidth=1.3)

    legend = [Line(shown.title.lower(), "blue", "solid")]
    if threshold_of(arms[0].header.scenario, arms[0].header.policy, shown.signal):
        legend += [
            Line("the policy's own threshold", "vermilion", "dashed"),
            Line("another policy's, for comparison", "vermilion", "dotted"),
        ]
    return _figure(
        arms,
        draw,
        name=shown.name,
        title=shown.title,
        unit=shown.unit,
        caption=shown.caption,
        legend=tuple(legend),
        peaks=[f"{arm.name} peaks at {_most(arm.series.signals[shown.signal]) * shown.factor:.1f}" for arm in arms],
    )


def _ttft(arms: tuple[ArmReport, ...]) -> Figure:
    within = arms[0].header.scenario.slo.within
    ttft_is_judged = arms[0].header.scenario.slo.measure == "ttft"

    def draw(axes: Axes, arm: ArmReport, alpha: float) -> None:
        ttft = arm.series.ttft
        axes.plot(ttft["second"], ttft["p95"], color=LINES["blue"], alpha=alpha)
        axes.plot(ttft["second"], ttft["p50"], color=LINES["green"], alpha=alpha, linestyle="-.", linewidth=1.3)
        failed = ttft.loc[ttft["failed"], "second"]
        # At the upper edge, since what never came has no height.
        axes.scatter(
            failed,
            [0.97] * len(failed),
            transform=axes.get_xaxis_transform(),
            color=LINES["vermilion"],
            marker="x",
            s=16,
        )
        if ttft_is_judged:
            axes.axhline(within, color=LINES["vermilion"], linestyle="--", linewidth=1.3)

    legend = [Line("p95", "blue", "solid"), Line("p50", "green", "dashdot")]
    if ttft_is_judged:
        legend.append(Line(f"SLO, {within:g} s", "vermilion", "dashed"))
    if any(arm.series.ttft["failed"].any() for arm in arms):
        legend.append(Line("× p95 infinite: jobs failed", "vermilion", "none"))  # noqa: RUF001 - the mark as drawn
    return _figure(
        arms,
        draw,
        name="ttft",
        title="Time to first token",
        unit="seconds",
        caption=f"Of admitted jobs, by due time. The SLO: {slo_words(arms[0].header.scenario)} within {within:g} s.",
        legend=tuple(legend),
        peaks=[f"{arm.name}'s p95 peaks at {_most(arm.series.ttft['p95']):.1f} s" for arm in arms],
    )


def _most(values: pd.Series) -> float:
    highest = float(values.max())
    return 0.0 if math.isnan(highest) else highest


def _figure(
    arms: tuple[ArmReport, ...],
    draw: Callable[[Axes, ArmReport, float], None],
    *,
    name: str,
    title: str,
    unit: str,
    caption: str,
    legend: tuple[Line, ...],
    peaks: list[str],
) -> Figure:
    letters = sorted({arm.header.policy for arm in arms})
    with mpl.rc_context(STYLE):
        canvas, panels = _panels(len(letters), unit)
        for axes, letter in zip(panels, letters, strict=True):
            mine = [arm for arm in arms if arm.header.policy == letter]
            _frame(axes, mine[0])
            for arm in mine:
                draw(axes, arm, 1.0 if len(mine) == 1 else 0.6)
        panels[0].set_ylim(bottom=0)
        panels[0].set_xlim(left=0)
        svg = inline_svg(canvas, name)
    alt = f"{title} over time, one panel per policy. {'; '.join(peaks)}."
    return Figure(name, title, caption, alt, legend, svg)


def columns_of(policies: int) -> int:
    """How many panels stand side by side: as many in each row, and no more than a page shows without a scroll."""
    return math.ceil(policies / math.ceil(policies / MOST_COLUMNS))


def _panels(number: int, unit: str) -> tuple[Canvas, list[Axes]]:
    """One panel per policy on shared axes, in rows."""
    columns = columns_of(number)
    rows = math.ceil(number / columns)
    width, height = LEFT_INCHES + COLUMN_INCHES * columns, HEIGHT_INCHES * rows
    canvas = Canvas(figsize=(width, height))
    canvas.subplots_adjust(
        left=LEFT_INCHES / width,
        right=1 - RIGHT_INCHES / width,
        bottom=BOTTOM_INCHES / height,
        top=1 - TOP_INCHES / height,
        wspace=GAP_RATIO,
        hspace=(BOTTOM_INCHES + TOP_INCHES) / (HEIGHT_INCHES - BOTTOM_INCHES - TOP_INCHES),
    )
    grid = canvas.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
    for axes in grid[:, 0]:
        axes.set_ylabel(unit)
    panels = list(grid.flat)
    for unused in panels[number:]:
        unused.remove()
    for axes in panels[:number]:
        # Each is read by itself, so each says its seconds.
        axes.tick_params(labelbottom=True)
    return canvas, panels[:number]


def _frame(axes: Axes, arm: ArmReport) -> None:
    kind = arm.header.kind.replace("_", " ")
    # Text is drawn as text, where a dollar sign would begin a formula.
    axes.set_title(f"{arm.header.policy} · {kind}", loc="left", fontsize=9, fontweight="bold", parse_math=False)
    axes.grid(visible=True)
    axes.set_xlabel("seconds")
    for start, end in fault_windows(arm):
        axes.axvspan(start, end, color=SHADE, alpha=0.16, linewidth=0)


def fault_windows(arm: ArmReport) -> Iterator[tuple[float, float]]:
    """When each fault acted, in seconds after the first due time; for one not in the journal, when it was meant to."""
    for fault in arm.header.scenario.faults:
        yield _actual(arm, "inject", fault.start), _actual(arm, "revert", fault.end)


def _actual(arm: ArmReport, what: str, meant_s: float) -> float:
    steps = (moment for moment in arm.moments if moment.what == what and moment.intended_s is not None)
    return next(
        (step.actual_s for step in steps if math.isclose(step.intended_s or 0.0, meant_s, abs_tol=SAME_STEP_S)), meant_s
    )
