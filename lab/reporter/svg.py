"""A drawn figure as SVG inside the page: no address of any host, colours from the page's style, its own ids."""

import io
import re

from matplotlib.figure import Figure

# Colours that no figure would choose, each standing for a CSS value.
INK, SHADE = "#010203", "#010204"
LINES = {"blue": "#010205", "vermilion": "#010206", "green": "#010207"}
VERDICTS = {"held": "#010208", "breached": "#010209"}
_CSS = {
    INK: "currentColor",
    SHADE: "var(--shade)",
    VERDICTS["held"]: "var(--good)",
    VERDICTS["breached"]: "var(--bad)",
    **{colour: f"var(--{name})" for name, colour in LINES.items()},
}

_PROLOGUE = re.compile(r"^.*?(?=<svg)", re.DOTALL)
_METADATA = re.compile(r"<metadata>.*?</metadata>", re.DOTALL)
_NAMESPACE = re.compile(r'\s+xmlns(?::\w+)?="[^"]*"')
_SIZE = re.compile(r'(<svg[^>]*?)\s+width="[^"]*"', re.DOTALL)
_HEIGHT = re.compile(r'(<svg[^>]*?)\s+height="[^"]*"', re.DOTALL)
# The page's own style says how lines join; a style element here would reach the whole page.
_STYLE = re.compile(r"<style.*?</style>", re.DOTALL)
_FONT = re.compile(r"'DejaVu Sans'[^;\"]*(?=[;\"])")
_ID = re.compile(r'(\bid="|href="#|url\(#)')


def inline_svg(figure: Figure, name: str) -> str:
    """The figure as an `<svg>` element, the same text for the same figure. `name` keeps its ids from other figures'."""
    written = io.StringIO()
    # Without a date, the same journal gives the same page.
    figure.savefig(written, format="svg", transparent=True, metadata={"Date": None})
    svg = _METADATA.sub("", _PROLOGUE.sub("", written.getvalue()))
    # An SVG element inside HTML needs no namespaces; without them the page holds no address at all.
    svg = _NAMESPACE.sub("", svg)
    svg = _HEIGHT.sub(r"\1", _SIZE.sub(r"\1", svg))
    svg = _ID.sub(rf"\g<1>{name}-", svg)
    svg = _FONT.sub("system-ui, sans-serif", _STYLE.sub("", svg))
    for colour, css in _CSS.items():
        svg = svg.replace(colour, css)
    return svg.replace("<svg", '<svg aria-hidden="true" focusable="false"', 1)
