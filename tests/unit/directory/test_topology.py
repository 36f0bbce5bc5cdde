from __future__ import annotations

import asyncio

import pytest
from tests.directories import example

from openmsmq.directory.ldap.tree import Change
from openmsmq.directory.memory import MemoryTree
from openmsmq.directory.objects import LinkObject
from openmsmq.directory.outcome import DirectoryFailed
from openmsmq.directory.reader import DirectoryReader
from openmsmq.directory.topology import read_topology
from openmsmq.routing.follow import RouteEnd, RouteFinder
from openmsmq.routing.topology import Topology


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
