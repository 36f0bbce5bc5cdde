"""How messages are routed, over REST: sites, links, managers, what is down, and single routes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final
from uuid import UUID

from openmsmq.app_protocol.topology import TopologyInfo
from openmsmq.console.problems import RequestRefused
from openmsmq.console.rest.calls import ApiCall, ApiRoute
from openmsmq.routing.follow import Failures, RouteFinder
from openmsmq.routing.topology import Topology


@dataclass(frozen=True, slots=True)
class FailingHop:
    """A manager or computer that messages wait for."""

    address: str
    queues: int
    messages: int
    failures: int
    "Attempts in a row that failed."
    last_error: str


@dataclass(frozen=True, slots=True)
class RouteHop:
    """A manager on the way, and what it decides."""

    at: str
    rule: str
    hops: tuple[str, ...]
    "Where the message may go from here, the best first."


@dataclass(frozen=True, slots=True)
class RouteView:
    """The way of a message."""

    result: str
    path: tuple[str, ...]
    routers: int
    steps: tuple[RouteHop, ...]


async def topology(call: ApiCall) -> TopologyInfo:
    """What the manager routes messages by, and whether its directory answers."""
    return await (await call.manager()).control.topology()


async def failing(call: ApiCall) -> list[FailingHop]:
    """Hops that messages wait for, since they could not be connected to."""
    found: dict[str, FailingHop] = {}
    for info in await (await call.manager()).outgoing():
        if info.failures:
            before = found.get(info.next_hop, FailingHop(info.next_hop, 0, 0, 0, ""))
            found[info.next_hop] = FailingHop(
                info.next_hop,
                before.queues + 1,
                before.messages + info.messages,
                max(before.failures, info.failures),
                info.last_error or before.last_error,
            )
    return sorted(found.values(), key=lambda hop: hop.address)


async def route(call: ApiCall) -> RouteView:
    """The way of a message from one manager to another, as if some managers were off."""
    known = (await topology(call)).topology()
    source, goal = (_manager(known, call.text(name)) for name in ("from", "to"))
    off = [name for name in call.text("down").split(",") if name]
    way = RouteFinder(known).follow(source, goal, Failures({_manager(known, one) for one in off}))
    steps = (
        RouteHop(known.name_of(one.manager), str(one.rule), tuple(map(known.name_of, one.hops)))
        for one in way.steps
    )
    path = tuple(map(known.name_of, way.path))
    return RouteView(str(way.result), path, way.hop_count, tuple(steps))


def _manager(known: Topology, name: str) -> UUID:
    for manager in known.managers.values():
        if manager.name.casefold() == name.casefold():
            return manager.id
    raise RequestRefused(404, f"there is no manager {name[:60]!r} in the topology")


_TOPOLOGY: Final = "/managers/{manager}/topology"
TOPOLOGY_ROUTES: Final = (
    ApiRoute("GET", _TOPOLOGY, "watch", "Sites, links and managers", topology, TopologyInfo),
    ApiRoute(
        "GET",
        f"{_TOPOLOGY}/failing",
        "watch",
        "Hops that messages wait for",
        failing,
        list[FailingHop],
    ),
    ApiRoute(
        "GET",
        f"{_TOPOLOGY}/route",
        "watch",
        "The way of a message",
        route,
        RouteView,
        query={
            "from": "the name of the manager that sends",
            "to": "the name of the manager that it is for",
            "down": "names of managers that are off, separated by commas",
        },
    ),
)
