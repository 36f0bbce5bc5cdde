"""Pictures of topologies are well-formed and show all there is."""

from __future__ import annotations

from xml.etree import ElementTree

from tests.enterprise import VECTORS, Enterprise, vector

from openmsmq.routing.picture import draw
from openmsmq.routing.topology import RoutedManager, Site, Topology


def test_every_site_link_and_manager_is_drawn() -> None:
    for name in VECTORS:
        enterprise = Enterprise(vector(name))
        text = draw(enterprise.topology)
        root = ElementTree.fromstring(text)
        boxes = [item for item in root.iter() if item.tag.endswith("rect")]
        lines = [item for item in root.iter() if item.tag.endswith("line")]
        assert len(boxes) == len(enterprise.sites)
        assert len(lines) == len(enterprise.topology.valid_links)
        assert all(manager in text for manager in enterprise.managers)


def test_a_route_and_what_is_down_are_marked() -> None:
    enterprise = Enterprise.of("05")
    path = [enterprise.id(name) for name in ("W-app", "W-gate1", "M-gate", "E-gate", "E-app")]
    cut = {frozenset((enterprise.id("west"), enterprise.id("mid")))}
    text = draw(enterprise.topology, path, [enterprise.id("W-rs")], cut)
    assert text.count('class="route"') == 2
    assert text.count('class="down"') == 1
    assert text.count('class="link cut"') == 1


def test_names_are_escaped_and_long_ones_cut() -> None:
    enterprise = Enterprise.of("05")
    site = enterprise.id("west")
    guid = enterprise.id("W-app")
    manager = RoutedManager(guid, "<b>" + "x" * 60, (site,))
    text = draw(Topology({site: Site(site, "a & b")}, (), {guid: manager}))
    assert "<b>" not in text
    assert "a &amp; b" in text
    ElementTree.fromstring(text)
