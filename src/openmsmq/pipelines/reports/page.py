"""Reports as one HTML page that opens anywhere, offline: no script, nothing loaded from elsewhere.

Whatever comes from messages is text here, whatever its source: it is escaped, cut, and stripped of
characters that cannot be seen.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Final

CELL_MAX: Final = 1_000
"Characters of a text of others that are shown."
_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'"
"Even a mistake of ours lets no browser run or load anything."
_UNKNOWN: Final = "\N{REPLACEMENT CHARACTER}"
_STYLE: Final = """
:root { color-scheme: light dark; --ink: #24292f; --dim: #57606a; --line: #d0d7de; --page: #fff }
@media (prefers-color-scheme: dark) {
  :root { --ink: #d0d7de; --dim: #8b949e; --line: #30363d; --page: #0d1117 } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--page);
  max-width: 62rem; margin: 2rem auto; padding: 0 1rem }
h1 { margin-bottom: 0 } h2 { margin-top: 2.5rem; border-bottom: 1px solid var(--line) }
p.dim { color: var(--dim); margin-top: .2rem }
.facts { display: flex; flex-wrap: wrap; gap: 1rem; margin: 1.5rem 0 }
.facts div { border: 1px solid var(--line); border-radius: 8px; padding: .6rem 1rem }
.facts b { display: block; font-size: 1.5rem }
.wide { overflow-x: auto } table { border-collapse: collapse; width: 100%; margin: 1rem 0 }
th, td { text-align: left; vertical-align: top; padding: .3rem .7rem .3rem 0;
  border-bottom: 1px solid var(--line); overflow-wrap: anywhere }
th { color: var(--dim); font-weight: 600; white-space: nowrap }
.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap }
svg { width: 100%; max-width: 760px; height: auto; display: block; margin: 1rem 0 }
"""


class ReportPage:
    """A page that grows from top to bottom."""

    def __init__(self, title: str, subtitle: str) -> None:
        self._title = title
        self._parts = [f"<h1>{text(title)}</h1>", f'<p class="dim">{text(subtitle)}</p>']

    def facts(self, facts: Mapping[str, object]) -> None:
        """Figures that are seen at first glance, each with its name."""
        cells = (f"<div><b>{text(value)}</b>{text(name)}</div>" for name, value in facts.items())
        self._parts.append(f'<div class="facts">{"".join(cells)}</div>')

    def heading(self, words: str) -> None:
        """The title of what follows."""
        self._parts.append(f"<h2>{text(words)}</h2>")

    def paragraph(self, words: str) -> None:
        """Some sentences."""
        self._parts.append(f"<p>{text(words)}</p>")

    def chart(self, drawing: str) -> None:
        """A drawing of `pipelines.charts`, which has escaped all that it says."""
        self._parts.append(drawing)

    def table(self, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
        """A table; a column whose name begins with `>` is set to the right."""
        kinds = [' class="number"' if column.startswith(">") else "" for column in columns]
        heads = (
            f"<th{kind}>{text(column.removeprefix('>'))}</th>"
            for kind, column in zip(kinds, columns, strict=True)
        )
        lines = [f"<tr>{''.join(heads)}</tr>"]
        for row in rows:
            cells = (f"<td{kind}>{text(cell)}</td>" for kind, cell in zip(kinds, row, strict=True))
            lines.append(f"<tr>{''.join(cells)}</tr>")
        self._parts.append(f'<div class="wide"><table>{"".join(lines)}</table></div>')

    def page(self) -> str:
        """The whole page."""
        return "\n".join(
            (
                "<!DOCTYPE html>",
                '<html lang="en"><head><meta charset="utf-8">',
                f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
                '<meta name="viewport" content="width=device-width, initial-scale=1">',
                f"<title>{text(self._title)}</title>",
                f"<style>{_STYLE}</style></head><body>",
                *self._parts,
                "</body></html>\n",
            )
        )

    def write(self, path: Path) -> None:
        """Put the page in place of an older one, whole."""
        path.parent.mkdir(parents=True, exist_ok=True)
        new = path.with_name(f".{path.name}.new")
        new.write_text(self.page(), encoding="utf-8", errors="replace")
        os.replace(new, path)


def text(value: object) -> str:
    """Anything as text of a page, and as nothing but text."""
    words = f"{value:,}" if isinstance(value, int) else "" if value is None else str(value)
    shown = words if len(words) <= CELL_MAX else f"{words[:CELL_MAX]}\N{HORIZONTAL ELLIPSIS}"
    return escape("".join(c if c.isprintable() else _UNKNOWN for c in shown))
