"""Draws the pictures of docs/architecture.md: stacked layers, and walks of messages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Final

_STYLE: Final = """\
  <style>
    text { font: 14px system-ui, "Segoe UI", "DejaVu Sans", sans-serif; fill: #1f2328; text-anchor: middle; }
    .name { font: 13px ui-monospace, "DejaVu Sans Mono", monospace; }
    .small { font-size: 12px; fill: #59636e; paint-order: stroke; stroke: #ffffff; stroke-width: 4; }
    .left { text-anchor: start; }
    .box { fill: #f6f8fa; stroke: #818b98; stroke-width: 1.5; }
    .pure { fill: #ddf4ff; stroke: #0969da; stroke-width: 1.5; }
    .disk { fill: #dafbe1; stroke: #1a7f37; stroke-width: 1.5; }
    .life { stroke: #d1d9e0; stroke-width: 1.5; stroke-dasharray: 3 4; }
    .way { fill: none; stroke: #59636e; stroke-width: 1.5; marker-end: url(#tip); }
    .tip { fill: #59636e; }
    @media (prefers-color-scheme: dark) {
      text { fill: #f0f6fc; }
      .small { fill: #9198a1; stroke: #0d1117; }
      .box { fill: #212830; stroke: #656c76; }
      .pure { fill: #121d2f; stroke: #4493f8; }
      .disk { fill: #12261e; stroke: #3fb950; }
      .life { stroke: #3d444d; }
      .way { stroke: #9198a1; }
      .tip { fill: #9198a1; }
    }
  </style>
  <defs>
    <marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="5.5" markerHeight="5.5" orient="auto">
      <path class="tip" d="M 0 0 L 8 4 L 0 8 Z"/>
    </marker>
  </defs>
"""  # noqa: E501
WIDTH: Final = 860
_MARGIN: Final = 20
_ROW: Final = 38
_STEP: Final = 34


@dataclass(frozen=True, slots=True)
class Step:
    """One arrow of a walk, from a folder to another, or work inside one."""

    start: str
    end: str
    text: str


def layers(title: str, rows: Sequence[tuple[str, Sequence[str], bool]]) -> str:
    """Rows of folders, the highest layer first: what a row is called, its folders, pure or not."""
    parts = []
    label = 150
    for at, (called, folders, is_pure) in enumerate(rows):
        y = _MARGIN + at * _ROW
        parts.append(_text(_MARGIN, y + 21, called, "small left"))
        room = (WIDTH - _MARGIN - label) / len(folders)
        for place, folder in enumerate(folders):
            x = label + place * room
            kind = "pure" if is_pure else "box"
            parts.append(_box(x, y, room - 8, _ROW - 8, kind))
            parts.append(_text(x + (room - 8) / 2, y + 20, folder, "name"))
    return _picture(title, 2 * _MARGIN + len(rows) * _ROW - 8, parts)


def walk(title: str, lanes: Sequence[tuple[str, str]], steps: Sequence[Step]) -> str:
    """A sequence diagram: a lane for each folder (its kind is a class), an arrow for each step."""
    room = (WIDTH - 2 * _MARGIN) / len(lanes)
    middle = {name: _MARGIN + room * (at + 0.5) for at, (name, _) in enumerate(lanes)}
    height = _MARGIN + 50 + len(steps) * _STEP + _MARGIN
    parts = []
    for name, kind in lanes:
        x = middle[name]
        parts.append(f'<path class="life" d="M {x:g} {_MARGIN + 30} V {height - _MARGIN + 6:g}"/>')
        parts.append(_box(x - room / 2 + 4, _MARGIN, room - 8, 30, kind))
        parts.append(_text(x, _MARGIN + 20, name, "name"))
    for at, step in enumerate(steps):
        parts += _arrow(middle[step.start], middle[step.end], _MARGIN + 66 + at * _STEP, step.text)
    return _picture(title, height, parts)


def _arrow(start: float, end: float, y: float, text: str) -> list[str]:
    """An arrow with its words above it; work inside a folder has words beside its line only."""
    if start == end:
        half = 3.4 * len(text)
        x = min(max(start, half + 6), WIDTH - half - 6)
        return [_text(x, y, text, "small")]
    side = 2 if end > start else -2
    half = 3.4 * len(text)
    x = min(max((start + end) / 2, half + 6), WIDTH - half - 6)
    return [
        f'<path class="way" d="M {start + side:g} {y:g} H {end - side:g}"/>',
        _text(x, y - 8, text, "small"),
    ]


def _box(x: float, y: float, width: float, height: float, kind: str) -> str:
    return (
        f'<rect class="{kind}" x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="5"/>'
    )


def _text(x: float, y: float, text: str, kind: str) -> str:
    return f'<text class="{kind}" x="{x:g}" y="{y:g}">{escape(text)}</text>'


def _picture(title: str, height: float, parts: Sequence[str]) -> str:
    body = "".join(f"  {part}\n" for part in parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:g}" role="img">\n'
        f"  <title>{escape(title)}</title>\n{_STYLE}{body}</svg>\n"
    )
