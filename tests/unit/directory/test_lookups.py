from __future__ import annotations

from uuid import UUID

import pytest
from tests.directories import BASE, guid_of
from tests.unit.directory.office import PATH, Office, in_office, until
from tests.unit.directory.test_service import ORDERS, SEND, UNKNOWN, answer

from openmsmq.directory import lookups
from openmsmq.directory.elsewhere import Owned
from openmsmq.directory.limits import AWAITED_TIME_MAX, QUESTIONS_MAX, SENDER_QUESTIONS_MAX
from openmsmq.directory.lookups import QueueQuestions
from openmsmq.directory.objects import QueueObject
from openmsmq.engine.arrivals.arrival import ArrivalOutcome, Origin, Refused
from openmsmq.engine.outgoing.dispatch import dispatch_priority
from openmsmq.engine.storage.layout import lookup_id
from openmsmq.errors import NoDs, QueueNotFound
from openmsmq.names.format import DistributionListName, PublicName, parse_format_name
from openmsmq.names.parse import parse_name
from openmsmq.names.path import PathName
from openmsmq.properties.message import MessageClass
from openmsmq.types.message import Message


def test_a_public_queue_elsewhere_is_looked_up_once() -> None:
    """MQDS-197, MQDS-198, DMPR-332"""

    async def test(office: Office) -> None:
        orders = await guid_of(office.tree, ORDERS)
        owner = await guid_of(office.tree, f"CN=msmq,CN=HQ-APP,OU=Servers,{BASE}")
        name = f"PUBLIC={orders}"
        await office.service.refresh()
        assert office.service.needs_lookup(name)
        await answer(office, lambda: office.service.look_up(name))
        assert office.local.directory.owners == {orders: owner}
        assert str(office.local.directory.path(PublicName(orders))) == "hq-app\\orders"
        assert not office.service.needs_lookup(name)
        handle = office.driver.call(lambda: office.local.open_queue(name, SEND))
        assert handle.queue.name == str(parse_format_name(name))
        office.now += lookups.KNOWN_FOR
        assert office.service.needs_lookup(name)
        office.tree.is_down = True
        with pytest.raises(NoDs):
            await answer(office, lambda: office.service.look_up(UNKNOWN))
        assert office.service.is_offline
        asked = office.tree.operations
        await answer(office, lambda: office.service.look_up(name))  # what is known stays
        with pytest.raises(NoDs):
            await answer(office, lambda: office.service.look_up(UNKNOWN))
        assert office.tree.operations == asked
        with pytest.raises(NoDs):
            office.driver.call(lambda: office.local.open_queue(UNKNOWN, SEND))

    in_office(test)


def test_names_that_need_no_directory() -> None:
    async def test(office: Office) -> None:
        for name in ("DIRECT=OS:a\\q", ".\\private$\\x", "not a name\\\\"):
            assert not office.service.needs_lookup(name)
        assert office.service.is_public(".\\orders")
        assert not office.service.is_public(".\\private$\\orders")
        assert office.service.is_public("other\\orders")
        assert not office.service.is_public("other\\private$\\orders")
        assert not office.service.is_public("DIRECT=OS:other\\orders")
        assert not office.service.is_public("???")

    in_office(test)


def test_that_there_is_no_queue_is_remembered_for_a_minute() -> None:
    async def test(office: Office) -> None:
        await office.service.refresh()
        with pytest.raises(QueueNotFound):
            await answer(office, lambda: office.service.look_up(UNKNOWN))
        assert not office.service.needs_lookup(UNKNOWN)
        with pytest.raises(QueueNotFound):
            office.driver.call(lambda: office.local.open_queue(UNKNOWN, SEND))
        office.now += lookups.UNKNOWN_FOR
        assert office.service.needs_lookup(UNKNOWN)

    in_office(test)


def test_a_public_queue_is_found_by_its_path_name() -> None:
    """In the directory (DS-04); a direct name does without it."""

    async def test(office: Office) -> None:
        await office.service.refresh()
        local, service = office.local, office.service
        orders = await guid_of(office.tree, f"CN=orders,CN=msmq,CN=HQ-APP,OU=Servers,{BASE}")
        assert service.needs_lookup("hq-app\\orders")
        await answer(office, lambda: service.look_up("hq-app\\orders"))
        assert not service.needs_lookup("HQ-APP\\Orders")
        handle = office.driver.call(lambda: local.open_queue("hq-app\\orders", SEND))
        assert handle.queue.name == f"PUBLIC={orders}"
        await answer(office, lambda: service.look_up("hq-app\\none"))
        with pytest.raises(QueueNotFound, match="DIRECT=OS"):
            office.driver.call(lambda: local.open_queue("hq-app\\none", SEND))
        for name in ("hq-app\\private$\\orders", "192.0.2.7\\orders", "DIRECT=OS:hq-app\\orders"):
            assert not service.needs_lookup(name)
            direct = office.driver.call(lambda name=name: local.open_queue(name, SEND))  # type: ignore[misc]
            assert direct.queue.name.startswith("DIRECT=")
        office.tree.is_down = True
        await answer(office, lambda: service.look_up("hq-app\\other"))
        assert service.is_offline
        with pytest.raises(NoDs):
            office.driver.call(lambda: local.open_queue("hq-app\\other", SEND))
        office.driver.call(lambda: local.open_queue("hq-app\\orders", SEND))

    in_office(test)


