from __future__ import annotations

from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest
from tests.directories import BASE, guid_of
from tests.unit.directory.office import Office, in_office, until

from openmsmq.access.senders import make_certificate
from openmsmq.directory import inbox
from openmsmq.directory.ldap.tree import LdapError, ResultCode
from openmsmq.directory.notification import Notification, read_notification
from openmsmq.directory.objects import QueueObject
from openmsmq.engine.commit.future import Future
from openmsmq.errors import (
    AccessDenied,
    IllegalPropertyValue,
    IllegalQueuePathName,
    QueueNotFound,
)
from openmsmq.packet.signer import MessageSigner
from openmsmq.packet.view import PacketView
from openmsmq.properties.message import MessageClass
from openmsmq.types.access import Access, Mode
from openmsmq.types.caller import INTERNAL, Caller, Grant

SEND = Mode(Access.SEND)


async def answer(office: Office, make: Any) -> Any:
    """The answer of something that takes its time."""
    pending: Future[Any] = office.driver.call(make)
    await until(lambda: pending.done)
    return pending.result()


async def create(office: Office, name: str, **properties: Any) -> None:
    await answer(office, lambda: office.service.create_queue(name, INTERNAL, properties))


def sent_by(office: Office) -> list[Notification | None]:
    """What was sent, and has not arrived."""
    packets = [packet for queue in office.packets().values() for packet in queue]
    return [read_notification(PacketView(packet).body) for packet in packets]


async def arrive(source: Office, target: Office) -> None:
    """All that waits for another manager comes there, and a batch is due."""
    name = f"PRIVATE={target.local.identity}\\00000003"
    await target.take(source.packets()[name], source.local.identity)
    target.now += inbox.BATCH_EVERY
    await target.service.inbox.look()


def test_directory_and_owner_agree_after_changes_by_a_third_manager() -> None:
    """MQDS-205, MQDS-206, MQDS-208, MQDS-240, SYS-030, SYS-070, SYS-211, SYS-212, DMPR-324,
    DMPR-327, DMPR-337
    """

    async def test(office: Office) -> None:
        owner = await office.another("HQ-APP")
        try:
            await office.service.refresh()
            await owner.service.refresh()
            await create(office, "hq-app\\invoices", label="of NEW", transactional=True)
            found = await office.writer.queue_by_path("hq-app\\invoices")
            assert (found.label, found.manager) == ("of NEW", owner.local.identity)
            (first,) = sent_by(office)
            assert first is not None
            assert (first.event, first.object) == (1, found.id)
            assert first.controller == office.tree.server
            await arrive(office, owner)
            queue = owner.local.find_queue(".\\invoices")
            assert (queue.properties.id, queue.properties.label) == (found.id, "of NEW")
            assert queue.properties.permissions == "", "it is as open as one that was made here"

            name = f"PUBLIC={found.id}"
            handle = office.driver.call(lambda: office.local.open_queue(name, SEND))
            changes = {"label": "changed", "quota": 7}
            await answer(
                office, lambda: office.service.change_queue(handle.queue, INTERNAL, changes)
            )
            assert (await office.writer.by_id(QueueObject, found.id)).label == "changed"
            await arrive(office, owner)
            assert (queue.properties.label, queue.properties.quota) == ("changed", 7)

            await answer(office, lambda: office.service.delete_queue("hq-app\\invoices", INTERNAL))
            await arrive(office, owner)
            owner.now += inbox.ASK_AGAIN[0]
            await owner.service.inbox.look()
            with pytest.raises(QueueNotFound):
                owner.local.find_queue(".\\invoices")
            assert office.service.elsewhere.sent == 3
        finally:
            await owner.close()

    in_office(test)


def test_how_a_notification_is_sent() -> None:
    """MQDS-211, MQDS-216, MQDS-217, MQDS-218, SYS-193 to SYS-196, SYS-213, SYS-216: an express,
    signed message to the queue of the owner.
    """
    pem = make_certificate("NEW")
    signer = replace(MessageSigner.from_pem(pem), sender=None)

    async def test(office: Office) -> None:
        await office.service.refresh()
        office.service.elsewhere.signer = signer
        await create(office, "hq-app\\invoices")
        owner = await guid_of(office.tree, f"CN=msmq,CN=HQ-APP,OU=Servers,{BASE}")
        ((name, (packet,)),) = office.packets().items()
        assert name == f"PRIVATE={owner}\\00000003"
        view = PacketView(packet)
        assert view.time_to_reach_queue == 300
        assert not view.recoverable
        assert view.message_class == MessageClass.NORMAL
        assert view.security is not None
        assert view.security.sender_cert == signer.certificate
        assert signer.sign(packet) == packet
        assert view.body[:2] == b"\x02\x01"
        assert view.body[-1:] == b"\0"
        assert len(view.body) % 2 == 1

    in_office(test)


def test_who_is_not_notified() -> None:
    """MQDS-209, MQDS-210, DMPR-338: the own manager, a foreign system, and a change that failed."""

    async def test(office: Office) -> None:
        await office.service.refresh()
        await create(office, ".\\own")
        assert (await office.writer.manager_of("partner1")).foreign
        await create(office, "partner1\\invoices")
        assert (await office.writer.queue_by_path("partner1\\invoices")).label == ""
        with pytest.raises(IllegalPropertyValue, match="abort_limit"):
            await create(office, "hq-app\\a", abort_limit=3, poison="subqueue", privacy=1)

        async def refuse(*given: Any, **named: Any) -> None:
            raise LdapError(ResultCode.INSUFFICIENT_ACCESS_RIGHTS, "no")

        add, office.tree.add = office.tree.add, refuse  # type: ignore[method-assign]
        with pytest.raises(AccessDenied):
            await create(office, "hq-app\\b")
        assert office.packets() == {}
        with pytest.raises(QueueNotFound):
            await answer(office, lambda: office.service.delete_queue("hq-app\\c", INTERNAL))
        assert office.service.elsewhere.sent == 0
        office.tree.add = add  # type: ignore[method-assign]
        await create(office, "hq-app\\d")
        assert office.service.elsewhere.sent == 1

    in_office(test)


def test_who_may_not_create_queues_here_may_not_elsewhere() -> None:
    """The directory sees the account of this computer, for all callers."""

    async def test(office: Office) -> None:
        await office.service.refresh()
        await office.driver.wait(lambda: office.local.configure(permissions="D:"))
        caller = Caller(grant=Grant("admin"))
        with pytest.raises(AccessDenied):
            await answer(
                office, lambda: office.service.create_queue("hq-app\\invoices", caller, {})
            )
        with pytest.raises(IllegalQueuePathName):
            await create(office, f"PUBLIC={UUID(int=7)}")
        assert office.packets() == {}

    in_office(test)
