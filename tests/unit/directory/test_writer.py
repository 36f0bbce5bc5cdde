from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any
from uuid import UUID

import pytest
from tests.directories import BASE, CERTIFICATE, CONFIGURATION, DIGEST, LONG_NAME, example, guid_of

from openmsmq.directory import writer as writer_module
from openmsmq.directory.ldap.filters import equal
from openmsmq.directory.ldap.tree import Change, SearchScope
from openmsmq.directory.memory import MemoryTree
from openmsmq.directory.objects import (
    EnterpriseObject,
    LinkObject,
    ManagerObject,
    QueueObject,
    ServiceBits,
    SiteObject,
    UserObject,
)
from openmsmq.directory.outcome import DirectoryFailed, DirectoryOutcome
from openmsmq.directory.rights import manager_descriptor
from openmsmq.directory.writer import DirectoryWriter, service_bits
from openmsmq.errors import IllegalPropertyValue, IllegalQueuePathName
from openmsmq.security.keys import UserCertificates
from openmsmq.security.sid import Sid

APP = f"CN=msmq,CN=HQ-APP,OU=Servers,{BASE}"
HQ = f"CN=HQ,CN=Sites,{CONFIGURATION}"


def writing(test: Callable[[DirectoryWriter, MemoryTree], Awaitable[None]]) -> None:
    """Run a test with the example, and a computer NEW without a manager."""

    async def run() -> None:
        tree = await example()
        new = {"objectClass": [b"computer"], "sAMAccountName": [b"NEW$"]}
        await tree.add(f"CN=NEW,OU=Servers,{BASE}", new)
        await test(DirectoryWriter(tree), tree)

    asyncio.run(run())


async def outcome(operation: Awaitable[Any]) -> DirectoryOutcome:
    with pytest.raises(DirectoryFailed) as caught:
        await operation
    return caught.value.outcome


def test_a_manager_is_made_below_its_computer() -> None:
    """MQDS-073, MQDS-074, MQDS-076, MQDS-185"""

    async def test(writer: DirectoryWriter, tree: MemoryTree) -> None:
        site = await guid_of(tree, HQ)
        values = {"sites": (site,), "system": 0x100, "foreign": False, "encryption_keys": b"k"}
        guid = await writer.create_manager("NEW", values)
        (row,) = await tree.search(f"CN=msmq,CN=NEW,OU=Servers,{BASE}", SearchScope.BASE)
        assert row.values("objectGUID") == (guid.bytes_le,)
        assert row.values("mSMQSites") == (site.bytes_le,)
        assert (row.text("mSMQOSType"), row.text("mSMQForeign")) == ("256", "FALSE")
        assert row.values("mSMQQuota") == ()  # it was not given
        again = await writer.create_manager("new", {"sites": (site,)})
        assert again == guid

    writing(test)


def test_a_manager_needs_a_computer_and_sites() -> None:
    """MQDS-072, MQDS-069"""

    async def test(writer: DirectoryWriter, tree: MemoryTree) -> None:
        site = await guid_of(tree, HQ)
        for computer, values in (
            ("NEW", {}),
            ("", {"sites": (site,)}),
            ("NEW", {"sites": (site,), "connected_networks": ()}),
        ):
            assert (
                await outcome(writer.create_manager(computer, values))
                is DirectoryOutcome.GENERIC_ERROR
            )
        missing = writer.create_manager("none", {"sites": (site,)})
        assert await outcome(missing) is DirectoryOutcome.OBJECT_NOT_FOUND

    writing(test)


def test_what_is_given_with_the_computer_is_written_there() -> None:
    """MQDS-070, MQDS-071"""

    async def test(writer: DirectoryWriter, tree: MemoryTree) -> None:
        site = await guid_of(tree, HQ)
        values = {"sites": (site,), "certificates": b"c", "digests": (b"d" * 16,)}
        guid = await writer.create_manager("NEW", values, manager_descriptor(Sid(5, (1,))).encode())
        (row,) = await tree.search(f"CN=NEW,OU=Servers,{BASE}", SearchScope.BASE)
        assert row.values("mSMQSignCertificates") == (b"c",)
        assert row.values("mSMQDigests") == (b"d" * 16,)
        made = await writer.by_id(ManagerObject, guid, security=True)
        assert made.security == manager_descriptor(Sid(5, (1,))).encode()
        await writer.write(ManagerObject, made.path, {"certificates": b"e"})
        assert (await writer.by_id(ManagerObject, guid)).certificates == b"e"

    writing(test)


