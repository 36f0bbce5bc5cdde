"""The sites, links and managers by which a manager routes messages, as its service shows them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from uuid import UUID

from openmsmq.routing.findings import findings
from openmsmq.routing.topology import RoutedManager, RoutingLink, Site, Topology


@dataclass(frozen=True, slots=True)
class SiteInfo:
    """A site."""

    id: UUID
    name: str
    foreign: bool
    "Where another system is, behind a connector."


@dataclass(frozen=True, slots=True)
class LinkInfo:
    """A way between two sites."""

    site1: UUID
    site2: UUID
    cost: int
    gates: tuple[UUID, ...]
    "The managers that pass messages between the two."


@dataclass(frozen=True, slots=True)
class RoutedManagerInfo:
    """A manager of the topology."""

    id: UUID
    name: str
    sites: tuple[UUID, ...]
    router: bool
    foreign: bool
    address: str
    "Where it is; empty if its name says so."
    out_servers: tuple[UUID, ...]
    "Everything that it sends goes by one of these."
    in_servers: tuple[UUID, ...]
    "Everything that is sent to it goes by one of these."


@dataclass(frozen=True, slots=True)
class TopologyInfo:
    """What a manager routes by."""

    source: str
    "`file`, `directory` or `none`."
    directory: str
    "`online`, `offline`, or `none` for a manager of a workgroup."
    direct: bool
    bridge: bool
    sites: tuple[SiteInfo, ...]
    links: tuple[LinkInfo, ...]
    managers: tuple[RoutedManagerInfo, ...]
    findings: tuple[str, ...]
    "What is wrong with it, and with the directory."

    def topology(self) -> Topology:
        """What routes are worked out with."""
        return Topology(
            {site.id: Site(site.id, site.name, site.foreign) for site in self.sites},
            tuple(RoutingLink(one.site1, one.site2, one.cost, one.gates) for one in self.links),
            {
                one.id: RoutedManager(
                    one.id,
                    one.name,
                    one.sites,
                    one.router,
                    one.out_servers,
                    one.in_servers,
                    one.foreign,
                    one.address,
                )
                for one in self.managers
            },
            self.direct,
            self.bridge,
        )


def topology_info(
    found: Topology, source: str, directory: str, problems: Iterable[str] = ()
) -> TopologyInfo:
    """What is shown of a topology; who may open connector queues is not.

    `problems` are those of the directory.
    """
    return TopologyInfo(
        source if found.sites else "none",
        directory,
        found.direct,
        found.bridge,
        tuple(SiteInfo(site.id, site.name, site.foreign) for site in found.sites.values()),
        tuple(LinkInfo(one.site1, one.site2, one.cost, one.gates) for one in found.valid_links),
        tuple(
            RoutedManagerInfo(
                one.id,
                one.name,
                one.sites,
                one.router,
                one.foreign,
                one.address,
                one.out_servers,
                one.in_servers,
            )
            for one in found.managers.values()
        ),
        (*findings(found), *problems),
    )
