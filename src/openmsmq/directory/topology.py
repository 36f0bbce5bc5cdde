"""The topology of routing as the directory has it ([MS-MQBR] 3.1.3.1)."""

from __future__ import annotations

from uuid import UUID

from openmsmq.directory.objects import LinkObject, ManagerObject, SiteObject
from openmsmq.directory.reader import DirectoryReader
from openmsmq.directory.rights import NO_ONE, site_permissions
from openmsmq.errors import Malformed
from openmsmq.routing.topology import RoutedManager, RoutingLink, Site, Topology


async def read_topology(
    reader: DirectoryReader,
    broken: list[str] | None = None,
    keys: dict[UUID, bytes] | None = None,
) -> Topology:
    """All sites, links and managers of an enterprise: one snapshot ([MS-MQBR] 3.1.3.1).

    A search that breaks off is no result at all, so that what was read before stays in use
    ([MS-MQBR] 3.1.5.9, [MS-MQDMPR] 3.1.6.1, 3.1.6.2; RT-16). Half-written objects are left out, and
    `broken` says why. `keys` gets those that bodies are encrypted with for each manager
    ([MS-MQQB] 3.1.7.1.5).
    """
    found = [] if broken is None else broken
    sites = await reader.find(SiteObject, broken=found)
    managers = await reader.find(ManagerObject, broken=found)
    links = await reader.find(LinkObject, broken=found)
    if keys is not None:
        keys |= {item.id: item.encryption_keys for item in managers}
    return Topology(
        {item.id: await _site(reader, item, found) for item in sites},
        tuple(RoutingLink(item.site1, item.site2, item.cost, item.gates) for item in links),
        {item.id: routed(item) for item in managers if item.computer},
    )


async def _site(reader: DirectoryReader, item: SiteObject, broken: list[str]) -> Site:
    """A site; of a foreign one also who may open its connector queues.

    ([MS-ADTS] 6.1.1.2.7.18) If that cannot be read, only administrators of the manager may.
    """
    if not item.foreign:
        return Site(item.id, item.name)
    permissions = NO_ONE
    try:
        own = await reader.by_id(SiteObject, item.id, security=True)
        permissions = site_permissions(own.security)
    except Malformed as error:
        broken.append(f"{item.path}: {error}")
    return Site(item.id, item.name, foreign=True, permissions=permissions)


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
