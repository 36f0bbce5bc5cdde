"""Routing tables, next hops and paths of twelve enterprises."""

from __future__ import annotations

from typing import Any

import pytest
from tests.enterprise import VECTORS, Enterprise, vector

from openmsmq.routing.decision import Routes, RoutingRule
from openmsmq.routing.file import read_topology
from openmsmq.routing.follow import Failures, RouteEnd, RouteFinder
from openmsmq.routing.topology import Topology

ANY_ORDER = (RoutingRule.SITE_ROUTER, RoutingRule.SITE_GATE)
"Rules whose hops are equal, so that each manager has them in an order of its own (RT-10)."


@pytest.fixture(params=VECTORS)
def enterprise(request: pytest.FixtureRequest) -> Enterprise:
    return Enterprise(vector(request.param))


def test_links_that_do_not_count_are_left_out_with_a_reason(enterprise: Enterprise) -> None:
    """MQBR-002, MQBR-005 to MQBR-007."""
    for link, wanted in zip(enterprise.topology.links, enterprise.document["links"], strict=True):
        assert enterprise.topology.problem(link) == wanted["ignored"]


def test_gates_follow_from_the_links(enterprise: Enterprise) -> None:
    """MQBR-001, MQBR-011 to MQBR-015."""
    gates = {
        enterprise.names[site]: enterprise.words(found)
        for site, found in enterprise.topology.gates.items()
    }
    assert gates == enterprise.document["site_gates"]
    for item in enterprise.document["managers"]:
        assert enterprise.topology.is_gate(enterprise.id(item["name"])) == item["gate"]


def test_tables_have_the_next_site_of_a_least_cost_path(enterprise: Enterprise) -> None:
    """MQBR-003, MQBR-008, MQBR-019, MQBR-020, MQBR-024 to MQBR-028."""
    for name, rows in enterprise.document["tables"].items():
        table = Routes(enterprise.topology, enterprise.id(name)).table
        found = {enterprise.names[site]: enterprise.names[hop] for site, hop in table.items()}
        assert found == rows, name


def test_ways_are_the_neighbours_that_a_gate_may_use(enterprise: Enterprise) -> None:
    """MQBR-009, MQBR-082, MQBR-083, MQBR-085, MQBR-086."""
    for name, destinations in enterprise.document["ways"].items():
        routes = Routes(enterprise.topology, enterprise.id(name))
        for goal, ways in destinations.items():
            found = [
                {"site": enterprise.names[way.site], "total": way.total, "equal": way.equal}
                for way in routes.ways(enterprise.topology.managers[enterprise.id(goal)])
            ]
            assert found == ways, (name, goal)


def test_next_hops_of_every_pair(enterprise: Enterprise) -> None:
    """MQBR-050, MQBR-053 to MQBR-055, MQBR-061, MQBR-063, MQBR-064, MQBR-070, MQBR-071, MQBR-079.

    Those of equal rank may come in any order.
    """
    for wanted in enterprise.document["next_hops"]:
        routes = Routes(enterprise.topology, enterprise.id(wanted["from"]))
        rule, hops = routes.next_hops(enterprise.id(wanted["to"]))
        names, expected = enterprise.words(hops), wanted["hops"]
        if rule in ANY_ORDER:
            names, expected = sorted(names), sorted(expected)
        assert (rule, names) == (wanted["rule"], expected), wanted


def test_paths_with_and_without_failures(
    enterprise: Enterprise, monkeypatch: pytest.MonkeyPatch
) -> None:
    """MQBR-080, MQBR-081, MQBR-112.

    The vectors have equal hops in the order of their identities.
    """
    monkeypatch.setattr(Routes, "_rotated", lambda self, ids: tuple(ids))
    follower = RouteFinder(enterprise.topology)
    for wanted in enterprise.document["paths"]:
        failures = Failures(
            {enterprise.id(name) for name in wanted.get("down", ())},
            {frozenset(map(enterprise.id, pair)) for pair in wanted.get("dead", ())},
        )
        found = follower.follow(
            enterprise.id(wanted["from"]), enterprise.id(wanted["to"]), failures
        )
        names = enterprise.words(found.path)
        outcome = found.result, found.hop_count, names
        assert outcome == (wanted["result"], wanted["rc"], wanted["path"]), wanted


def test_a_file_gives_the_same_topology(enterprise: Enterprise) -> None:
    """MQBR-175."""
    document = enterprise.document
    if any(link["ignored"] for link in document["links"]):
        pytest.skip("a file with such links is refused")
    if any(
        name not in enterprise.managers for item in document["managers"] for name in item["out"]
    ):
        pytest.skip("a file with unknown servers is refused")
    assert _shape(read_topology(as_toml(document))) == _shape(enterprise.topology)


def _shape(topology: Topology) -> Any:
    return topology.sites, sorted(map(repr, topology.links)), topology.managers


def as_toml(document: dict[str, Any]) -> str:
    """A topology file with the content of a vector."""
    lines = []
    for table, keys in (
        ("sites", ("id", "name", "foreign")),
        ("links", ("site1", "site2", "cost", "gates")),
        ("managers", ("id", "name", "sites", "router", "out", "in", "foreign")),
    ):
        for row in document[table]:
            lines.append(f"[[{table}]]")
            for key in keys:
                text = str(row[key]).lower() if isinstance(row[key], bool) else repr(row[key])
                lines.append(f"{key} = {text}")
    return "\n".join(lines)


def test_the_second_route_is_taken_when_the_first_is_cut_and_none_leads_back() -> None:
    """MQBR-084, MQBR-087, MQBR-088."""
    branch = Enterprise.of("03")
    follow = RouteFinder(branch.topology).follow
    cut = {frozenset(map(branch.id, ("site2", "site1")))}
    found = follow(branch.id("B"), branch.id("H"), Failures(cut=cut))
    assert branch.words(found.path) == ["B", "R1", "R2", "H"]
    cut |= {frozenset(map(branch.id, ("site3", "site1")))}
    found = follow(branch.id("B"), branch.id("H"), Failures(cut=cut))
    assert (found.result, branch.words(found.path)) == (RouteEnd.WAITS, ["B", "R1", "R2"])
