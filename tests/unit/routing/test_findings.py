"""What is wrong with a topology is said."""

from __future__ import annotations

from dataclasses import replace

from tests.enterprise import Enterprise, numbered

from openmsmq.routing.findings import findings


def test_bad_links_are_reported_each_with_its_reason() -> None:
    """MQBR-005 to MQBR-007, MQBR-018."""
    enterprise = Enterprise.of("08")
    bad = [link for link in enterprise.document["links"] if link["ignored"]]
    found = [text for text in findings(enterprise.topology) if "does not count" in text]
    assert len(found) == len(bad)
    for link, text in zip(bad, found, strict=True):
        assert link["ignored"] in text


def test_sites_without_gates_and_without_a_route_are_reported() -> None:
    """MQBR-018."""
    enterprise = Enterprise.of("05")
    assert findings(enterprise.topology) == []
    link = enterprise.topology.links[0]
    bare = replace(enterprise.topology, links=(replace(link, gates=()),))
    assert findings(bare) == [
        "west has links but no gate: messages cannot leave it",
        "mid has links but no gate: messages cannot leave it",
    ]


def test_islands_are_reported() -> None:
    """MQBR-018."""
    foreign = Enterprise.of("07")
    cut = [
        link
        for link in foreign.topology.links
        if {foreign.names[link.site1], foreign.names[link.site2]} not in ({"hq", "plant"},)
    ]
    text = " ".join(findings(replace(foreign.topology, links=tuple(cut))))
    assert "no route leads from" in text


def test_servers_and_gates_that_do_not_route_are_reported() -> None:
    """MQBR-018, MQBR-052."""
    enterprise = Enterprise.of("05")
    managers = dict(enterprise.topology.managers)
    client = managers[enterprise.id("W-app")]
    lost = numbered(2, 99)
    managers[client.id] = replace(client, out_servers=(lost,), in_servers=(enterprise.id("E-app"),))
    link = replace(enterprise.topology.links[0], gates=(lost, enterprise.id("W-app")))
    links = (link, *enterprise.topology.links[1:])
    found = findings(replace(enterprise.topology, managers=managers, links=links))
    assert f"a gate of a link is unknown: {lost}" in found
    assert "W-app is named as a gate, but is no router in either site" in found
    assert f"W-app: out: {lost} is no router and is passed over" in found
    assert "W-app: in: E-app is no router and is passed over" in found
