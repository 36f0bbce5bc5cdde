from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from tests.directories import BASE, example, guid_of
from tests.unit.directory.office import PATH, Office, in_office
from tests.unit.directory.test_inbox import notify, said

import openmsmq
from openmsmq.directory.join import join_manager, machine_changes, set_identity
from openmsmq.directory.ldap.tree import Change, LdapError, ResultCode, SearchScope
from openmsmq.directory.memory import MemoryTree
from openmsmq.directory.notification import ChangeEvent
from openmsmq.directory.objects import ManagerObject, SiteObject
from openmsmq.directory.rights import (
    CONTROL_ACCESS,
    CREATE_CHILD,
    MANAGER_EXTENDED,
    QUEUE_CLASS,
    manager_descriptor,
    object_ace,
)
from openmsmq.directory.writer import DirectoryWriter
from openmsmq.engine.authorization import authorize_manager
from openmsmq.errors import AccessDenied, CantResolveSites, UnsupportedOperation
from openmsmq.interfaces.management.queue_properties import qualified_path_of
from openmsmq.names.parse import parse_name
from openmsmq.security.access import ManagerRights
from openmsmq.security.access_check import is_granted
from openmsmq.security.descriptor import Ace, Acl
from openmsmq.security.sid import Sid
from openmsmq.types.caller import EVERYTHING, Caller, Grant
from openmsmq.types.settings import Settings


async def enterprise() -> MemoryTree:
    tree = await example()
    computer = {"objectClass": [b"computer"], "sAMAccountName": [b"NEW$"]}
    await tree.add(f"CN=NEW,OU=Servers,{BASE}", computer)
    return tree


def identity(data: Path) -> UUID:
    with openmsmq.open(data) as manager:
        return UUID(manager.id)


def test_a_new_manager_gets_the_identity_of_its_object(tmp_path: Path) -> None:
    """MQDS-184, MQDS-185, MQDS-186, MQDS-193, SYS-124, DMPR-008"""

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


GROUP = Sid(5, (21, 1, 2, 3, 1000))
DEAD_LETTERS = next(iter(MANAGER_EXTENDED))
ADMIN = Caller("root", EVERYTHING)
ANNA = Caller("anna", Grant("send", user="anna"))


def with_entries(office: Office, *aces: Ace) -> bytes:
    """The permissions of an object that a join makes, and more."""
    assert office.service.own is not None
    assert office.service.own.sid is not None
    made = manager_descriptor(office.service.own.sid)
    assert made.dacl is not None
    return replace(made, dacl=Acl((*made.dacl.aces, *aces), 4)).encode()


async def sites(office: Office) -> dict[str, UUID]:
    return {site.name: site.id for site in await office.writer.find(SiteObject)}


def test_nothing_is_written_in_a_domain_that_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """MQDS-180, SYS-120: by a manager that is registered and has not moved."""

    async def test(office: Office) -> None:
        async def refuse(*given: object, **named: object) -> None:
            raise AssertionError(f"written: {given}")

        for operation in ("add", "modify", "delete"):
            monkeypatch.setattr(office.tree, operation, refuse)
        office.service.site = "HQ"
        for _ in range(2):
            await office.service.refresh()
            assert not office.service.is_offline
        assert office.service.broken == []

    in_office(test)


def test_an_object_in_the_old_domain_is_left_to_an_administrator() -> None:
    """MQDS-188, SYS-120: none is made anew, and it is said where it is."""

    async def test(office: Office) -> None:
        app = await office.writer.manager_of("HQ-APP")
        moved = Office(office.tree, app.id, "ELSEWHERE")
        await moved.service.refresh()
        assert moved.service.is_offline
        assert f"is {app.path}" in moved.service.last_error
        assert "administrator has to move it" in moved.service.last_error
        assert (await office.writer.by_id(ManagerObject, app.id)).path == app.path
        await moved.close()
        unknown = Office(office.tree, UUID(int=77), "ELSEWHERE")
        await unknown.service.refresh()
        assert "no computer ELSEWHERE" in unknown.service.last_error
        await unknown.close()

    in_office(test)


