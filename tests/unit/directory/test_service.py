from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from functools import partial
from typing import Any
from uuid import UUID

import pytest
from tests.directories import BASE, TYPE, guid_of
from tests.unit.directory.office import PATH, Office, in_office, until

from openmsmq.clock import SystemClock
from openmsmq.directory import service as service_module
from openmsmq.directory.ldap import controllers
from openmsmq.directory.ldap.tree import Change, ConnectionFailed
from openmsmq.directory.objects import LinkObject, QueueObject
from openmsmq.directory.rights import published_permissions
from openmsmq.engine.arrivals.incoming import head_of
from openmsmq.engine.arrivals.limits import SENDER_AGE_MAX
from openmsmq.engine.commit.future import Future
from openmsmq.engine.manager import QueueManager
from openmsmq.errors import (
    AccessDenied,
    IllegalPropertyValue,
    InsufficientResources,
    NoDs,
    QueueExists,
    QueueNotFound,
    UnsupportedFormatNameOperation,
)
from openmsmq.names.format import parse_format_name
from openmsmq.packet.view import PacketView
from openmsmq.runtime.drivers import LoopDriver
from openmsmq.security.descriptor import Control, SecurityDescriptor
from openmsmq.security.sddl import parse_sddl
from openmsmq.security.sid import ANONYMOUS, EVERYONE
from openmsmq.service.service import RETRY_AFTER
from openmsmq.store.memory import MemoryStore
from openmsmq.types.access import Access, Mode
from openmsmq.types.caller import INTERNAL, Caller, Grant
from openmsmq.types.message import Message

SEND = Mode(Access.SEND)
ORDERS = f"CN=orders,CN=msmq,CN=HQ-APP,OU=Servers,{BASE}"
UNKNOWN = f"PUBLIC={UUID(int=5)}"


async def answer(office: Office, make: Any) -> Any:
    """The answer of something that takes its time."""
    pending: Future[Any] = office.driver.call(make)
    await until(lambda: pending.done)
    return pending.result()


def test_a_manager_that_the_directory_knows_is_online() -> None:
    """MQDS-181, MQDS-182, MQDS-200: found by its name, and with its own identity."""

    async def test(office: Office) -> None:
        assert office.service.is_offline
        await office.service.refresh()
        assert not office.service.is_offline
        assert office.service.own is not None
        assert office.service.own.path == PATH
        topology = office.local.routes.topology
        assert {item.name for item in topology.managers.values()} >= {"HQ-GATE", "NEW"}
        assert office.local.routes.manager is not None

    in_office(test)


def test_another_identity_is_offline() -> None:
    """MQDS-183, SYS-098"""

    async def test(office: Office) -> None:
        await office.service.refresh()
        assert office.service.is_offline
        assert "openmsmq directory join" in office.service.last_error

    in_office(test, UUID(int=99))


def test_a_controller_that_is_down_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """MQDS-199, MQDS-200, MQDS-202, SYS-094: it starts, and finds it later."""
    monkeypatch.setattr(service_module, "ONLINE_TRY", 0.01)

    async def test(office: Office) -> None:
        office.tree.is_down = True
        await office.service.start()
        await until(lambda: office.tree.operations >= 3)
        assert office.service.is_offline
        office.tree.is_down = False
        await until(lambda: not office.service.is_offline)

    in_office(test)
    assert service_module.ONLINE_TRY == 0.01


def test_everything_is_read_again_every_hour(monkeypatch: pytest.MonkeyPatch) -> None:
    """MQBR-031, MQBR-152, SYS-148, SYS-169, DMPR-342, DMPR-343, DMPR-382: a cost that was changed
    changes the routes, and a site that was made is known.
    """
    assert service_module.REFRESH == 3600
    monkeypatch.setattr(service_module, "REFRESH", 0.01)

    async def test(office: Office) -> None:
        await office.service.start()
        await until(lambda: bool(office.local.routes.topology.links))
        (link, *_) = await office.writer.find(LinkObject)
        await office.tree.modify(link.path, [Change("mSMQCost", (b"4711",))])
        local = office.local
        await until(lambda: 4711 in {item.cost for item in local.routes.topology.links})
        sites = f"CN=Sites,CN=Configuration,{BASE}"
        await office.tree.add(f"CN=Depot,{sites}", {"objectClass": [b"site"]})
        await until(lambda: "Depot" in {item.name for item in local.routes.topology.sites.values()})

    in_office(test)


