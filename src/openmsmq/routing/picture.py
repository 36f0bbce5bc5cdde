"""A topology as a picture: sites, links with their costs, managers, and a route."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from html import escape
from itertools import pairwise
from math import cos, pi, sin
from typing import Final
from uuid import UUID

from openmsmq.routing.topology import RoutedManager, Topology

_WIDTH: Final = 170
_LINE: Final = 16
_STYLE: Final = (
    "<style>svg { background: #ffffff } text { font: 13px sans-serif; fill: #1b1f24 }"
    " .site { fill: #eef4fb; stroke: #4a7ab0 } .name { font-weight: bold }"
    " .foreign { fill: #f6efe2; stroke: #a07b3c; stroke-dasharray: 5 3 } .gate { fill: #1f5fa8 }"
    " .down { fill: #b3261e; text-decoration: line-through }"
    " .link { stroke: #8a94a0; stroke-width: 1.5 } .route { stroke: #1f7a3d; stroke-width: 4 }"
    " .cut { stroke: #b3261e; stroke-dasharray: 3 4 }"
    " .cost { paint-order: stroke; stroke: #ffffff; stroke-width: 4px }"
    " @media (prefers-color-scheme: dark) { svg { background: #16191d } text { fill: #e6e8ea }"
    " .site { fill: #1d2b3a } .foreign { fill: #352b1a } .gate { fill: #8fc1f7 }"
    " .down { fill: #f2b8b5 } .cost { stroke: #16191d } .route { stroke: #6cc789 } }</style>"
)


def draw(
    topology: Topology,
    path: Sequence[UUID] = (),
    down: Collection[UUID] = (),
    cut: Collection[frozenset[UUID]] = (),
) -> str:
    """The topology as SVG; managers of `path` are joined by a line, what is down is crossed out."""
    sites = sorted(topology.sites.values(), key=lambda site: site.name)
    members = {site.id: _members(topology, site.id) for site in sites}
    tallest = max((len(found) for found in members.values()), default=0)
    radius = max(150.0, len(sites) * max(_WIDTH + 30, tallest * _LINE + 60) / (2 * pi))
    radius = 0.0 if len(sites) == 1 else radius
    middle = radius + _WIDTH
    places = {
        site.id: (
            middle + radius * sin(2 * pi * number / len(sites)),
            middle - radius * cos(2 * pi * number / len(sites)),
        )
        for number, site in enumerate(sites)
    }
    parts = [*_links(topology, places, cut), *_route(topology, places, path)]
    for site in sites:
        parts += _site(topology, site.id, places[site.id], members[site.id], down)
    size = f"{2 * middle:.0f}"
    title = f"{len(sites)} sites, {len(topology.valid_links)} links"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size} {size}" role="img">\n'
        f"<title>{title}</title>\n{_STYLE}\n" + "\n".join(parts) + "\n</svg>\n"
    )


def _members(topology: Topology, site: UUID) -> list[RoutedManager]:
    found = [manager for manager in topology.managers.values() if site in manager.sites]
    return sorted(found, key=lambda manager: manager.name)


def _links(
    topology: Topology,
    places: Mapping[UUID, tuple[float, float]],
    cut: Collection[frozenset[UUID]],
) -> list[str]:
    parts = []
    for link in topology.valid_links:
        (x1, y1), (x2, y2) = places[link.site1], places[link.site2]
        kind = "link cut" if frozenset((link.site1, link.site2)) in cut else "link"
        parts.append(_line(x1, y1, x2, y2, kind))
        parts.append(
            f'<text class="cost" x="{(x1 + x2) / 2:.0f}" y="{(y1 + y2) / 2:.0f}">'
            f"{link.cost:,}</text>"
        )
    return parts


def _route(
    topology: Topology, places: Mapping[UUID, tuple[float, float]], path: Sequence[UUID]
) -> list[str]:
    """Lines between the sites that a route passes."""
    stops = [
        places[site]
        for manager in path
        if manager in topology.managers
        for site in topology.managers[manager].sites[:1]
        if site in places
    ]
    return [_line(*here, *there, "route") for here, there in pairwise(stops) if here != there]


def _line(x1: float, y1: float, x2: float, y2: float, kind: str) -> str:
    ends = f'x1="{x1:.0f}" y1="{y1:.0f}" x2="{x2:.0f}" y2="{y2:.0f}"'
    return f'<line class="{kind}" {ends}/>'


def _site(
    topology: Topology,
    site: UUID,
    place: tuple[float, float],
    members: Sequence[RoutedManager],
    down: Collection[UUID],
) -> list[str]:
    known = topology.sites[site]
    height = (len(members) + 1) * _LINE + 14
    x, y = place[0] - _WIDTH / 2, place[1] - height / 2
    kind = "foreign" if known.foreign else "site"
    box = f'x="{x:.0f}" y="{y:.0f}" width="{_WIDTH}" height="{height}" rx="6"'
    lines = [("name", known.name)]
    for manager in members:
        is_gate = manager.id in topology.gates[site]
        words = "gate" if is_gate else "router" if manager.router else ""
        words = "foreign" if manager.foreign else words
        shown = "down" if manager.id in down else "gate" if is_gate else "manager"
        lines.append((shown, f"{manager.name} ({words})" if words else manager.name))
    texts = [
        f'<text class="{shown}" x="{x + 8:.0f}" y="{y + _LINE * (number + 1):.0f}">'
        f"{escape(_short(text))}</text>"
        for number, (shown, text) in enumerate(lines)
    ]
    return [f'<rect class="{kind}" {box}/>', *texts]


def _short(text: str) -> str:
    return text if len(text) <= 24 else f"{text[:23]}…"
