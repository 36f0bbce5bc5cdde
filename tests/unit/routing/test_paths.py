"""Least-cost paths."""

from __future__ import annotations

import random
from itertools import pairwise
from uuid import UUID

from tests.enterprise import Enterprise, numbered

from openmsmq.routing.decision import Routes
from openmsmq.routing.paths import reach
from openmsmq.routing.topology import RoutedManager, RoutingLink, Site, Topology


def line(*costs: int, foreign: tuple[int, ...] = ()) -> Topology:
    """Sites in a row."""
    sites = [numbered(1, number) for number in range(len(costs) + 1)]
    return Topology(
        {site: Site(site, str(place), place in foreign) for place, site in enumerate(sites)},
        tuple(
            RoutingLink(here, there, cost)
            for (here, there), cost in zip(pairwise(sites), costs, strict=True)
        ),
    )


def test_costs_add_up_and_the_first_site_is_known() -> None:
    """MQBR-024."""
    found = reach(line(2, 3), [numbered(1, 0)])
    assert found[numbered(1, 2)] == (5, 2, numbered(1, 1))


def test_several_roots_are_searched_from_at_once() -> None:
    """MQBR-029."""
    found = reach(line(1, 1, 1), [numbered(1, 0), numbered(1, 3)])
    assert [found[numbered(1, place)].cost for place in range(4)] == [0, 1, 1, 0]


def test_no_path_leads_through_a_foreign_site() -> None:
    """MQBR-010."""
    found = reach(line(1, 1, foreign=(1,)), [numbered(1, 0)])
    assert numbered(1, 1) in found
    assert numbered(1, 2) not in found


def test_the_same_tie_breaks_the_same_way() -> None:
    """MQBR-027: fewer sites, then the lower identity."""
    enterprise = Enterprise.of("10")
    routes = Routes(enterprise.topology, enterprise.id("gs"))
    table = {enterprise.names[a]: enterprise.names[b] for a, b in routes.table.items()}
    assert (table["t"], table["u"]) == ("p", "u")
    links = tuple(reversed(enterprise.topology.links))
    turned = Topology(enterprise.topology.sites, links, enterprise.topology.managers)
    assert Routes(turned, enterprise.id("gs")).table == routes.table


def large(sites: int, links: int, seed: int) -> Topology:
    """A topology of many sites, each with a gate, that hang together."""
    rng = random.Random(seed)
    ids = [numbered(1, number) for number in range(sites)]
    gates = [numbered(2, number) for number in range(sites)]
    pairs = list(pairwise(range(sites)))
    for _ in range(links - len(pairs)):
        here, there = rng.sample(range(sites), 2)
        pairs.append((here, there))
    return Topology(
        {site: Site(site, f"s{number}") for number, site in enumerate(ids)},
        tuple(
            RoutingLink(ids[a], ids[b], rng.randint(1, 100), (gates[a], gates[b])) for a, b in pairs
        ),
        {
            gate: RoutedManager(gate, f"g{number}", (ids[number],), router=True)
            for number, gate in enumerate(gates)
        },
    )


def test_a_thousand_sites_have_a_table_and_next_hops_are_remembered() -> None:
    topology = large(1000, 5000, 7)
    routes = Routes(topology, numbered(2, 0))
    assert len(routes.table) == 999
    goals: list[UUID] = list(topology.managers)[1:50]
    decisions = [routes.next_hops(goal) for goal in goals]
    assert all(decision.hops for decision in decisions)
    assert [routes.next_hops(goal) for goal in goals] == decisions
