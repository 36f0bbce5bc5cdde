"""A bar chart as SVG, readable on light and dark pages."""

from __future__ import annotations

from html import escape

WIDTH, TITLES, BAR, GAP, TOP = 760, 230, 26, 12, 44
FIGURES = 90
"Room behind the longest bar."
OURS, OTHERS = "#2f6fde", "#8a94a6"
STYLE = (
    "text { font: 14px system-ui, sans-serif; fill: #24292f } .title { font-weight: 600 }"
    " @media (prefers-color-scheme: dark) { text { fill: #d0d7de } }"
)


def bars(title: str, figures: dict[str, float], *, first: str) -> str:
    """One bar a figure, that of `first` in a colour of its own."""
    height = TOP + len(figures) * (BAR + GAP)
    most = max(figures.values())
    rows = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}"'
        f' viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escape(title)}">',
        f"<style>{STYLE}</style>",
        f'<text class="title" x="0" y="20">{escape(title)}</text>',
    ]
    for place, (name, figure) in enumerate(figures.items()):
        top = TOP + place * (BAR + GAP)
        width = round((WIDTH - TITLES - FIGURES) * figure / most)
        colour = OURS if name == first else OTHERS
        base = top + BAR - 8
        rows += [
            f'<text x="0" y="{base}">{escape(name)}</text>',
            f'<rect x="{TITLES}" y="{top}" width="{width}" height="{BAR}" rx="3" fill="{colour}"/>',
            f'<text x="{TITLES + width + 8}" y="{base}">{figure:,.0f}</text>',
        ]
    return "\n".join([*rows, "</svg>"]) + "\n"
