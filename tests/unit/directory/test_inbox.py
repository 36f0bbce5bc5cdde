from __future__ import annotations

from uuid import UUID

from tests.directories import BASE, guid_of
from tests.unit.directory.office import PATH, Office, in_office

from openmsmq.directory import inbox
from openmsmq.directory.notification import ChangeEvent, Notification
from openmsmq.directory.objects import QueueObject
from openmsmq.engine.handle import QueueHandle
from openmsmq.types.access import Access, Mode
from openmsmq.types.caller import INTERNAL
from openmsmq.types.message import Message


async def notify(office: Office, *bodies: bytes) -> None:
    """Messages lie in the queue of notifications, and a batch is due."""
    local, queue = office.local, office.local.queues.get(3)
    assert queue is not None
    mode = Mode(Access.SEND)
    handle = office.driver.call(lambda: QueueHandle(local.parts, queue, mode, INTERNAL))
    await office.driver.wait(lambda: handle.send([Message(body) for body in bodies]))
    office.now += inbox.BATCH_EVERY
    await office.service.inbox.look()


def said(event: ChangeEvent, guid: UUID) -> bytes:
    return Notification(event, guid, "evil.example.com").encode()


def test_a_queue_that_was_made_elsewhere_is_made_here() -> None:
    """MQDS-222, MQDS-223, MQDS-228, MQDS-232, MQDS-240, SYS-197: as the directory says."""

    async def test(office: Office) -> None:
        await office.service.refresh()
        guid = await office.writer.create_queue("NEW\\invoices", {"label": "a"})
        await notify(office, said(ChangeEvent.QUEUE_CREATED, guid))
        assert office.names() == ["invoices"]
        await office.writer.write(QueueObject, f"CN=invoices,{PATH}", {"label": "b"})
        await notify(office, said(ChangeEvent.QUEUE_CHANGED, guid))
        assert office.local.find_queue(".\\invoices").properties.label == "b"
        other = await guid_of(office.tree, f"CN=orders,CN=msmq,CN=HQ-APP,OU=Servers,{BASE}")
        await notify(office, said(ChangeEvent.QUEUE_CREATED, other))
        assert office.names() == ["invoices"]
        assert office.service.inbox.ignored == 1

    in_office(test)


def test_a_queue_is_deleted_only_if_the_directory_says_so_twice() -> None:
    """MQDS-224, MQDS-229, MQDS-230"""

    async def test(office: Office) -> None:
        await office.service.refresh()
        guid = await office.writer.create_queue("NEW\\invoices", {})
        await office.service.refresh()
        await notify(office, said(ChangeEvent.QUEUE_DELETED, guid))  # forged
        office.now += 600
        await office.service.inbox.look()
        assert office.names() == ["invoices"]
        await office.tree.delete(f"CN=invoices,{PATH}")
        await notify(office, said(ChangeEvent.QUEUE_DELETED, guid))
        assert office.names() == ["invoices"]
        office.now += inbox.ASK_AGAIN[0]
        await office.service.inbox.look()
        assert office.names() == []

    in_office(test)


def test_an_object_that_is_not_there_yet_is_asked_for_again() -> None:
    """MQDS-233: after a minute, and after five."""

    async def test(office: Office) -> None:
        await office.service.refresh()
        guid = await office.writer.create_queue("NEW\\late", {})
        find, asked = office.service.directory.by_id, []

        async def late(*given: object, **named: object) -> object:
            asked.append(given)
            if len(asked) < 3:
                return await find(QueueObject, UUID(int=4))
            return await find(*given, **named)  # type: ignore[arg-type]

        office.service.directory.by_id = late  # type: ignore[assignment, method-assign]
        await notify(office, said(ChangeEvent.QUEUE_CREATED, guid))
        for wait in (60.0, 300.0):
            assert office.names() == []
            office.now += wait
            await office.service.inbox.look()
        assert office.names() == ["late"]

    in_office(test)


def test_what_is_ignored() -> None:
    """MQDS-226, MQDS-227, MQDS-231, MQDS-234, MQDS-235"""

    async def test(office: Office) -> None:
        await office.service.refresh()
        asked = office.tree.operations
        other = said(ChangeEvent.MACHINE_CHANGED, UUID(int=9))
        await notify(office, b"\x01\x01old", b"\x03\x01", b"", b"\x02\x01<!DOCTYPE", other)
        assert office.service.inbox.ignored == 5
        assert office.tree.operations == asked
        await notify(office, said(ChangeEvent.MACHINE_CHANGED, office.local.identity))
        assert office.tree.operations > asked

    in_office(test)


def test_batches_are_a_quarter_of_an_hour_apart() -> None:
    """MQDS-236, MQDS-237"""

    async def test(office: Office) -> None:
        await office.service.refresh()
        await notify(office, b"x")
        assert office.service.inbox.ignored == 1
        local, queue = office.local, office.local.queues.get(3)
        assert queue is not None
        send = Mode(Access.SEND)
        handle = office.driver.call(lambda: QueueHandle(local.parts, queue, send, INTERNAL))
        await office.driver.wait(lambda: handle.send([Message(b"y")]))
        office.now += 600
        await office.service.inbox.look()
        assert office.service.inbox.ignored == 1
        office.now += 300
        await office.service.inbox.look()
        assert office.service.inbox.ignored == 2

    in_office(test)


def test_a_flood_is_dropped_and_all_is_read_again() -> None:
    """MQDS-238, SYS-218"""

    async def test(office: Office) -> None:
        await office.service.refresh()
        await office.writer.create_queue("NEW\\invoices", {})
        await notify(office, *([b"x"] * 100))
        queue = office.local.queues.get(3)
        assert queue is not None
        assert queue.messages == 0
        assert office.service.inbox.ignored == 0
        assert office.names() == ["invoices"]

    in_office(test)
