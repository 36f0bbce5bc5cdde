from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from tests.directories import BASE, example

from openmsmq.directory.ldap.filters import equal
from openmsmq.directory.ldap.forest import DOMAINS_KNOWN_FOR, ForestTree
from openmsmq.directory.ldap.tree import (
    ROOT,
    Change,
    ConnectionFailed,
    LdapError,
    ResultCode,
    SearchScope,
)
from openmsmq.directory.memory import MemoryTree
from openmsmq.directory.objects import ManagerObject, QueueObject
from openmsmq.directory.reader import DirectoryReader
from openmsmq.directory.topology import read_topology

CHILD = f"DC=shop,{BASE}"
CONFIGURATION = f"CN=Configuration,{BASE}"


class Catalog(MemoryTree):
    """The global catalog: no base is all of it."""

    async def search(self, base: str, scope: SearchScope, *values: object, **named: object) -> list:  # type: ignore[type-arg]
        """As a controller at port 3268 does."""
        return await super().search(base or BASE, scope, *values, **named)  # type: ignore[arg-type]


class Forest:
    """The example, and a second domain that only the catalog has."""

    def __init__(self, own: MemoryTree, catalog: MemoryTree) -> None:
        self.own, self.catalog = own, catalog
        self.opened: list[str] = []
        self.now = 0.0
        self.tree = ForestTree(own, self._open, now=lambda: self.now)

    def _open(self, name: str) -> MemoryTree:
        self.opened.append(name)
        return self.catalog

    async def add_domain(self, name: str, context: str) -> None:
        """Let the forest have one more domain."""
        attributes = {"objectClass": [b"crossRef"], "nETBIOSName": [name.encode()]}
        attributes["nCName"] = [context.encode()]
        await self.own.add(f"CN={name},CN=Partitions,{CONFIGURATION}", attributes)


def in_forest(test: Callable[[Forest], Awaitable[None]]) -> None:
    async def run() -> None:
        own = await example()
        forest = Forest(own, Catalog())
        await test(forest)
        await forest.tree.close()

    asyncio.run(run())


async def add_shop(forest: Forest) -> None:
    """The second domain, with a computer, its manager and a queue."""
    await forest.add_domain("SHOP", CHILD)
    tree = forest.catalog
    await tree.add(CHILD, {"objectClass": [b"domain"]})
    computer = f"CN=SHOP9,{CHILD}"
    values = {"objectClass": [b"computer"], "sAMAccountName": [b"SHOP9$"]}
    await tree.add(computer, {**values, "dNSHostName": [b"shop9.shop.openmsmq.test"]})
    await tree.add(f"CN=msmq,{computer}", {"objectClass": [b"mSMQConfiguration"]})
    queue = {"objectClass": [b"mSMQQueue"], "cn": [b"till"], "mSMQLabelEx": [b"of the shop"]}
    await tree.add(f"CN=till,CN=msmq,{computer}", queue)


def test_a_forest_with_one_domain_does_without_the_catalog() -> None:
    """MQDS-017"""

    async def test(forest: Forest) -> None:
        reader = DirectoryReader(forest.tree)
        assert len(await reader.find(ManagerObject)) == 5
        assert forest.opened == []
        assert forest.tree.server == "dc1.openmsmq.test"
        assert await forest.tree.controllers() == ("DC1",)

    in_forest(test)


def test_objects_of_other_domains_are_found_in_the_catalog() -> None:
    """MQDS-017, MQDS-029: by name, by identifier, and among all."""

    async def test(forest: Forest) -> None:
        await add_shop(forest)
        reader = DirectoryReader(forest.tree)
        managers = {item.computer: item for item in await reader.find(ManagerObject)}
        assert len(managers) == 6
        assert managers["SHOP9"].host == "shop9.shop.openmsmq.test"
        assert forest.opened == ["openmsmq.test"]
        queue = await reader.queue_by_path("shop9\\till")
        assert (queue.label, queue.manager) == ("of the shop", managers["SHOP9"].id)
        assert (await reader.by_id(QueueObject, queue.id)).name == "till"
        assert (await reader.queue_by_path("hq-app\\orders")).name == "orders"
        topology = await read_topology(reader)
        assert managers["SHOP9"].id in topology.managers
        with pytest.raises(LdapError) as caught:
            await forest.tree.search(f"CN=none,{CHILD}", SearchScope.BASE)
        assert caught.value.code == ResultCode.NO_SUCH_OBJECT

    in_forest(test)


def test_what_both_have_comes_from_the_own_domain() -> None:
    """The catalog has only a part of the attributes."""

    async def test(forest: Forest) -> None:
        await add_shop(forest)
        computer = f"CN=HQ9,{BASE}"
        for tree in (forest.own, forest.catalog):
            await tree.add(computer, {"objectClass": [b"computer"], "sAMAccountName": [b"HQ9$"]})
        await forest.own.modify(computer, [Change("description", [b"whole"])])
        condition = equal("sAMAccountName", "HQ9$")
        (row,) = await forest.tree.search(BASE, SearchScope.SUBTREE, condition)
        assert row.text("description") == "whole"

    in_forest(test)


def test_without_the_catalog_no_part_of_a_list_counts() -> None:
    """MQDS-017: and what is not about other domains goes on."""

    async def test(forest: Forest) -> None:
        await add_shop(forest)
        forest.catalog.is_down = True
        with pytest.raises(ConnectionFailed, match="global catalog"):
            await forest.tree.search(BASE, SearchScope.SUBTREE, equal("objectClass", "computer"))
        assert await forest.tree.search(f"OU=Servers,{BASE}", SearchScope.BASE)
        assert await forest.tree.search(f"CN=Sites,{CONFIGURATION}", SearchScope.SUBTREE)
        assert await forest.tree.search(ROOT, SearchScope.BASE)

    in_forest(test)


def test_a_domain_that_came_or_went_is_noticed_after_a_day() -> None:
    async def test(forest: Forest) -> None:
        everything = (BASE, SearchScope.SUBTREE, equal("objectClass", "computer"))
        before = len(await forest.tree.search(*everything))
        await add_shop(forest)
        assert len(await forest.tree.search(*everything)) == before
        forest.now = DOMAINS_KNOWN_FOR
        assert len(await forest.tree.search(*everything)) == before + 1
        await forest.tree.delete(f"CN=SHOP,CN=Partitions,{CONFIGURATION}")
        forest.now = 2 * DOMAINS_KNOWN_FOR
        assert len(await forest.tree.search(*everything)) == before

    in_forest(test)


def test_changes_go_to_the_own_domain() -> None:
    async def test(forest: Forest) -> None:
        await add_shop(forest)
        name = f"CN=new,OU=Servers,{BASE}"
        await forest.tree.add(name, {"objectClass": [b"container"]})
        await forest.tree.modify(name, [Change("description", [b"d"])])
        assert (await forest.own.search(name, SearchScope.BASE))[0].text("description") == "d"
        await forest.tree.delete(name)
        with pytest.raises(LdapError):
            await forest.own.search(name, SearchScope.BASE)

    in_forest(test)
