from __future__ import annotations

import asyncio

import pytest
from tests.directories import example

from openmsmq.directory.ldap.tree import Change
from openmsmq.directory.memory import MemoryTree
from openmsmq.directory.objects import LinkObject, SiteObject
from openmsmq.directory.outcome import DirectoryFailed
from openmsmq.directory.reader import DirectoryReader
from openmsmq.directory.rights import CONTROL_ACCESS, NO_ONE, SITE_EXTENDED, object_ace
from openmsmq.directory.topology import read_topology
from openmsmq.routing.follow import RouteEnd, RouteFinder
from openmsmq.routing.topology import Topology
from openmsmq.security.descriptor import Acl, SecurityDescriptor
from openmsmq.security.sid import EVERYONE


async def topology(tree: MemoryTree) -> Topology:
    return await read_topology(DirectoryReader(tree))


def test_the_example_routes_as_its_topology_says() -> None:
    """MQDS-246, MQBR-023, SYS-147, SYS-151"""
    found = asyncio.run(_example())
    ids = {manager.name: manager.id for manager in found.managers.values()}
    route = RouteFinder(found).follow(ids["HQ-APP"], ids["SH-GATE"])
    assert route.result is RouteEnd.DELIVERED
    names = [found.name_of(hop) for hop in route.path]
    assert names == ["HQ-APP", "HQ-GATE", "PL-GATE", "SH-GATE"]
    assert found.managers[ids["HQ-APP"]].address == "hq-app.openmsmq.test"
    assert found.managers[ids["PARTNER1"]].foreign


async def _example() -> Topology:
    return await topology(await example())


def test_a_link_that_is_half_written_leaves_the_others() -> None:
    async def run() -> None:
        tree = await example()
        link = (await DirectoryReader(tree).find(LinkObject))[0]
        await tree.modify(link.path, [Change("mSMQCost")])
        broken: list[str] = []
        found = await read_topology(DirectoryReader(tree), broken)
        assert ["mSMQCost" in reason for reason in broken] == [True]
        assert len(found.links) == 2
        assert len(found.sites) == 5

    asyncio.run(run())


def test_a_controller_that_is_down_gives_no_topology() -> None:
    async def run() -> None:
        tree = await example()
        tree.is_down = True
        with pytest.raises(DirectoryFailed):
            await topology(tree)

    asyncio.run(run())


def test_a_foreign_site_says_who_may_open_its_connector_queues() -> None:
    """MQBR-161: the others say nothing; if it cannot be read, no one may."""

    async def run() -> None:
        tree = await example()
        reader = DirectoryReader(tree)
        (site,) = [item for item in await reader.find(SiteObject) if item.foreign]
        right = object_ace(EVERYONE, CONTROL_ACCESS, next(iter(SITE_EXTENDED)))
        given = SecurityDescriptor(dacl=Acl((right,), 4)).encode()
        for raw, wanted in ((given, "O:BAD:(A;;CC;;;WD)"), (b"garbage", NO_ONE)):
            change = Change("nTSecurityDescriptor", (raw,))
            await tree.modify(site.path, [change], flags=4)
            broken: list[str] = []
            found = await read_topology(reader, broken)
            assert found.sites[site.id].permissions == wanted
            assert len(broken) == (wanted == NO_ONE)
            others = [item for item in found.sites.values() if not item.foreign]
            assert {item.permissions for item in others} == {""}

    asyncio.run(run())
