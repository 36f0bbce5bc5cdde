"""Which managers may get a message next, as one of them decides ([MS-MQBR] 3.1.5)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from functools import cached_property
from typing import NamedTuple
from uuid import UUID

from openmsmq.routing.limits import DECISIONS_MAX
from openmsmq.routing.paths import Reach, reach
from openmsmq.routing.topology import RoutedManager, Topology


class RoutingRule(StrEnum):
    """Why a message goes where it goes, as people read it."""

    UNKNOWN = "not in the topology"
    LOCAL = "local"
    OUT_SERVER = "out-routing"
    IN_SERVER = "in-routing"
    DIRECT = "direct"
    UNGUARDED = "direct, no gates"
    SITE_ROUTER = "routing server of the site"
    SITE_GATE = "gate of the site"
    NEXT_GATE = "gate of the next site"
    CONNECTOR = "connector"
    CONNECTOR_SERVER = "connector server"
    NO_ROUTE = "no route"


class NextHops(NamedTuple):
    """Where a message may go next, the best first."""

    rule: RoutingRule
    hops: tuple[UUID, ...] = ()


class Way(NamedTuple):
    """A neighbour site by which a destination can be reached."""

    total: int
    "The cost by this site, from here to the destination."
    is_other: bool
    "The routing table names another site."
    site: UUID
    equal: bool
    "It is as far from the destination as this manager is (RT-02)."


class Routes:
    """The decisions of one manager about a topology, which does not change."""

    def __init__(self, topology: Topology, own: UUID) -> None:
        self.topology = topology
        self.own = own
        self.manager = topology.managers.get(own)
        self.is_router = self.manager is not None and self.manager.router
        self.is_gate = topology.is_gate(own)
        self._home = () if self.manager is None else topology.home(self.manager)
        self._costs: dict[tuple[UUID, ...], Mapping[UUID, Reach]] = {}
        self._decisions: dict[tuple[UUID, bool], NextHops] = {}

    @cached_property
    def _reach(self) -> Mapping[UUID, Reach]:
        return reach(self.topology, self._home)

    @cached_property
    def foreign_sites(self) -> tuple[UUID, ...]:
        """The foreign sites of which this manager is a connector server ([MS-MQMQ] 1.1)."""
        own = self.manager
        if own is None or not own.router:
            return ()
        return tuple(sorted(site for site in set(own.sites) if self.topology.is_foreign(site)))

    @cached_property
    def connected(self) -> Mapping[bytes, UUID]:
        """The foreign systems that this connector server speaks to, and the site of each.

        ([MS-MQSO] 6.1.9.5; RT-22) They are known by their GUIDs as packets write them.
        """
        served = set(self.foreign_sites)
        return {
            manager.id.bytes_le: min(common)
            for manager in self.topology.managers.values()
            if manager.foreign and (common := served.intersection(manager.sites))
        }

    @cached_property
    def table(self) -> Mapping[UUID, UUID]:
        """RoutingTable: the next site to each other one; for gates only ([MS-MQBR] 3.1.3.1)."""
        if not self.is_gate:
            return {}
        return {site: found.first for site, found in self._reach.items() if found.sites}

    def next_hops(self, destination: UUID, came_from: UUID | None = None) -> NextHops:
        """GetNextHops ([MS-MQBR] 3.1.5.1): where a message for a manager may go, the best first.

        `came_from` is the manager that brought it, if it was not sent here.
        """
        is_sideways = came_from is not None and self.is_sideways(came_from, destination)
        return self.decide(destination, is_sideways=is_sideways)

    def decide(self, destination: UUID, *, is_sideways: bool = False) -> NextHops:
        """The same where it is known whether the message came from a site as far away as this."""
        key = destination, is_sideways
        found = self._decisions.get(key)
        if found is None:
            if len(self._decisions) >= DECISIONS_MAX:
                self._decisions.clear()
                self._costs.clear()
            found = self._decisions[key] = self._decide(destination, is_sideways=is_sideways)
        return found

    def _decide(self, destination: UUID, *, is_sideways: bool) -> NextHops:
        own, goal = self.manager, self.topology.managers.get(destination)
        if own is None or goal is None:
            return NextHops(RoutingRule.UNKNOWN)
        if own is goal:
            return NextHops(RoutingRule.LOCAL)
        if own.router:
            return self._from_router(own, goal, is_sideways=is_sideways)
        return self._from_client(own, goal)

    # By the role of this manager

    def _from_client(self, own: RoutedManager, goal: RoutedManager) -> NextHops:
        """A manager that does not route ([MS-MQBR] 3.1.5.1)."""
        if servers := self._servers(own.out_servers):
            return NextHops(RoutingRule.OUT_SERVER, servers)
        if self._is_near(goal):
            return self._bridged(self._last_leg(goal), goal)
        routers = {item for site in self._home for item in self.topology.routers[site]}
        if routers:
            return NextHops(RoutingRule.SITE_ROUTER, self._rotated(sorted(routers)))
        return self._fallback(goal)

    def _from_router(
        self, own: RoutedManager, goal: RoutedManager, *, is_sideways: bool
    ) -> NextHops:
        """A routing server, which may be a gate ([MS-MQBR] 3.1.5.2, 3.1.5.3)."""
        if goal.id.bytes_le in self.connected:
            return NextHops(RoutingRule.CONNECTOR)
        if own.id in goal.in_servers:
            return NextHops(RoutingRule.DIRECT, (goal.id,))
        if self._is_near(goal):
            return self._last_leg(goal)
        if not self.is_gate:
            gates = self.topology.gates_of_all(self._home)
            if gates:
                return NextHops(RoutingRule.SITE_GATE, self._rotated(gates))
            return self._fallback(goal)
        hops: dict[UUID, None] = {}
        for way in self.ways(goal):
            if not (way.equal and is_sideways):
                hops |= dict.fromkeys(self._gates_into(way.site, goal))
        return NextHops(RoutingRule.NEXT_GATE, tuple(hops)) if hops else self._fallback(goal)

    # Parts of these

    def _is_near(self, goal: RoutedManager) -> bool:
        """Whether a destination is in the same site; a foreign site is none of ours (RT-06)."""
        return not goal.foreign and not set(self._home).isdisjoint(self.topology.home(goal))

    def _servers(self, ids: Sequence[UUID]) -> tuple[UUID, ...]:
        """Those in- or out-routing servers that exist and route, in their order.

        ([MS-MQQB] 3.1.7.5; RT-09)
        """
        managers = self.topology.managers
        return tuple(item for item in ids if item in managers and managers[item].router)

    def _last_leg(self, goal: RoutedManager) -> NextHops:
        """To a destination that can be reached: by its in-routing servers, if it has any.

        All of them being away is no reason to go around them ([MS-MQBR] 3.1.5.2).
        """
        servers = self._servers(goal.in_servers)
        if not servers or self.own in goal.in_servers:
            return NextHops(RoutingRule.DIRECT, (goal.id,))
        return NextHops(RoutingRule.IN_SERVER, servers)

    def _bridged(self, decision: NextHops, goal: RoutedManager) -> NextHops:
        """With `bridge`, the routing servers of a common site come behind the destination."""
        if not self.topology.bridge or decision.hops != (goal.id,):
            return decision
        common = set(self._home) & set(self.topology.home(goal))
        routers = sorted({item for site in common for item in self.topology.routers[site]})
        others = [item for item in self._rotated(routers) if item != goal.id]
        return NextHops(decision.rule, (goal.id, *others))

    def _rotated(self, ids: Sequence[UUID]) -> tuple[UUID, ...]:
        """Managers any of which will do, in an order that differs between managers (RT-10)."""
        start = self.own.int % len(ids) if ids else 0
        return (*ids[start:], *ids[:start])

    def _fallback(self, goal: RoutedManager) -> NextHops:
        """No routing server or no way: direct, unless gates guard the destination.

        ([MS-MQBR] 3.1.5.2, 3.1.5.3; RT-04)
        """
        gates = self.topology.gates_of_all(self.topology.targets(goal))
        if goal.foreign:
            return NextHops(RoutingRule.CONNECTOR_SERVER, tuple(gates))
        if gates or not self.topology.direct:
            return NextHops(RoutingRule.NO_ROUTE)
        return NextHops(RoutingRule.UNGUARDED, self._last_leg(goal).hops)

    def _gates_into(self, site: UUID, goal: RoutedManager) -> list[UUID]:
        """The gates of the next site, those of a link from here first ([MS-MQBR] 1.5; RT-05)."""
        near = {
            gate
            for link in self.topology.links_of[site]
            if link.other_end(site) in self._home
            for gate in link.gates
        }
        gates = sorted(self.topology.gates[site], key=lambda gate: (gate not in near, gate))
        if gates:
            return [gate for gate in gates if gate != self.own]
        if site in goal.sites and not goal.foreign:
            return list(self._last_leg(goal).hops)
        return [router for router in self.topology.routers[site] if router != self.own]

    # Costs

    def ways(self, goal: RoutedManager) -> list[Way]:
        """The neighbour sites that a gate may use for a destination, the best first (RT-02).

        A message never goes farther away, and never twice in a row to a site that is as far as the
        one before: so none comes back to a site that it has left.
        """
        topology = self.topology
        targets, costs = topology.targets(goal), self._costs_to(goal)
        mine = [costs[site].cost for site in self._home if site in costs]
        if not mine:
            return []
        own = min(mine)
        first = min(self._reach[site] for site in targets if site in self._reach).first
        found: dict[UUID, Way] = {}
        for here in self._home:
            for there, weight in topology.neighbours[here].items():
                is_passed = topology.sites[there].foreign and there not in targets
                if there in self._home or is_passed or there not in costs:
                    continue
                rest = costs[there].cost
                if rest > own or (rest == own and not topology.gates[there]):
                    continue
                if there not in targets and self._is_dead_end(there, targets):
                    continue
                way = Way(weight + rest, there != first, there, rest == own)
                found[there] = min(found.get(there, way), way)
        return sorted(found.values())

    def _is_dead_end(self, site: UUID, targets: Iterable[UUID]) -> bool:
        """Whether messages that enter a site on their way stay there for ever (RT-05).

        It has no gate to leave by, and its routers do not connect to what gates guard (RT-04).
        """
        topology = self.topology
        is_guarded = not topology.direct or bool(topology.gates_of_all(targets))
        return not topology.gates[site] and is_guarded

    def _costs_to(self, goal: RoutedManager) -> Mapping[UUID, Reach]:
        """The cost from every site to the nearest one of a destination."""
        targets = self.topology.targets(goal)
        found = self._costs.get(targets)
        if found is None:
            found = self._costs[targets] = reach(self.topology, targets)
        return found

    def is_sideways(self, came_from: UUID, destination: UUID) -> bool:
        """Whether a message came from another site that is as far from its destination (RT-02)."""
        before, goal = (
            self.topology.managers.get(came_from),
            self.topology.managers.get(destination),
        )
        if before is None or goal is None:
            return False
        home, costs = self.topology.home(before), self._costs_to(goal)
        if not set(home).isdisjoint(self._home):
            return False
        theirs = min((costs[site].cost for site in home if site in costs), default=None)
        ours = min((costs[site].cost for site in self._home if site in costs), default=None)
        return theirs is not None and theirs == ours
