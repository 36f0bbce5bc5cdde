"""The route of a message through a topology, with what is down ([MS-MQBR] 3.1.5)."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple
from uuid import UUID

from openmsmq.limits import HOP_COUNT_MAX
from openmsmq.routing.decision import Routes, RoutingRule
from openmsmq.routing.topology import Topology


class RouteEnd(StrEnum):
    """Where a message ends."""

    DELIVERED = "delivered"
    CONNECTOR_QUEUE = "connector queue"
    WAITS = "waits"
    NO_ROUTE = "no route"
    HOP_COUNT = "hop count exceeded"
    CAME_BACK = "came back"


@dataclass(frozen=True, slots=True)
class Failures:
    """What does not work at the moment."""

    down: Collection[UUID] = ()
    "Managers."
    cut: Collection[frozenset[UUID]] = field(default_factory=frozenset)
    "Pairs of sites, or of managers, that cannot connect."

    def hinder(self, topology: Topology, here: UUID, there: UUID) -> bool:
        """Whether a manager cannot connect to another."""
        if there in self.down or frozenset((here, there)) in self.cut:
            return True
        ours, theirs = topology.managers[here].sites, topology.managers[there].sites
        if not set(ours).isdisjoint(theirs):
            return False
        return any(frozenset((one, other)) in self.cut for one in ours for other in theirs)


class RouteStep(NamedTuple):
    """A manager on the way, and what it decides."""

    manager: UUID
    rule: RoutingRule
    hops: tuple[UUID, ...]
    "Where the message may go from here, the best first."


class MessageRoute(NamedTuple):
    """The way of a message."""

    result: RouteEnd
    path: tuple[UUID, ...]
    hop_count: int
    steps: tuple[RouteStep, ...]


class RouteFinder:
    """Follows messages; what managers decide is worked out once."""

    def __init__(self, topology: Topology) -> None:
        self._topology = topology
        self._routes: dict[UUID, Routes] = {}

    def routes_of(self, manager: UUID) -> Routes:
        """The decisions of a manager."""
        found = self._routes.get(manager)
        if found is None:
            found = self._routes[manager] = Routes(self._topology, manager)
        return found

    def follow(
        self, source: UUID, destination: UUID, failures: Failures | None = None
    ) -> MessageRoute:
        """The way of a message from a manager to another one."""
        failures = failures or Failures()
        at, came_from, path, count = source, None, [source], 0
        steps: list[RouteStep] = []
        while True:
            decision = self.routes_of(at).next_hops(destination, came_from)
            steps.append(RouteStep(at, *decision))
            hops = [hop for hop in decision.hops if not failures.hinder(self._topology, at, hop)]
            if decision.rule in _ENDS or not hops:
                waits = RouteEnd.WAITS if decision.hops else RouteEnd.NO_ROUTE
                end = _ENDS.get(decision.rule, waits)
                return MessageRoute(end, tuple(path), count, tuple(steps))
            hop = hops[0]
            count += hop != destination
            is_back = hop in path
            path.append(hop)
            if count > HOP_COUNT_MAX or is_back:
                end = RouteEnd.CAME_BACK if is_back else RouteEnd.HOP_COUNT
                return MessageRoute(end, tuple(path), count, tuple(steps))
            at, came_from = hop, at


_ENDS = {RoutingRule.LOCAL: RouteEnd.DELIVERED, RoutingRule.CONNECTOR: RouteEnd.CONNECTOR_QUEUE}
