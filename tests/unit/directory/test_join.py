from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from tests.directories import BASE, example

import openmsmq
from openmsmq.directory.join import join_manager, set_identity
from openmsmq.directory.ldap.tree import LdapError, ResultCode, SearchScope
from openmsmq.directory.memory import MemoryTree
from openmsmq.directory.objects import ManagerObject
from openmsmq.directory.writer import DirectoryWriter
from openmsmq.errors import CantResolveSites, UnsupportedOperation


async def enterprise() -> MemoryTree:
    tree = await example()
    computer = {"objectClass": [b"computer"], "sAMAccountName": [b"NEW$"]}
    await tree.add(f"CN=NEW,OU=Servers,{BASE}", computer)
    return tree


def identity(data: Path) -> UUID:
    with openmsmq.open(data) as manager:
        return UUID(manager.id)


def test_a_new_manager_gets_the_identity_of_its_object(tmp_path: Path) -> None:
    """MQDS-184, MQDS-185, MQDS-186, MQDS-193, SYS-124"""

    async def run() -> None:
        tree = await enterprise()
        writer = DirectoryWriter(tree)
        guid, warnings = await join_manager(writer, "NEW", ["HQ"], tmp_path / "a")
        made = await writer.by_id(ManagerObject, guid, security=True)
        assert (made.system, made.foreign, made.router) == (0x100, False, False)
        assert made.security
        assert warnings == []
        again, _ = await join_manager(writer, "NEW", ["HQ"], tmp_path / "a")
        assert again == guid
        assert await asyncio.to_thread(identity, tmp_path / "a") == guid

    asyncio.run(run())


def test_a_manager_keeps_its_identity_unless_it_adopts(tmp_path: Path) -> None:
    """MQDS-184"""
    before = identity(tmp_path)
    with pytest.raises(UnsupportedOperation, match="--adopt"):
        set_identity(tmp_path, UUID(int=7))
    assert identity(tmp_path) == before
    set_identity(tmp_path, UUID(int=7), adopt=True)
    assert identity(tmp_path) == UUID(int=7)


def test_messages_on_their_way_hinder_another_identity(tmp_path: Path) -> None:
    """MQDS-184"""
    with openmsmq.open(tmp_path) as manager:
        manager.open_queue("DIRECT=OS:other\\q", access=openmsmq.Access.SEND).send(
            openmsmq.Message(b"x")
        )
    with pytest.raises(UnsupportedOperation, match="other"):
        set_identity(tmp_path, UUID(int=7), adopt=True)


def test_a_router_has_settings_in_its_site(tmp_path: Path) -> None:
    """MQDS-081: without the right to make them the manager is kept, and it is said."""

    async def run() -> None:
        tree = await enterprise()
        writer = DirectoryWriter(tree)
        guid, warnings = await join_manager(writer, "NEW", ["HQ"], tmp_path / "a", router=True)
        assert warnings == []
        found = await tree.search(tree.configuration, SearchScope.SUBTREE)
        assert any(row.values("mSMQQMID") == (guid.bytes_le,) for row in found)
        add = tree.add

        async def refuse(name: str, attributes: Any) -> None:
            if "CN=Sites" in name:
                raise LdapError(ResultCode.INSUFFICIENT_ACCESS_RIGHTS, "no")
            await add(name, attributes)

        tree.add = refuse  # type: ignore[method-assign]
        again, warnings = await join_manager(writer, "NEW", ["HQ"], tmp_path / "a", router=True)
        assert again == guid
        assert "administrator" in warnings[0]

    asyncio.run(run())


def test_a_site_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    """MQDS-191"""

    async def run() -> None:
        with pytest.raises(CantResolveSites):
            await join_manager(DirectoryWriter(await enterprise()), "NEW", ["Mars"], tmp_path)

    asyncio.run(run())