def test_a_new_object_is_looked_for_until_it_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """MQDS-075"""
    monkeypatch.setattr(writer_module, "_SEEN_AFTER", (0.0, 0.0, 0.0))

    async def test(writer: DirectoryWriter, tree: MemoryTree) -> None:
        find, asked = writer.id_of, []

        async def late(path: str) -> UUID | None:
            asked.append(path)
            return None if len(asked) < 3 else await find(path)

        monkeypatch.setattr(writer, "id_of", late)
        await writer.create_foreign_site("Abroad")
        assert len(asked) == 3

    writing(test)


def test_services_are_bits() -> None:
    """MQDS-060, MQDS-061"""
    assert service_bits({"router": True}) == 1
    assert service_bits({"services": ServiceBits.REMOTE_ACCESS}) == 0x10
    assert service_bits({"services": 4, "directory_server": True, "router": True}) == 5
    assert service_bits({"services": 4}) == 0


async def settings_of(tree: MemoryTree, manager: UUID) -> list[str]:
    condition = equal("mSMQQMID", manager.bytes_le)
    rows = await tree.search(f"CN=Sites,{CONFIGURATION}", SearchScope.SUBTREE, condition)
    return sorted(row.name for row in rows)


def test_a_server_has_settings_in_each_of_its_sites() -> None:
    """MQDS-077 to MQDS-080, MQDS-082, MQDS-088, MQDS-089"""

    async def test(writer: DirectoryWriter, tree: MemoryTree) -> None:
        sites = [
            await guid_of(tree, f"CN={name},CN=Sites,{CONFIGURATION}") for name in ("HQ", "Shop")
        ]
        values = {"sites": (*sites, UUID(int=3)), "router": True}
        guid = await writer.create_manager("NEW", values)
        path = f"CN=msmq,CN=NEW,OU=Servers,{BASE}"
        made = await writer.by_id(ManagerObject, guid)
        assert await writer.write_settings(made) == [str(UUID(int=3))]
        expected = [
            f"CN=MSMQ Settings,CN=NEW,CN=Servers,CN={name},CN=Sites,{CONFIGURATION}"
            for name in ("HQ", "Shop")
        ]
        assert await settings_of(tree, guid) == expected
        (row,) = await tree.search(expected[0], SearchScope.BASE)
        assert row.values("mSMQQMID") == (guid.bytes_le,)
        assert (row.text("mSMQServices"), row.text("mSMQRoutingService")) == ("1", "TRUE")
        assert row.text("mSMQDsService") == row.text("mSMQDependentClientService") == "FALSE"
        await writer.write(ManagerObject, path, {"sites": (sites[1],)})
        await writer.write_settings(await writer.by_id(ManagerObject, guid))
        assert await settings_of(tree, guid) == expected[1:]
        await writer.write(ManagerObject, path, {"router": False})
        await writer.write_settings(await writer.by_id(ManagerObject, guid))
        assert await settings_of(tree, guid) == []

    writing(test)


def test_routing_servers_are_written_by_name() -> None:
    """MQDS-067, MQDS-068"""

    async def test(writer: DirectoryWriter, tree: MemoryTree) -> None:
        gate = await writer.manager_of("HQ-GATE")
        paths = await writer.routing_paths([gate.id, UUID(int=9)])
        assert paths == (gate.path,)
        await writer.write(ManagerObject, APP, {"out_names": paths, "in_names": ()})
        app = await writer.manager_of("HQ-APP")
        assert (app.out_servers, app.in_servers) == ((gate.id,), ())

    writing(test)


def test_a_manager_is_deleted_with_its_queues_and_settings() -> None:
    """MQDS-083 to MQDS-085"""

    async def test(writer: DirectoryWriter, tree: MemoryTree) -> None:
        gate = await writer.manager_of("SH-GATE")
        assert len(await settings_of(tree, gate.id)) == 1
        await writer.delete_manager(gate)
        assert await settings_of(tree, gate.id) == []
        assert await outcome(writer.manager_of("SH-GATE")) is DirectoryOutcome.OBJECT_NOT_FOUND
        assert await outcome(writer.delete_manager(gate)) is DirectoryOutcome.OBJECT_NOT_FOUND

    writing(test)


def test_a_write_changes_exactly_what_is_given() -> None:
    """MQDS-086, MQDS-090"""

    async def test(writer: DirectoryWriter, tree: MemoryTree) -> None:
        before = await writer.manager_of("HQ-GATE")
        await writer.write(ManagerObject, before.path, {"quota": 0xFFFFFFFF})
        (row,) = await tree.search(before.path, SearchScope.BASE)
        assert row.values("mSMQQuota") == (b"-1",)
        after = await writer.manager_of("HQ-GATE")
        assert after.quota == 0xFFFFFFFF
        assert (after.journal_quota, after.sites, after.router) == (
            before.journal_quota,
            before.sites,
            before.router,
        )
        nothing = writer.write(ManagerObject, "", {"quota": 1})
        assert await outcome(nothing) is DirectoryOutcome.GENERIC_ERROR

    writing(test)