def _path(name: str) -> PathName:
    path = parse_name(f"hq-app\\{name}")
    assert isinstance(path, PathName)
    return path


def test_at_most_so_many_names_are_known_and_those_that_are_sent_to_among_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A program that names ever more queues fills no table of the manager."""
    monkeypatch.setattr(lookups, "CACHE_MAX", 10)

    async def test(office: Office) -> None:
        await office.service.refresh()
        view, names = office.local.directory, office.service.names
        used = await guid_of(office.tree, ORDERS)
        await answer(office, lambda: office.service.look_up(f"PUBLIC={used}"))
        office.driver.call(lambda: office.local.open_queue(f"PUBLIC={used}", SEND))
        passed_on = PublicName(UUID(int=1000))
        names.found(_path("passed"), Owned(passed_on.guid, UUID(int=1)))
        office.driver.call(lambda: office.local.queues.forwarding(passed_on, is_sideways=False))
        for number in range(30):
            names.found(_path(f"queue{number}"), Owned(UUID(int=number + 1), UUID(int=1)))
        assert len(view.paths) + len(view.owners) <= 10
        assert {used, passed_on.guid} <= view.owners.keys()
        assert UUID(int=30) in view.owners
        assert UUID(int=1) not in view.owners

    in_office(test)


def test_a_list_that_is_gone_is_not_known_any_longer() -> None:
    async def test(office: Office) -> None:
        view, name = office.local.directory, DistributionListName(UUID(int=7))
        view.lists[name.guid] = ()
        office.service.names.forget(name)
        assert view.lists == {}

    in_office(test)


@pytest.mark.parametrize("name", ["PUBLIC={guid}", "hq-app\\orders"])
def test_a_public_queue_elsewhere_is_sent_to_by_its_base_priority(name: str) -> None:
    """DMPR-162: whether it was opened before or after the directory was asked."""

    async def test(office: Office) -> None:
        await office.service.refresh()
        guid = await guid_of(office.tree, ORDERS)
        given = name.format(guid=guid)
        await office.writer.write(QueueObject, ORDERS, {"base_priority": 9})
        await answer(office, lambda: office.service.look_up(given))
        handle = office.driver.call(lambda: office.local.open_queue(given, SEND))
        assert dispatch_priority(handle.queue, lookup_id(3, 99)) == 12
        await office.driver.wait(lambda: handle.send([Message(b"x")]))
        for written, counts in ((-4, -4), (40_000, 0)):
            await office.writer.write(QueueObject, ORDERS, {"base_priority": written})
            office.now += lookups.KNOWN_FOR
            await answer(office, lambda: office.service.look_up(given))
            assert handle.queue.properties.base_priority == counts
        await office.writer.write(QueueObject, ORDERS, {"base_priority": 5})
        await office.service.refresh()  # messages wait for it
        assert handle.queue.properties.base_priority == 5

    in_office(test)


ONE, OTHER = UUID(int=1), UUID(int=2)


def asking() -> tuple[QueueQuestions, list[UUID]]:
    asked: list[UUID] = []
    return QueueQuestions(asked.append), asked


def test_a_queue_is_asked_for_once_in_a_minute() -> None:
    """MQDS-239"""
    questions, asked = asking()
    for sender in ("a", "b", "a"):
        assert questions.is_awaited(ONE, sender, 100)
    assert asked == [ONE]
    questions.answered(ONE)
    assert not questions.is_awaited(ONE, "a", 100 + AWAITED_TIME_MAX - 1)
    assert asked == [ONE]
    assert questions.is_awaited(ONE, "a", 100 + AWAITED_TIME_MAX)
    assert asked == [ONE, ONE]


def test_a_message_does_not_wait_for_ever() -> None:
    """MQDS-239: while no controller answers it waits for a minute, and others after it."""
    questions, asked = asking()
    waits = [questions.is_awaited(ONE, "a", now) for now in range(100, 100 + AWAITED_TIME_MAX)]
    assert all(waits)
    questions.again()
    questions.answered(OTHER)
    assert asked == [ONE, ONE]
    questions.answered(ONE)
    questions.again()
    assert asked == [ONE, ONE]


def test_a_stranger_cannot_have_the_directory_asked_without_end() -> None:
    """MQDS-239: each sender so often, and all together; others still get their answers."""
    questions, asked = asking()
    for number in range(1000):
        awaited = questions.is_awaited(UUID(int=number), "stranger", 100)
        assert awaited == (number < SENDER_QUESTIONS_MAX)
    assert questions.is_awaited(UUID(int=5000), "friend", 100)
    assert len(asked) == SENDER_QUESTIONS_MAX + 1
    for number in range(10_000, 11_000):
        questions.is_awaited(UUID(int=number), f"stranger {number}", 100)
    assert len(asked) == QUESTIONS_MAX
    later = 100 + AWAITED_TIME_MAX
    assert questions.is_awaited(UUID(int=20_000), "stranger", later)


class Sender:
    """Another manager of the enterprise, which sends to public queues of the first."""

    def __init__(self, office: Office, app: Office) -> None:
        self.office = office
        self.app = app

    async def send(self, guid: UUID, message: Message) -> None:
        name = PublicName(guid)
        await self.app.service.names.look_up(name)
        handle = self.app.driver.call(lambda: self.app.local.open_queue(str(name), SEND))
        await self.app.driver.wait(lambda: handle.send([message]))

    async def bring(self, guid: UUID) -> ArrivalOutcome:
        """The express messages for a queue come; what became of them."""
        packets = self.app.packets()[str(PublicName(guid))]
        origin = Origin("192.0.2.1", "elsewhere", self.app.local.identity.bytes_le)
        arrivals = self.office.local.arrivals
        return self.office.driver.call(
            lambda: arrivals.take_express(origin, arrivals.examined(packets))
        )


async def with_sender(office: Office) -> Sender:
    app = await office.another("HQ-APP")
    for one in (office, app):
        await one.service.refresh()
    return Sender(office, app)


def test_a_message_for_a_queue_made_elsewhere_a_moment_ago_comes_again_and_is_taken() -> None:
    """MQDS-239: the manager had not heard of the queue, and does not refuse its message."""

    async def test(office: Office) -> None:
        sender = await with_sender(office)
        guid = await office.writer.create_queue("NEW\\late", {"label": "fresh"})
        await sender.send(guid, Message(b"x", recoverable=False))
        outcome = await sender.bring(guid)
        assert isinstance(outcome.error, Refused)
        assert outcome.rejected == []
        await until(lambda: office.names() == ["late"])
        outcome = await sender.bring(guid)
        assert outcome.error is None
        queue = office.local.find_queue(".\\late")
        assert (len(queue.express), queue.properties.label) == (1, "fresh")
        await sender.app.close()

    in_office(test)


def test_a_message_for_a_queue_that_there_is_not_is_refused_when_the_directory_has_said_so() -> (
    None
):
    """MQDS-239: one question, and none while the answer counts."""

    async def test(office: Office) -> None:
        sender = await with_sender(office)
        guid = await office.writer.create_queue("NEW\\gone", {})
        await sender.send(guid, Message(b"x", recoverable=False))
        await office.tree.delete(f"CN=gone,{PATH}")
        asked = office.tree.operations
        assert isinstance((await sender.bring(guid)).error, Refused)
        await until(lambda: office.tree.operations > asked)
        await until(lambda: not office.service._pending)
        asked = office.tree.operations
        outcome = await sender.bring(guid)
        assert outcome.error is None
        assert [reason for _, reason in outcome.rejected] == [MessageClass.NACK_BAD_DST_Q]
        assert (office.tree.operations, office.names()) == (asked, [])
        await sender.app.close()

    in_office(test)


def test_while_no_controller_answers_a_message_waits_for_a_minute() -> None:
    """MQDS-239: and is taken if the directory is back before."""

    async def test(office: Office) -> None:
        sender = await with_sender(office)
        guid = await office.writer.create_queue("NEW\\late", {})
        await sender.send(guid, Message(b"x", recoverable=False))
        office.tree.is_down = True
        for _ in range(3):
            assert isinstance((await sender.bring(guid)).error, Refused)
        await until(lambda: office.service.is_offline)
        office.tree.is_down = False
        await office.service.refresh()
        await until(lambda: office.names() == ["late"])
        assert (await sender.bring(guid)).error is None
        await sender.app.close()

    in_office(test)


def test_a_workgroup_does_not_ask() -> None:
    async def test(office: Office) -> None:
        sender = await with_sender(office)
        guid = await office.writer.create_queue("NEW\\late", {})
        await sender.send(guid, Message(b"x", recoverable=False))
        office.local.directory.awaited = None
        outcome = await sender.bring(guid)
        assert (outcome.error, len(outcome.rejected)) == (None, 1)
        await sender.app.close()

    in_office(test)
