"""Charts as SVG that need nothing else, and can be read on light and dark pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from math import floor, log10
from typing import Final

WIDTH: Final = 760
HEIGHT: Final = 300
_TITLES, _BAR, _GAP, _TOP, _BOTTOM, _LEFT = 230, 26, 12, 44, 40, 70
_FIGURES: Final = 90
"Room behind the longest bar."
_NAME: Final = 28
"Characters of a name that fit before a bar."
_COLOURS: Final = 3
STYLE: Final = (
    "text { font: 14px system-ui, sans-serif; fill: #24292f } .head { font-weight: 600 }"
    " .end { text-anchor: end } .middle { text-anchor: middle }"
    " .ours { fill: #2f6fde } .other { fill: #8a94a6 } .axis { stroke: #8a94a6 }"
    " .grid { stroke: #8a94a6; opacity: .25 } .shade { fill: #d1242f; opacity: .15 }"
    " .line { fill: none; stroke-width: 2 }"
    " .l0 { stroke: #2f6fde } .l1 { stroke: #d97706 } .l2 { stroke: #2da44e }"
    " .k0 { fill: #2f6fde } .k1 { fill: #d97706 } .k2 { fill: #2da44e }"
    " @media (prefers-color-scheme: dark) { text { fill: #d0d7de } }"
)

Points = Sequence[tuple[float, float]]


def bars(title: str, figures: Mapping[str, float], *, first: str = "") -> str:
    """One bar a figure, that of `first` in a colour of its own; all, if there is no first."""
    most = max(figures.values(), default=0) or 1
    rows = []
    for place, (name, figure) in enumerate(figures.items()):
        top = _TOP + place * (_BAR + _GAP)
        width = round((WIDTH - _TITLES - _FIGURES) * figure / most)
        kind = "ours" if first in ("", name) else "other"
        base = top + _BAR - 8
        rows += [
            f'<text x="1" y="{base}">{escape(_short(name))}</text>',
            f'<rect class="{kind}" x="{_TITLES}" y="{top}" width="{width}" height="{_BAR}"'
            ' rx="3"/>',
            f'<text x="{_TITLES + width + 8}" y="{base}">{figure:,.0f}</text>',
        ]
    return _drawing(title, _TOP + len(figures) * (_BAR + _GAP), rows)


def lines(
    title: str,
    series: Mapping[str, Points],
    *,
    x_unit: str,
    shaded: tuple[float, float] | None = None,
) -> str:
    """Curves over the same axes, at most three; `shaded` is a span of x that is marked."""
    assert 0 < len(series) <= _COLOURS, "every curve has a colour of its own"
    points = [point for curve in series.values() for point in curve]
    right = max((x for x, _ in points), default=0) or 1
    high = max((y for _, y in points), default=0) or 1
    across, up = (WIDTH - _LEFT - 20) / right, (HEIGHT - _TOP - _BOTTOM) / high

    def at(x: float, y: float) -> str:
        return f"{_LEFT + x * across:.1f},{HEIGHT - _BOTTOM - y * up:.1f}"

    rows = []
    if shaded is not None:
        left, width = _LEFT + shaded[0] * across, (shaded[1] - shaded[0]) * across
        rows.append(
            f'<rect class="shade" x="{left:.1f}" y="{_TOP}" width="{width:.1f}"'
            f' height="{HEIGHT - _TOP - _BOTTOM}"/>'
        )
    rows += _axes(right, high, across, up, x_unit)
    for number, (name, curve) in enumerate(series.items()):
        path = " ".join(at(x, y) for x, y in curve)
        rows.append(f'<polyline class="line l{number}" points="{path}"/>')
        left, base = WIDTH - 160 * (len(series) - number), 20
        rows.append(f'<rect class="k{number}" x="{left}" y="{base - 10}" width="12" height="12"/>')
        rows.append(f'<text x="{left + 18}" y="{base}">{escape(_short(name))}</text>')
    return _drawing(title, HEIGHT, rows)


def ticks(most: float, count: int = 5) -> list[float]:
    """Round numbers from 0 up to `most`, about this many."""
    rough = most / count
    power = 10.0 ** floor(log10(rough))
    step = next((power * n for n in (1, 2, 5) if power * n >= rough), power * 10)
    return [step * n for n in range(floor(most / step) + 1)]


def _axes(right: float, high: float, across: float, up: float, unit: str) -> list[str]:
    floor_, rows = HEIGHT - _BOTTOM, []
    for value in ticks(high):
        y = floor_ - value * up
        rows += [
            f'<line class="grid" x1="{_LEFT}" x2="{WIDTH - 20}" y1="{y:.1f}" y2="{y:.1f}"/>',
            f'<text class="end" x="{_LEFT - 8}" y="{y + 5:.1f}">{value:,g}</text>',
        ]
    for value in ticks(right):
        x = _LEFT + value * across
        rows.append(
            f'<text class="middle" x="{x:.1f}" y="{floor_ + 20}">{value:g} {escape(unit)}</text>'
        )
    rows.append(f'<line class="axis" x1="{_LEFT}" x2="{WIDTH - 20}" y1="{floor_}" y2="{floor_}"/>')
    return rows


def _short(name: str) -> str:
    """The end of a name, where names of queues differ."""
    return name if len(name) <= _NAME else f"\N{HORIZONTAL ELLIPSIS}{name[1 - _NAME :]}"


def _drawing(title: str, height: int, rows: list[str]) -> str:
    head = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img">',
        f"<title>{escape(title)}</title>",
        f"<style>{STYLE}</style>",
        f'<text class="head" x="1" y="20">{escape(title)}</text>',
    ]
    return "\n".join([*head, *rows, "</svg>"]) + "\n"
