"""Messages on their way through random topologies with failures."""

from __future__ import annotations

import random
from collections import Counter

from tests.enterprise import numbered

from openmsmq.routing.follow import Failures, RouteEnd, RouteFinder
from openmsmq.routing.topology import RoutedManager, RoutingLink, Site, Topology


def random_topology(rng: random.Random) -> Topology:
    """Sites with gates, some clients with in- and out-routing servers."""
    count = rng.randint(3, 7)
    sites = [numbered(1, number) for number in range(count)]
    managers: dict[object, RoutedManager] = {}
    gates: dict[int, list[object]] = {}
    for place, site in enumerate(sites):
        for _ in range(rng.randint(1, 2)):
            guid = numbered(2, len(managers))
            extra = (rng.choice(sites),) if rng.random() < 0.1 else ()
            own = tuple(dict.fromkeys((site, *extra)))
            managers[guid] = RoutedManager(guid, f"g{place}-{len(managers)}", own, router=True)
            gates.setdefault(place, []).append(guid)
    routers = list(managers)
    links = [
        RoutingLink(
            sites[a],
            sites[b],
            rng.randint(1, 4),
            tuple(g for g in (*gates[a], *gates[b]) if rng.random() < 0.9),  # type: ignore[misc]
        )
        for a in range(count)
        for b in range(a + 1, count)
        if rng.random() < 0.6
    ]
    for number in range(rng.randint(0, 4)):
        guid = numbered(2, 100 + number)
        out = rng.sample(routers, min(2, len(routers))) if rng.random() < 0.4 else ()
        into = rng.sample(routers, min(2, len(routers))) if rng.random() < 0.4 else ()
        managers[guid] = RoutedManager(
            guid,
            f"c{number}",
            (rng.choice(sites),),
            out_servers=tuple(out),  # type: ignore[arg-type]
            in_servers=tuple(into),  # type: ignore[arg-type]
        )
    return Topology(
        {site: Site(site, str(place)) for place, site in enumerate(sites)},
        tuple(links),
        managers,  # type: ignore[arg-type]
    )


def test_no_message_comes_back_to_a_manager() -> None:
    """MQBR-089."""
    ends: Counter[RouteEnd] = Counter()
    for seed in range(150):
        rng = random.Random(seed)
        topology = random_topology(rng)
        sites, managers = list(topology.sites), list(topology.managers)
        pairs = {frozenset((one, other)) for one in sites for other in sites}
        cut = {pair for pair in sorted(pairs, key=sorted) if rng.random() < 0.3}
        down = {manager for manager in managers if rng.random() < 0.1}
        follower = RouteFinder(topology)
        for _ in range(6):
            source, goal = rng.choice(managers), rng.choice(managers)
            if source != goal and source not in down:
                found = follower.follow(source, goal, Failures(down, cut))
                ends[found.result] += 1
                assert found.result is not RouteEnd.CAME_BACK, (seed, found)
                assert len(set(found.path)) == len(found.path)
    assert min(ends[RouteEnd.DELIVERED], ends[RouteEnd.WAITS]) > 50


def test_managers_of_one_site_reach_each_other_whatever_is_cut_between_sites() -> None:
    site, other = numbered(1, 1), numbered(1, 2)
    one, two = (RoutedManager(numbered(2, n), str(n), (site,)) for n in (1, 2))
    sites = {guid: Site(guid, str(guid)) for guid in (site, other)}
    topology = Topology(sites, (), {one.id: one, two.id: two})
    cut = Failures(cut={frozenset((site, other))})
    assert RouteFinder(topology).follow(one.id, two.id, cut).result is RouteEnd.DELIVERED
    pair = Failures(cut={frozenset((one.id, two.id))})
    assert RouteFinder(topology).follow(one.id, two.id, pair).result is RouteEnd.WAITS