def test_a_client_that_has_moved_writes_its_new_site() -> None:
    """MQDS-192: a foreign site that it serves stays."""

    async def test(office: Office) -> None:
        known = await sites(office)
        abroad = await office.writer.create_foreign_site("Abroad")
        await office.writer.write(ManagerObject, PATH, {"sites": (known["HQ"], abroad)})
        office.service.site = "Plant"
        await office.service.refresh()
        assert office.service.broken == []
        assert (await office.writer.manager_of("NEW")).sites == (known["Plant"], abroad)
        office.service.site = "Mars"
        await office.service.refresh()
        assert office.service.broken == ["directory.site: there is no site Mars"]
        assert not office.service.is_offline

    in_office(test)


def test_a_server_that_has_moved_is_reported() -> None:
    """MQDS-192: others route by where it is, so that an administrator decides."""

    async def test(office: Office) -> None:
        gate = await office.another("HQ-GATE")
        before = (await office.writer.manager_of("HQ-GATE")).sites
        gate.service.site = "Plant"
        await gate.service.refresh()
        assert ["set-manager HQ-GATE" in reason for reason in gate.service.broken] == [True]
        assert (await office.writer.manager_of("HQ-GATE")).sites == before
        await gate.close()

    in_office(test)


def test_quotas_and_permissions_are_those_of_the_directory() -> None:
    """MQDS-225: after a notification, and at every reading; what is not set there stays (DS-35)."""

    async def test(office: Office) -> None:
        await office.driver.wait(lambda: office.local.configure(quota=7))
        await office.service.refresh()
        assert (office.local.settings.quota, office.local.settings.permissions) == (7, "")
        values = {"quota": 4711, "journal_quota": 5}
        await office.writer.write(ManagerObject, PATH, values)
        create = object_ace(GROUP, CREATE_CHILD, QUEUE_CLASS)
        read = object_ace(GROUP, CONTROL_ACCESS, DEAD_LETTERS)
        await office.writer.write_security(PATH, with_entries(office, create, read))
        await notify(office, said(ChangeEvent.MACHINE_CHANGED, office.local.identity))
        settings = office.local.settings
        assert (settings.quota, settings.journal_quota) == (4711, 5)
        assert office.local.queues.system_journal.properties.quota == 5
        for right in (ManagerRights.CREATE_QUEUE, ManagerRights.RECEIVE_DEADLETTER_MESSAGE):
            authorize_manager(ADMIN, right, settings.permissions)
            assert is_granted(settings.permissions, frozenset({GROUP}), int(right))
            with pytest.raises(AccessDenied):
                authorize_manager(ANNA, right, settings.permissions)

        await office.writer.write_security(PATH, b"garbage")
        await office.tree.modify(PATH, [Change("mSMQQuota")])
        await office.service.refresh()
        assert not office.service.is_offline
        assert office.local.settings == settings
        assert ["permissions cannot be read" in one for one in office.service.broken] == [True]

    in_office(test)


def test_no_quota_is_no_limit_and_equal_settings_are_no_change() -> None:
    descriptor = manager_descriptor(GROUP).encode()
    own = ManagerObject(quota=0xFFFFFFFF, journal_quota=9, sid=GROUP, security=descriptor)
    assert machine_changes(own, Settings(quota=3)) == ({"quota": None, "journal_quota": 9}, "")
    assert machine_changes(own, Settings(journal_quota=9)) == ({}, "")


def test_the_name_in_dns_is_one_of_this_computer() -> None:
    """DMPR-034, DMPR-123, DMPR-373: path names with it mean queues here."""

    async def test(office: Office) -> None:
        app = await office.another("HQ-APP")
        name = parse_name("hq-app.openmsmq.test\\orders")
        assert app.local.resolver.local(name) is None
        await app.service.refresh()
        assert app.local.directory.host == "hq-app.openmsmq.test"
        assert app.local.resolver.local(name) == "orders"
        queue = app.local.find_queue(".\\orders")
        assert qualified_path_of(app.local, queue) == "hq-app.openmsmq.test\\orders"
        found = await office.writer.queue_by_path("hq-app.openmsmq.test\\orders")
        assert found.qualified_path_name == "hq-app.openmsmq.test\\orders"
        assert found.id == await guid_of(
            office.tree, f"CN=orders,CN=msmq,CN=HQ-APP,OU=Servers,{BASE}"
        )
        await app.close()

    in_office(test)