def _break_off(left: Iterator[int]) -> None:
    """A controller that goes away after some operations."""
    if next(left, None) is None:
        raise ConnectionFailed("it is gone")


def test_a_reading_that_breaks_off_leaves_the_routes_as_they_were(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """MQBR-034, MQBR-035, MQBR-078, SYS-168, DMPR-344, DMPR-345, whichever search it is."""

    async def test(office: Office) -> None:
        await office.service.refresh()
        before, routes = office.tree.operations, office.local.routes
        await office.service.refresh()
        searches = office.tree.operations - before
        (link, *_) = await office.writer.find(LinkObject)
        await office.tree.modify(link.path, [Change("mSMQCost", (b"4711",))])
        assert office.local.routes is routes  # what has not changed is not made again
        for left in range(searches):
            with monkeypatch.context() as patch:
                patch.setattr(office.tree, "_ask", partial(_break_off, iter(range(left))))
                await office.service.refresh()
            assert office.service.is_offline
            assert office.local.routes is routes
        await office.service.refresh()
        asked, changed = office.tree.operations, office.local.routes
        assert changed is not routes
        for manager in changed.topology.managers:
            changed.decide(manager)
        assert office.tree.operations == asked  # decisions ask no one

    in_office(test)


def test_own_public_queues_are_found_here_while_the_directory_is_away() -> None:
    """MQDS-196, DMPR-330, DMPR-331: by identifier and by path."""

    async def test(office: Office) -> None:
        await office.service.refresh()
        await answer(office, lambda: office.service.create_queue(r".\orders", INTERNAL, {}))
        guid = office.local.find_queue(r".\orders").properties.id
        office.tree.is_down = True
        await office.service.refresh()
        assert office.service.is_offline
        for name in (f"PUBLIC={guid}", r".\orders", r"NEW\orders"):
            assert not office.service.needs_lookup(name)
            handle = office.driver.call(lambda name=name: office.local.open_queue(name, Mode()))  # type: ignore[misc]
            assert handle.queue.properties.id == guid
        assert office.service.own is not None
        assert office.service.own.id == office.local.identity

    in_office(test)


def test_a_public_queue_of_this_manager_that_is_not_here_is_not_sent_to() -> None:
    """DMPR-160: its object is in the directory, and was not read yet."""

    async def test(office: Office) -> None:
        await office.service.refresh()
        guid = await office.writer.create_queue(r"NEW\invoices", {})
        name = f"PUBLIC={guid}"
        await answer(office, lambda: office.service.look_up(name))
        with pytest.raises(QueueNotFound, match="this manager"):
            office.driver.call(lambda: office.local.open_queue(name, SEND))
        await office.service.refresh()
        handle = office.driver.call(lambda: office.local.open_queue(name, SEND))
        assert handle.queue.name == "invoices"

    in_office(test)


def test_messages_for_a_public_queue_wait_while_the_directory_is_away() -> None:
    """MQBR-041, MQBR-149, MQBR-150, SYS-044, SYS-045, DMPR-397: what is known goes on."""

    async def test(office: Office) -> None:
        await office.service.refresh()
        orders = await guid_of(office.tree, ORDERS)
        owner = await guid_of(office.tree, f"CN=msmq,CN=HQ-APP,OU=Servers,{BASE}")
        name = f"PUBLIC={orders}"
        await answer(office, lambda: office.service.look_up(name))
        handle = office.driver.call(lambda: office.local.open_queue(name, SEND))
        office.tree.is_down = True
        await office.service.refresh()
        assert office.service.is_offline
        await office.driver.wait(lambda: handle.send([Message(b"known")]))
        (entry,) = office.driver.call(
            lambda: office.local.receiver.peek(handle.queue, 1, handle, wait=False)
        ).result()
        assert head_of(entry.packet).addressee == owner.bytes_le
        office.service.names.forget(parse_format_name(name))  # as after a start
        with pytest.raises(NoDs):
            office.driver.call(lambda: office.local.open_queue(name, SEND))
        assert handle.queue.messages == 1
        office.tree.is_down = False
        await office.service.refresh()
        assert office.local.directory.owners[orders] == owner

    in_office(test)


def test_it_is_tried_every_minute() -> None:
    """MQDS-199, DMPR-341"""
    assert service_module.ONLINE_TRY == 60


def test_own_objects_have_queues() -> None:
    """MQDS-116, MQDS-118, MQDS-222, MQDS-223, MQDS-241: made and changed as the directory says.

    No notification came.
    """

    async def test(office: Office) -> None:
        values = {"label": "new", "transactional": True, "quota": 100, "type": TYPE}
        guid = await office.writer.create_queue("NEW\\invoices", values)
        await office.service.refresh()
        (queue,) = [queue for queue in office.local.queues if queue.name == "invoices"]
        found = queue.properties
        assert (found.id, found.label, found.transactional) == (guid, "new", True)
        assert (found.quota, found.type) == (100, TYPE)
        asked = office.tree.operations
        await office.writer.write(QueueObject, f"CN=invoices,{PATH}", {"label": "old"})
        await office.service.refresh()
        assert queue.properties.label == "old"
        assert office.tree.operations > asked

    in_office(test)


def test_a_queue_without_an_object_is_kept_and_reported() -> None:
    """MQDS-118, MQDS-201: its messages stay."""

    async def test(office: Office) -> None:
        await office.writer.create_queue("NEW\\invoices", {})
        await office.service.refresh()
        handle = office.driver.call(lambda: office.local.open_queue(".\\invoices", SEND))
        await office.driver.wait(lambda: handle.send([Message(b"x")]))
        await office.tree.delete(f"CN=invoices,{PATH}")
        await office.service.refresh()
        assert not office.service.is_offline
        assert office.service.unpublished == ["invoices"]
        assert office.local.find_queue(".\\invoices").messages == 1

    in_office(test)


def test_a_manager_that_left_keeps_its_public_queues() -> None:
    """MQDS-189, MQDS-190, SYS-125: without a directory it is one of a workgroup."""

    async def test(office: Office) -> None:
        guid = await office.writer.create_queue("NEW\\invoices", {"label": "of the domain"})
        await office.service.refresh()
        handle = office.driver.call(lambda: office.local.open_queue(".\\invoices", SEND))
        await office.driver.wait(lambda: handle.send([Message(b"x", recoverable=True)]))
        left = MemoryStore(office.store.committed)
        asked = office.tree.operations
        local = QueueManager(left, SystemClock(), name="NEW")
        driver = LoopDriver(local, local.clock)
        assert not local.directory.is_used
        assert local.identity == office.local.identity
        queue = driver.call(lambda: local.open_queue(".\\invoices", Mode(Access.RECEIVE)))
        (entry,) = await driver.wait(lambda: queue.receive(1, wait=False))
        assert PacketView(entry.packet).body == b"x"
        assert queue.queue.properties.label == "of the domain"
        await driver.close()
        assert office.tree.operations == asked
        assert (await office.writer.by_id(QueueObject, guid)).label == "of the domain"

    in_office(test)


def test_lists_are_sent_to() -> None:
    """MQDS-148, DMPR-178, DMPR-179: members that are lists give way to their own members."""

    async def test(office: Office) -> None:
        await office.service.refresh()
        everything = await guid_of(office.tree, f"CN=mq-all,OU=MQ,{BASE}")
        name = f"DL={everything}"
        await answer(office, lambda: office.service.look_up(name))
        handle = office.driver.call(lambda: office.local.open_queue(name, SEND))
        assert len(handle.queue.members) == 3
        missing = f"DL={UUID(int=6)}"
        with pytest.raises(QueueNotFound):
            await answer(office, lambda: office.service.look_up(missing))
        with pytest.raises(QueueNotFound):
            office.driver.call(lambda: office.local.open_queue(missing, SEND))

    in_office(test)


def test_a_public_queue_is_made_in_the_directory_first() -> None:
    """MQDS-114, MQDS-115, MQDS-195, DMPR-124, DMPR-126"""

    async def test(office: Office) -> None:
        with pytest.raises(NoDs):
            await answer(office, lambda: office.service.create_queue(".\\orders", INTERNAL, {}))
        await office.service.refresh()
        properties = {"label": "mine", "journal": True, "quota": 50}
        create = office.service.create_queue
        await answer(office, lambda: create(".\\orders", INTERNAL, properties))
        found = await office.writer.queue_by_path("NEW\\orders")
        assert office.local.find_queue(".\\orders").properties.id == found.id
        assert (found.label, found.journal, found.quota) == ("mine", True, 50)
        with pytest.raises(QueueExists):
            await answer(office, lambda: create(".\\orders", INTERNAL, {}))
        office.tree.is_down = True
        with pytest.raises(NoDs):
            await answer(office, lambda: create(".\\more", INTERNAL, {}))
        assert office.names() == ["orders"]
        assert office.service.is_offline

    in_office(test)


def test_a_public_queue_is_changed_in_the_directory_first() -> None:
    """It keeps what was changed when the directory is read again."""

    async def test(office: Office) -> None:
        await office.service.refresh()
        change = office.service.change_queue
        await answer(office, lambda: office.service.create_queue(".\\orders", INTERNAL, {}))
        queue = office.local.find_queue(".\\orders")
        await answer(office, lambda: change(queue, INTERNAL, {"label": "new", "quota": 7}))
        assert (queue.properties.label, queue.properties.quota) == ("new", 7)
        await office.service.refresh()
        assert (queue.properties.label, queue.properties.quota) == ("new", 7)
        with pytest.raises(IllegalPropertyValue):
            await answer(office, lambda: change(queue, INTERNAL, {"quota": -1}))
        stranger = Caller("stranger", Grant("read", user="stranger"))
        await office.driver.wait(
            lambda: office.local.set_permissions(queue, "O:BAG:BAD:(A;;0x4;;;WD)")
        )
        with pytest.raises(AccessDenied):
            await answer(office, lambda: change(queue, stranger, {"label": "mine"}))
        office.tree.is_down = True
        with pytest.raises(NoDs):
            await answer(office, lambda: change(queue, INTERNAL, {"label": "newer"}))
        assert queue.properties.label == "new"
        office.tree.is_down = False
        await office.service.refresh()
        assert queue.properties.label == "new"

    in_office(test)


def test_a_public_queue_is_made_and_deleted_with_one_audit_entry_each() -> None:
    async def test(office: Office) -> None:
        await office.service.refresh()
        anna = Caller("anna", Grant("admin", user="anna"))
        await answer(office, lambda: office.service.create_queue(".\\orders", anna, {}))
        await answer(office, lambda: office.service.delete_queue(".\\orders", anna))
        entries = office.driver.call(lambda: office.local.audit_entries(0, 100))
        acts = [entry.act for entry in entries if entry.by == "anna"]
        assert acts == ["create queue", "delete queue"]

    in_office(test)


def test_a_public_queue_is_deleted_in_the_directory_first() -> None:
    """MQDS-117, DMPR-133, DMPR-134"""

    async def test(office: Office) -> None:
        await office.service.refresh()
        create, delete = office.service.create_queue, office.service.delete_queue
        await answer(office, lambda: create(".\\orders", INTERNAL, {}))
        await answer(office, lambda: create(".\\gone", INTERNAL, {}))
        await office.tree.delete(f"CN=gone,{PATH}")
        await answer(office, lambda: delete(".\\gone", INTERNAL))  # no failure
        office.tree.is_down = True
        with pytest.raises(NoDs):
            await answer(office, lambda: delete(".\\orders", INTERNAL))
        assert office.names() == ["orders"]
        office.tree.is_down = False
        await office.service.refresh()
        await answer(office, lambda: delete(".\\orders", INTERNAL))
        assert office.names() == []
        assert office.service.own is not None
        assert await office.writer.queues_of(office.service.own.path) == []
        with pytest.raises(QueueNotFound):
            await answer(office, lambda: delete(".\\orders", INTERNAL))

    in_office(test)


def test_a_queue_that_is_half_written_leaves_the_others() -> None:
    """The manager stays online, and its queue as it was."""

    async def test(office: Office) -> None:
        for name in ("invoices", "orders"):
            await office.writer.create_queue(f"NEW\\{name}", {"label": "old"})
        await office.service.refresh()
        office.tree.find(f"CN=invoices,{PATH}").attributes["msmqqueuequota"] = (b"many",)
        await office.writer.write(QueueObject, f"CN=orders,{PATH}", {"label": "new"})
        await office.service.refresh()
        assert not office.service.is_offline
        assert ["mSMQQueueQuota" in reason for reason in office.service.broken] == [True]
        labels = {
            name: office.local.find_queue(f".\\{name}").properties.label for name in office.names()
        }
        assert labels == {"invoices": "old", "orders": "new"}

    in_office(test)


def test_broken_objects_of_the_topology_are_reported() -> None:
    async def test(office: Office) -> None:
        broken = f"CN=msmq,CN=PL-GATE,CN=Computers,{BASE}"
        office.tree.find(broken).attributes["msmqquota"] = (b"many",)
        await office.service.refresh()
        assert ["mSMQQuota" in reason for reason in office.service.broken] == [True]
        assert not office.service.is_offline
        await office.tree.modify(broken, [Change("mSMQQuota")])
        await office.service.refresh()
        assert office.service.broken == []

    in_office(test)


def test_a_workgroup_has_no_directory() -> None:
    """DMPR-159: the rules refuse what only a directory knows."""

    async def test(office: Office) -> None:
        office.local.directory.is_used = False
        with pytest.raises(UnsupportedFormatNameOperation):
            office.driver.call(lambda: office.local.open_queue(UNKNOWN, SEND))

    in_office(test)


def test_permissions_are_those_of_the_directory() -> None:
    """MQDS-164, MQDS-165, MQQB-323, MSEC-146: read with the queue, and written first there.

    MSEC-147: while no controller answers, those that were read last count.
    """

    async def test(office: Office) -> None:
        await office.service.refresh()
        await answer(office, lambda: office.service.create_queue(".\\orders", INTERNAL, {}))
        queue = office.local.find_queue(".\\orders")
        path = f"CN=orders,{PATH}"
        await office.service.refresh()
        assert queue.properties.permissions == "", "it is open, there and here"
        given = "D:(A;;0x4;;;WD)"
        await answer(office, lambda: office.service.set_permissions(queue, given, INTERNAL))
        assert queue.properties.permissions == "O:BAD:(A;;LC;;;WD)"
        await office.service.refresh()
        assert queue.properties.permissions == "O:BAD:(A;;LC;;;WD)"

        own = office.service.own
        assert own is not None
        assert own.sid is not None
        changed = published_permissions(own.sid, "D:(A;;0x6;;;S-1-5-21-1-2-3-1000)")
        await office.writer.write_security(path, changed.encode())
        await office.service.refresh()
        assert queue.properties.permissions == "O:BAD:(A;;DCLC;;;S-1-5-21-1-2-3-1000)"
        await office.writer.write_security(path, b"garbage")
        await office.service.refresh()
        assert not office.service.is_offline
        assert queue.properties.permissions == "O:BAD:(A;;DCLC;;;S-1-5-21-1-2-3-1000)"

        anna = Caller(grant=Grant("read", user="anna"))
        with pytest.raises(AccessDenied):
            await answer(office, lambda: office.service.set_permissions(queue, given, anna))
        office.tree.is_down = True
        with pytest.raises(NoDs):
            await answer(office, lambda: office.service.set_permissions(queue, given, INTERNAL))
        await office.service.refresh()
        assert office.service.is_offline
        assert queue.properties.permissions == "O:BAD:(A;;DCLC;;;S-1-5-21-1-2-3-1000)"

    in_office(test)


@pytest.mark.parametrize("is_throttled", [False, True])
@pytest.mark.parametrize("is_connected", [False, True])
@pytest.mark.parametrize("is_offline", [False, True])
def test_flow_control_connection_and_directory_do_not_depend_on_each_other(
    is_throttled: bool, is_connected: bool, is_offline: bool
) -> None:
    """SYS-047: each has its own effect, whatever the others are."""

    async def test(office: Office) -> None:
        local = office.local
        await office.service.refresh()
        name = f"PUBLIC={await guid_of(office.tree, ORDERS)}"
        await answer(office, lambda: office.service.look_up(name))
        handle = office.driver.call(lambda: local.open_queue(name, SEND))
        await office.driver.wait(lambda: handle.send([Message(b"before")]))
        office.tree.is_down = is_offline
        await office.service.refresh()
        if is_throttled:
            local.begin_flow_control()
        if not is_connected:
            office.driver.call(local.dispatcher.take_offline)
        assert local.is_throttled == is_throttled
        with pytest.raises(InsufficientResources) if is_throttled else nullcontext():
            await office.driver.wait(lambda: handle.send([Message(b"x")]))
        first = office.driver.call(lambda: local.dispatcher.first(handle.queue))
        assert (first is not None) == is_connected
        with pytest.raises(NoDs if is_offline else QueueNotFound):
            await answer(office, lambda: office.service.look_up(UNKNOWN))

    in_office(test)


def test_the_default_permissions_are_those_of_a_domain() -> None:
    """DMPR-140, DMPR-143, DMPR-144, DMPR-148: all may look and send, the creator do everything.

    The descriptor of the object is self-relative.
    """

    async def test(office: Office) -> None:
        await office.driver.wait(lambda: office.local.configure(new_queues="spec"))
        await office.service.refresh()
        anna = Caller("anna", Grant("admin", user="anna"))
        await answer(office, lambda: office.service.create_queue(".\\orders", anna, {}))
        permissions = office.local.find_queue(".\\orders").properties.permissions
        descriptor = parse_sddl(permissions)
        assert descriptor.owner == anna.grant.sid
        assert descriptor.dacl is not None
        assert office.service.own is not None
        machine = office.service.own.sid
        assert [(ace.sid, ace.mask) for ace in descriptor.dacl.aces] == [
            (EVERYONE, 0x20024),
            (ANONYMOUS, 0x4),
            (machine, 0x20020),
            (anna.grant.sid, 0xF003F),
        ]
        found = await office.writer.by_path(QueueObject, f"CN=orders,{PATH}", security=True)
        assert int.from_bytes(found.security[2:4], "little") & Control.SELF_RELATIVE
        assert SecurityDescriptor.decode(found.security).dacl is not None

    in_office(test)


def test_what_an_administrator_should_know_is_shown() -> None:
    """Objects that cannot be used, queues without one, and a directory that does not answer."""

    async def test(office: Office) -> None:
        view = office.local.directory
        await office.service.refresh()
        assert view.problems == ()
        await office.writer.create_queue("NEW\\invoices", {})
        await office.service.refresh()
        await office.tree.delete(f"CN=invoices,{PATH}")
        broken = f"CN=msmq,CN=PL-GATE,CN=Computers,{BASE}"
        office.tree.find(broken).attributes["msmqquota"] = (b"many",)
        await office.service.refresh()
        assert len(view.problems) == 2
        assert "mSMQQuota" in view.problems[0]
        assert view.problems[1] == "the public queue invoices is not in the directory"
        office.tree.is_down = True
        await office.service.refresh()
        (problem,) = view.problems
        assert problem.startswith("no domain controller answers")

    in_office(test)


def test_timers() -> None:
    """SYS-105: those of the directory and of the start; certificates are remembered without one."""
    assert (service_module.ONLINE_TRY, service_module.REFRESH) == (60, 3600)
    assert (controllers.KNOWN_FOR, RETRY_AFTER) == (86_400, (120, 900))
    assert SENDER_AGE_MAX == 1200
