"""The topology of routing as the directory has it ([MS-MQBR] 3.1.3.1)."""

from __future__ import annotations

from uuid import UUID

from openmsmq.directory.objects import LinkObject, ManagerObject, SiteObject
from openmsmq.directory.reader import DirectoryReader
from openmsmq.routing.topology import RoutedManager, RoutingLink, Site, Topology


async def read_topology(
    reader: DirectoryReader,
    broken: list[str] | None = None,
    keys: dict[UUID, bytes] | None = None,
) -> Topology:
    """All sites, links and managers of an enterprise: one snapshot ([MS-MQBR] 3.1.3.1).

    Half-written objects are left out, and `broken` says why. `keys` gets those that bodies are
    encrypted with for each manager ([MS-MQQB] 3.1.7.1.5).
    """
    found = [] if broken is None else broken
    sites = await reader.find(SiteObject, broken=found)
    managers = await reader.find(ManagerObject, broken=found)
    links = await reader.find(LinkObject, broken=found)
    if keys is not None:
        keys |= {item.id: item.encryption_keys for item in managers}
    return Topology(
        {item.id: Site(item.id, item.name, item.foreign) for item in sites},
        tuple(RoutingLink(item.site1, item.site2, item.cost, item.gates) for item in links),
        {item.id: routed(item) for item in managers if item.computer},
    )


def routed(manager: ManagerObject) -> RoutedManager:
    """A manager as routing knows it."""
    return RoutedManager(
        manager.id,
        manager.computer,
        manager.sites,
        router=manager.router,
        out_servers=manager.out_servers,
        in_servers=manager.in_servers,
        foreign=manager.foreign,
        address=manager.host,
    )
