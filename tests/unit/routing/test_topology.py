"""Sites, links and managers, and what follows from them."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.enterprise import Enterprise, numbered

from openmsmq.routing.topology import (
    FOREIGN_COST,
    GREATEST_COST,
    RoutedManager,
    RoutingLink,
    Site,
    Topology,
)

WEST, EAST, LOST = numbered(1, 1), numbered(1, 2), numbered(1, 9)
GATE, CLIENT = numbered(2, 1), numbered(2, 2)
SITES = {WEST: Site(WEST, "west"), EAST: Site(EAST, "east")}
MANAGERS = {
    GATE: RoutedManager(GATE, "gate", (WEST,), router=True),
    CLIENT: RoutedManager(CLIENT, "client", (WEST,)),
}


@pytest.mark.parametrize("cost", [1, GREATEST_COST])
def test_the_least_and_the_greatest_cost_count(cost: int) -> None:
    """MQBR-004."""
    assert Topology(SITES).problem(RoutingLink(WEST, EAST, cost)) == ""


@pytest.mark.parametrize("cost", [0, -1, GREATEST_COST + 1])
def test_other_costs_leave_a_link_out(cost: int) -> None:
    """MQBR-005."""
    topology = Topology(SITES, (RoutingLink(WEST, EAST, cost, (GATE,)),), MANAGERS)
    assert topology.valid_links == ()
    assert topology.neighbours[WEST] == {}
    assert not topology.is_gate(GATE)


def test_a_link_leads_both_ways_at_one_cost_and_the_cheapest_counts() -> None:
    """MQBR-001, MQBR-002, MQBR-003, MQBR-008: sites without links are there, too."""
    links = RoutingLink(WEST, EAST, 7), RoutingLink(EAST, WEST, 5)
    topology = Topology(SITES, links)
    assert topology.neighbours == {WEST: {EAST: 5}, EAST: {WEST: 5}}
    assert Topology(SITES).neighbours == {WEST: {}, EAST: {}}


def test_each_foreign_end_adds_to_the_cost() -> None:
    """MQBR-009."""
    sites = {WEST: Site(WEST, "west", foreign=True), EAST: Site(EAST, "east")}
    link = RoutingLink(WEST, EAST, 3)
    assert Topology(sites, (link,)).weight(link) == 3 + FOREIGN_COST
    both = sites | {EAST: Site(EAST, "east", foreign=True)}
    assert Topology(both, (link,)).weight(link) == 3 + 2 * FOREIGN_COST


@pytest.mark.parametrize(
    "manager",
    [
        RoutedManager(GATE, "gate", (EAST,), router=True),
        RoutedManager(GATE, "gate", (WEST,)),
        RoutedManager(GATE, "gate", (WEST,), router=True, foreign=True),
    ],
)
def test_who_is_named_on_a_link_is_a_gate_only_if_it_can_be(manager: RoutedManager) -> None:
    """MQBR-012, MQBR-013, MQBR-014."""
    link = RoutingLink(WEST, EAST, 1, (GATE,))
    topology = Topology(SITES, (link,), {GATE: manager})
    assert topology.gates[WEST] == ()
    assert Topology(SITES, (link,), MANAGERS).gates[WEST] == (GATE,)


def test_a_manager_that_is_not_there_is_no_gate() -> None:
    """MQBR-016."""
    topology = Topology(SITES, (RoutingLink(WEST, EAST, 1, (GATE,)),))
    assert not topology.is_gate(GATE)
    assert topology.gates[WEST] == ()
    assert replace(topology, managers=MANAGERS).is_gate(GATE)


def test_a_router_is_a_gate_if_it_is_one_of_one_of_its_sites() -> None:
    """MQBR-017."""
    other = numbered(1, 3)
    sites = SITES | {other: Site(other, "other")}
    manager = replace(MANAGERS[GATE], sites=(other, WEST))
    topology = Topology(sites, (RoutingLink(WEST, EAST, 1, (GATE,)),), {GATE: manager})
    assert topology.is_gate(GATE)


def test_where_a_manager_can_be_reached() -> None:
    """MQBR-030, MQBR-060."""
    found = Enterprise.of("07")
    foreign, connector = (
        found.topology.managers[found.id(name)] for name in ("MQSERIES1", "HQ-conn")
    )
    assert found.words(found.topology.home(connector)) == ["hq"]
    assert found.topology.home(foreign) == ()
    assert all(found.topology.sites[site].foreign for site in found.topology.targets(foreign))


def test_names_are_for_people() -> None:
    topology = Topology(SITES, (), MANAGERS)
    assert topology.name_of(GATE) == "gate"
    assert topology.name_of(LOST) == str(LOST)
