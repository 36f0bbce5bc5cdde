"""A bar chart as SVG, readable on light and dark pages."""

from __future__ import annotations

from html import escape

WIDTH, TITLES, BAR, GAP, TOP = 760, 230, 26, 12, 44
FIGURES = 90
"Room behind the longest bar."
STYLE = (
    "text { font: 14px system-ui, sans-serif; fill: #24292f } .head { font-weight: 600 }"
    " .ours { fill: #2f6fde } .other { fill: #8a94a6 }"
    " @media (prefers-color-scheme: dark) { text { fill: #d0d7de } }"
)


def bars(title: str, figures: dict[str, float], *, first: str) -> str:
    """One bar a figure, that of `first` in a colour of its own."""
    height = TOP + len(figures) * (BAR + GAP)
    most = max(figures.values())
    rows = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img">',
        f"<title>{escape(title)}</title>",
        f"<style>{STYLE}</style>",
        f'<text class="head" x="1" y="20">{escape(title)}</text>',
    ]
    for place, (name, figure) in enumerate(figures.items()):
        top = TOP + place * (BAR + GAP)
        width = round((WIDTH - TITLES - FIGURES) * figure / most)
        kind = "ours" if name == first else "other"
        base = top + BAR - 8
        rows += [
            f'<text x="1" y="{base}">{escape(name)}</text>',
            f'<rect class="{kind}" x="{TITLES}" y="{top}" width="{width}" height="{BAR}" rx="3"/>',
            f'<text x="{TITLES + width + 8}" y="{base}">{figure:,.0f}</text>',
        ]
    return "\n".join([*rows, "</svg>"]) + "\n"
