"""From outgoing queues to what transfers messages."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.unit.model.world import NOW, World, commit_all, letter, message

from openmsmq.errors import StorageFailed, UnsupportedOperation
from openmsmq.model.dispatching import Dispatching, dispatch_priority
from openmsmq.model.history import Event
from openmsmq.model.layout import lookup_id
from openmsmq.model.queue import Queue
from openmsmq.model.reading import Entry
from openmsmq.model.settings import Settings
from openmsmq.model.storage import Table
from openmsmq.model.transfer import TransferState
from openmsmq.names.format import parse_format_name
from openmsmq.packet.view import PacketView
from openmsmq.properties.message import MessageClass

EXPRESS = pytest.mark.parametrize("express", [False, True], ids=["stored", "express"])


class Port:
    """Remembers what it was given."""

    def __init__(self) -> None:
        self.given: list[tuple[str, str]] = []

    def send(self, queue: Queue, entry: Entry) -> None:
        self.given.append((queue.name[-1], PacketView(entry.packet).body.decode()))


class Office:
    """A world with two destinations and a port."""

    def __init__(self, world: World | None = None) -> None:
        self.world = world or World()
        self.dispatching = Dispatching(self.world.core)
        self.port = Port()
        self.dispatching.port = self.port

    @property
    def a(self) -> Queue:
        return self.outgoing("a")

    @property
    def b(self) -> Queue:
        return self.outgoing("b")

    def outgoing(self, name: str) -> Queue:
        return self.world.core.queues.outgoing(parse_format_name(f"DIRECT=OS:there\\{name}"))

    def send(self, queue: Queue, *texts: str, express: bool = False, priority: int = 3) -> None:
        self.world.send(
            queue, *(letter(text, express=express, priority=priority) for text in texts)
        )

    def given(self) -> list[str]:
        """What the port has got since the last time."""
        found = [text for _, text in self.port.given]
        self.port.given.clear()
        return found


@pytest.fixture
def office() -> Office:
    return Office()


@EXPRESS
def test_a_message_is_handed_over_when_it_arrives(office: Office, express: bool) -> None:
    """It stays in its queue until the outcome is known (DMPR-347)."""
    office.send(office.a, "1", express=express)
    assert office.given() == ["1"]
    assert office.world.entries(office.a) == []
    assert office.a.total_size > 0
    assert not office.a.deleted


@EXPRESS
def test_a_message_that_was_delivered_leaves_and_the_next_follows(
    office: Office, express: bool
) -> None:
    """DMPR-348, DMPR-351."""
    queue = office.a
    office.send(queue, "1", "2", express=express)
    assert office.given() == ["1"]
    office.world.done(office.dispatching.delivered(queue))
    assert office.given() == ["2"]
    office.world.done(office.dispatching.delivered(queue))
    assert office.given() == []
    assert queue.total_size == 0
    assert office.world.count("delivered") == 2
    office.world.queue()
    assert queue.deleted
    assert not office.world.rows(Table.INDEX)


@EXPRESS
@pytest.mark.parametrize("wanted", [True, False])
def test_a_copy_of_what_was_delivered_stays_if_the_sender_wants(
    office: Office, express: bool, wanted: bool
) -> None:
    """DMPR-065, DMPR-066."""
    world = office.world
    sent = letter("1", express=express, journal=wanted)
    world.send(office.a, sent)
    world.done(office.dispatching.delivered(office.a))
    journal = world.core.queues.system_journal
    assert world.bodies(journal) == ["1"] * wanted
    events = [event for event, _ in world.told(sent)]
    assert events[1:] == [Event.DELIVERED] + [Event.JOURNALED] * wanted
    if wanted:
        assert world.records(journal)[0].message_class == 0


@EXPRESS
def test_a_message_that_is_too_late_becomes_a_dead_letter(office: Office, express: bool) -> None:
    """DMPR-068, DMPR-081."""
    world = office.world
    world.send(office.a, letter("1", express=express, dead_letter=True))
    world.done(office.dispatching.expired(office.a))
    (record,) = world.records(world.core.queues.dead_letter)
    assert record.message_class == MessageClass.NACK_REACH_QUEUE_TIMEOUT


@EXPRESS
def test_a_message_that_could_not_be_transferred_is_tried_again(
    office: Office, express: bool
) -> None:
    office.send(office.a, "1", "2", express=express)
    office.given()
    office.dispatching.returned(office.a)
    assert office.given() == ["1"]
    office.dispatching.returned(office.b)
    assert office.given() == []


def test_when_the_store_fails_the_message_is_there_still(office: Office) -> None:
    office.send(office.a, "1")
    pending = office.dispatching.delivered(office.a)
    office.world.commit(StorageFailed("disk"))
    assert isinstance(pending.error, StorageFailed)
    assert office.given() == ["1", "1"]


def test_one_message_of_each_queue_is_under_way(office: Office) -> None:
    """DMPR-351 (A-43)."""
    office.send(office.a, "1", "2")
    office.send(office.b, "3", "4")
    assert office.given() == ["1", "3"]


def test_the_most_urgent_goes_first_then_the_oldest(office: Office) -> None:
    """DMPR-346, DMPR-350, DMPR-405."""
    office.dispatching.take_offline()
    office.send(office.a, "old")
    office.send(office.b, "new")
    c = office.outgoing("c")
    office.send(c, "urgent", priority=6)
    office.dispatching.bring_online()
    assert office.given() == ["urgent", "old", "new"]


def test_the_priority_of_the_queue_counts_too(office: Office) -> None:
    """DMPR-346."""
    assert dispatch_priority(office.a, lookup_id(3, 99)) == 3
    office.a.properties = office.a.properties.changed(NOW, base_priority=-10)
    assert dispatch_priority(office.a, lookup_id(7, 1)) == -3


def test_nothing_is_sent_offline(office: Office) -> None:
    """What is under way comes back (DMPR-321, DMPR-322)."""
    office.send(office.a, "1")
    assert office.given() == ["1"]
    office.dispatching.take_offline()
    assert not office.dispatching.is_online
    assert office.world.bodies(office.a) == ["1"]
    office.send(office.b, "2")
    assert office.given() == []
    office.dispatching.bring_online()
    assert office.dispatching.is_online
    assert office.given() == ["1", "2"]


def test_a_queue_on_hold_transfers_nothing(office: Office) -> None:
    """DMPR-316, DMPR-317, DMPR-318, DMPR-349."""
    office.send(office.a, "1")
    office.given()
    office.dispatching.pause(office.a)
    transfer = office.a.transfer
    assert transfer is not None
    assert str(transfer.state) == "on hold"
    assert office.a.is_paused
    assert office.world.bodies(office.a) == ["1"]
    office.send(office.a, "2")
    office.send(office.b, "3")
    assert office.given() == ["3"]
    office.dispatching.resume(office.a)
    assert not office.a.is_paused
    assert transfer.state is TransferState.INACTIVE
    assert office.given() == ["1"]


def test_a_queue_on_hold_stays_though_it_is_empty(office: Office) -> None:
    office.dispatching.pause(office.a)
    office.world.queue()
    assert not office.a.deleted


@pytest.mark.parametrize("act", ["pause", "resume"])
def test_only_outgoing_queues_are_held(office: Office, act: str) -> None:
    call: Callable[[Queue], None] = getattr(office.dispatching, act)
    with pytest.raises(UnsupportedOperation):
        call(office.world.queue())


def test_what_waited_through_a_restart_is_sent(office: Office) -> None:
    """DMPR-046."""
    office.dispatching.take_offline()
    office.send(office.a, "1")
    office.send(office.b, "2", express=True)
    again = Office(office.world.restart())
    transfer = again.a.transfer
    assert transfer is not None
    assert transfer.state is TransferState.WAITING
    again.dispatching.dispatch()
    assert again.given() == ["1"]


def test_what_has_expired_is_not_sent(office: Office) -> None:
    """DMPR-350."""
    office.dispatching.take_offline()
    office.world.send(office.a, letter("1", expires=NOW), letter("2"))
    office.world.pass_time(5)
    office.dispatching.bring_online()
    assert office.given() == ["2"]
    commit_all(office.world.core)
    assert office.a.messages == 1


def test_what_expires_under_way_waits_for_the_outcome(office: Office) -> None:
    """A-34."""
    office.world.send(office.a, letter("1", expires=NOW + 1))
    office.world.tick(5)
    assert office.a.messages == 1
    office.world.done(office.dispatching.delivered(office.a))
    assert (office.world.count("expired"), office.world.count("delivered")) == (0, 1)


def test_a_purge_under_way_waits_too(office: Office) -> None:
    office.send(office.a, "1", "2")
    assert office.world.done(office.world.core.queues.purge(office.a)) == 1
    office.dispatching.returned(office.a)
    commit_all(office.world.core)
    assert (office.a.messages, office.world.count("purged")) == (0, 2)


def test_without_a_port_messages_wait(office: Office) -> None:
    """DMPR-323."""
    office.dispatching.port = None
    office.send(office.a, "1")
    assert office.world.bodies(office.a) == ["1"]


def test_in_hardened_mode_messages_wait(office: Office) -> None:
    """DMPR-163, DMPR-317."""
    office.world.core.settings = Settings(hardened=True)
    locked = office.outgoing("locked")
    office.world.send(locked, message("1"))
    assert office.given() == []
    assert office.world.read(locked) == ["1"]


def test_a_queue_that_was_locked_waits_when_hardened_mode_is_off(office: Office) -> None:
    """DMPR-385."""
    office.world.core.settings = Settings(hardened=True)
    locked = office.outgoing("locked")
    office.world.send(locked, message("1"))
    found = office.world.restart().core.queues.by_number[locked.number]
    assert found.transfer is not None
    assert found.transfer.state is TransferState.WAITING


def test_what_was_taken_back_meanwhile_is_not_delivered(office: Office) -> None:
    """DMPR-348: it is sent again, and the receiver drops one of them."""
    office.send(office.a, "1")
    office.dispatching.pause(office.a)
    office.world.done(office.dispatching.delivered(office.a))
    assert office.world.bodies(office.a) == ["1"]