@pytest.mark.parametrize(
    ("kind", "path"), [(ManagerObject, APP), (QueueObject, f"CN=orders,{APP}")]
)
def test_security_is_a_change_of_its_own(kind: Any, path: str) -> None:
    """MQDS-087, MQDS-113, MQDS-163"""

    async def test(writer: DirectoryWriter, tree: MemoryTree) -> None:
        seen: list[tuple[list[str], int]] = []
        modify = tree.modify

        async def noted(name: str, changes: Sequence[Change], *, flags: int = 0) -> None:
            seen.append(([change.attribute for change in changes], flags))
            await modify(name, changes, flags=flags)

        tree.modify = noted  # type: ignore[method-assign]
        await writer.write(kind, path, {"quota": 5, "security": b"descriptor"})
        assert [flags for _, flags in seen] == [0, 4]
        assert seen[1][0] == ["nTSecurityDescriptor"]
        assert (await writer.by_path(kind, path, security=True)).security == b"descriptor"
        assert (await writer.by_path(kind, path)).security == b""

    writing(test)


def test_a_queue_is_made_below_its_manager() -> None:
    """MQDS-107, MQDS-098, MQDS-045"""

    async def test(writer: DirectoryWriter, tree: MemoryTree) -> None:
        long = LONG_NAME[:-1] + "2"
        for name, values in (("new", {"label": "", "transactional": True}), (long, {})):
            guid = await writer.create_queue(f"hq-app\\{name}", values, b"sd")
            made = await writer.by_id(QueueObject, guid)
            assert (made.name, made.transactional) == (name, name == "new")
            assert made.path.endswith(APP)
        (row,) = await tree.search(f"CN=new,{APP}", SearchScope.BASE)
        assert row.values("mSMQLabelEx") == ()
        cut = "Orders.of.the.northern.region.sorted.by.customer.number-cfe695a9"
        (row,) = await tree.search(f"CN={cut},{APP}", SearchScope.BASE)
        assert row.text("mSMQQueueNameExt") == ".and.date.02"

    writing(test)


def test_queues_that_cannot_be_made() -> None:
    """MQDS-103, MQDS-104, MQDS-105, MQDS-106, MQDS-108, MQDS-109"""

    async def test(writer: DirectoryWriter, tree: MemoryTree) -> None:
        create = writer.create_queue
        assert await outcome(create("orders", {})) is DirectoryOutcome.GENERIC_ERROR
        assert await outcome(create("hq-app\\x", {"scope": 1})) is DirectoryOutcome.GENERIC_ERROR
        assert await outcome(create("hq-app\\orders", {})) is DirectoryOutcome.OBJECT_ALREADY_EXISTS
        assert await outcome(create("none\\orders", {})) is DirectoryOutcome.OBJECT_NOT_FOUND
        asked = tree.operations
        for name, label in (("x" * 125, ""), ("private$\\x", ""), ("x", "l" * 125)):
            with pytest.raises((IllegalQueuePathName, IllegalPropertyValue)):
                await create(f"hq-app\\{name}", {"label": label})
        assert tree.operations == asked

    writing(test)


def test_a_queue_is_changed_but_not_its_nature() -> None:
    """MQDS-110, MQDS-111"""

    async def test(writer: DirectoryWriter, tree: MemoryTree) -> None:
        queue = await writer.queue_by_path("hq-app\\orders")
        for path in (queue.path, f"<GUID={queue.id}>"):
            await writer.write(QueueObject, path, {"label": "l", "journal": False})
        changed = await writer.by_id(QueueObject, queue.id)
        assert (changed.label, changed.journal, changed.transactional) == ("l", False, True)
        for field in ("transactional", "id", "common_name", "created"):
            wrong = writer.write(QueueObject, queue.path, {field: False})
            assert await outcome(wrong) is DirectoryOutcome.GENERIC_ERROR
        await writer.write(QueueObject, queue.path, {"label": ""})
        assert (await writer.by_id(QueueObject, queue.id)).label == ""
        with pytest.raises(IllegalPropertyValue):
            await writer.write(QueueObject, queue.path, {"label": "x" * 125})

    writing(test)


def test_a_queue_is_deleted_by_name_or_identifier() -> None:
    """MQDS-112"""

    async def test(writer: DirectoryWriter, tree: MemoryTree) -> None:
        report = await writer.queue_by_path("sh-gate\\report")
        await writer.delete_queue(guid=report.id, path_name="hq-app\\orders")
        assert (await writer.queue_by_path("hq-app\\orders")).name == "orders"
        assert (
            await outcome(writer.queue_by_path("sh-gate\\report"))
            is DirectoryOutcome.OBJECT_NOT_FOUND
        )
        await writer.delete_queue(path_name="hq-app\\orders")
        gone = writer.delete_queue(path_name="hq-app\\orders")
        assert await outcome(gone) is DirectoryOutcome.OBJECT_NOT_FOUND
        assert await outcome(writer.delete_queue()) is DirectoryOutcome.GENERIC_ERROR

    writing(test)


def test_links_are_named_by_their_sites() -> None:
    """MQDS-134 to MQDS-137, DMPR-101"""

    async def test(writer: DirectoryWriter, tree: MemoryTree) -> None:
        sites = {site.name: site.id for site in await writer.find(SiteObject)}
        gate = await writer.manager_of("SH-GATE")
        ends = sites["HQ"], sites["Shop"]
        guid = await writer.create_link(*ends, 7, [gate.id, UUID(int=1)], "short")
        link = await writer.by_id(LinkObject, guid)
        assert link.path.startswith(f"CN={ends[0].hex}{ends[1].hex},CN=MsmqServices,")
        assert (link.cost, link.gates, link.description) == (7, (gate.id,), "short")
        unknown = writer.create_link(ends[0], UUID(int=1), 7)
        assert await outcome(unknown) is DirectoryOutcome.GENERIC_ERROR
        asked = tree.operations
        for cost in (0, 1_000_000, -1):
            with pytest.raises(IllegalPropertyValue, match="999999"):
                await writer.create_link(*ends, cost)
            with pytest.raises(IllegalPropertyValue):
                await writer.write(LinkObject, link.path, {"cost": cost})
        assert tree.operations == asked
        await writer.write(LinkObject, link.path, {"cost": 999_999})
        await writer.delete_object(guid)
        assert len(await writer.find(LinkObject)) == 3

    writing(test)


def test_a_foreign_site_is_made_among_the_sites() -> None:
    """MQDS-053"""

    async def test(writer: DirectoryWriter, tree: MemoryTree) -> None:
        guid = await writer.create_foreign_site("Abroad")
        made = await writer.by_id(SiteObject, guid)
        assert made.path == f"CN=Abroad,CN=Sites,{CONFIGURATION}"
        assert made.foreign
        assert await outcome(writer.create_foreign_site("")) is DirectoryOutcome.GENERIC_ERROR

    writing(test)


def test_the_settings_of_the_enterprise() -> None:
    """MQDS-126, MQDS-054"""

    async def test(writer: DirectoryWriter, tree: MemoryTree) -> None:
        await writer.write_enterprise(
            weakened_security=True, notification="Y", time_to_live=60, directory_version=3
        )
        (made,) = await writer.find(EnterpriseObject)
        assert made.weakened_security
        assert made.notifies_old_managers
        assert (made.time_to_live, made.old_directory) == (60, True)
        assert made.path == f"CN=MsmqServices,CN=Services,{CONFIGURATION}"

    writing(test)


def test_a_certificate_is_registered_with_its_digest() -> None:
    """MQDS-170 to MQDS-172, MQDS-174"""

    async def test(writer: DirectoryWriter, tree: MemoryTree) -> None:
        (ann,) = await writer.find(UserObject)
        await writer.register_certificate(ann.path, b"another", UUID(int=4))
        changed = await writer.user(sid=ann.sid)
        found = UserCertificates.decode(changed.certificates).certificates
        assert [one.certificate for one in found] == [CERTIFICATE, b"another"]
        assert set(changed.digests) == {DIGEST, found[1].digest}
        await writer.register_certificate(ann.path, b"another", UUID(int=4))
        assert (await writer.user(guid=ann.id)).certificates == changed.certificates
        for wrong in ({"guid": UUID(int=1)}, {"sid": Sid(5, (1,))}, {}):
            assert await outcome(writer.user(**wrong)) is DirectoryOutcome.GENERIC_ERROR

    writing(test)


def test_a_concurrent_change_of_certificates_is_not_lost() -> None:
    """MQDS-173"""

    async def test(writer: DirectoryWriter, tree: MemoryTree) -> None:
        (ann,) = await writer.find(UserObject)
        modify, times = tree.modify, []

        async def raced(name: str, changes: Sequence[Change], *, flags: int = 0) -> None:
            times.append(name)
            if len(times) == 1:
                tree.modify = modify  # type: ignore[method-assign]
                await writer.register_certificate(ann.path, b"theirs", UUID(int=5))
                tree.modify = raced  # type: ignore[method-assign]
            await modify(name, changes, flags=flags)

        tree.modify = raced  # type: ignore[method-assign]
        await writer.register_certificate(ann.path, b"ours", UUID(int=4))
        found = UserCertificates.decode((await writer.user(guid=ann.id)).certificates)
        kept = [one.certificate for one in found.certificates]
        assert kept == [CERTIFICATE, b"theirs", b"ours"]

    writing(test)
