"""From outgoing queues to what transfers messages."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.unit.engine.carriers import FakeTransport
from tests.unit.engine.station import Station, places
from tests.unit.engine.world import NOW, PARTNER, World, commit_all, letter, message

from openmsmq.engine.outgoing.dispatch import Dispatcher, Urgency, dispatch_priority
from openmsmq.engine.outgoing.sequences import OUTGOING
from openmsmq.engine.outgoing.transport import AddressKind
from openmsmq.engine.queues import purge
from openmsmq.engine.queues.entry import Entry
from openmsmq.engine.queues.queue import ManagedQueue
from openmsmq.engine.storage.history import Event
from openmsmq.engine.storage.layout import lookup_id
from openmsmq.engine.storage.tables import Table
from openmsmq.errors import StorageFailed, UnsupportedOperation
from openmsmq.names.format import parse_format_name
from openmsmq.packet.view import PacketView
from openmsmq.properties.message import MessageClass
from openmsmq.types.outgoing import TransferState

EXPRESS = pytest.mark.parametrize("express", [False, True], ids=["stored", "express"])


class Office:
    """A world with two destinations and a transport."""

    def __init__(self, world: World | None = None, *, is_connected: bool = True) -> None:
        self.world = world or World()
        self.dispatcher = Dispatcher(self.world.core)
        self.transport = FakeTransport()
        if is_connected:
            self.dispatcher.register([AddressKind.BINARY], self.transport)

    @property
    def a(self) -> ManagedQueue:
        return self.outgoing("a")

    @property
    def b(self) -> ManagedQueue:
        return self.outgoing("b")

    def outgoing(self, name: str) -> ManagedQueue:
        return self.world.core.queues.outgoing(parse_format_name(f"DIRECT=OS:there\\{name}"))

    def send(
        self, queue: ManagedQueue, *texts: str, express: bool = False, priority: int = 3
    ) -> None:
        self.world.send(
            queue, *(letter(text, express=express, priority=priority) for text in texts)
        )

    def send_in(self, queue: ManagedQueue, *texts: str) -> None:
        """Send messages in a transaction."""
        self.world.send_in(queue, *(letter(text, transactional=True) for text in texts))

    def reported(self) -> list[str]:
        """What was reported to the transport since the last time."""
        return self.transport.heard

    def take(self, queue: ManagedQueue, count: int = 100, size_max: int = 1 << 20) -> list[Entry]:
        """What the transport takes."""
        return self.dispatcher.take(queue, count, size_max, PARTNER)

    def taken(self, queue: ManagedQueue, count: int = 100) -> list[str]:
        """The bodies of what the transport takes."""
        return bodies(self.take(queue, count))

    def delivered(self, queue: ManagedQueue, entries: list[Entry]) -> None:
        """They have reached the next hop."""
        self.world.done(self.dispatcher.delivered(queue, entries))


def bodies(entries: list[Entry]) -> list[str]:
    return [PacketView(entry.packet).body.decode() for entry in entries]


@pytest.fixture
def office() -> Office:
    return Office()


@EXPRESS
def test_a_message_that_arrives_is_announced_and_taken(office: Office, express: bool) -> None:
    """It stays in its queue until the outcome is known (DMPR-347)."""
    office.send(office.a, "1", express=express)
    assert office.reported() == ["ready a"]
    assert office.taken(office.a) == ["1"]
    assert office.taken(office.a) == []
    assert office.world.entries(office.a) == []
    assert office.a.total_size > 0
    assert office.dispatcher.in_transit(office.a) == 1
    assert not office.a.deleted


@EXPRESS
def test_messages_that_were_delivered_leave(office: Office, express: bool) -> None:
    """DMPR-348, DMPR-351."""
    queue = office.a
    office.send(queue, "1", "2", express=express)
    first = office.take(queue, 1)
    second = office.take(queue, 1)
    assert bodies(first + second) == ["1", "2"]
    office.delivered(queue, first)
    assert office.dispatcher.in_transit(queue) == 1
    office.delivered(queue, second)
    assert queue.total_size == 0
    assert office.world.count("delivered") == 2
    office.world.queue()
    assert queue.deleted
    assert not office.world.rows(Table.INDEX)


@EXPRESS
def test_a_message_is_delivered_once_however_often_that_is_reported(
    office: Office, express: bool
) -> None:
    """DMPR-348."""
    queue = office.a
    office.send(queue, "1", "2", express=express)
    first = office.take(queue, 1)
    pending = [office.dispatcher.delivered(queue, first) for _ in range(2)]
    for one in pending:
        office.world.done(one)
    assert office.world.count("delivered") == 1
    assert office.dispatcher.in_transit(queue) == 0
    assert bodies(office.take(queue, 9)) == ["2"]


@EXPRESS
@pytest.mark.parametrize("wanted", [True, False])
def test_a_copy_of_what_was_delivered_stays_if_the_sender_wants(
    office: Office, express: bool, wanted: bool
) -> None:
    """DMPR-065, DMPR-066, MQQB-220."""
    world = office.world
    sent = letter("1", express=express, journal=wanted)
    world.send(office.a, sent)
    office.delivered(office.a, office.take(office.a))
    journal = world.core.queues.system_journal
    assert world.bodies(journal) == ["1"] * wanted
    events = [event for event, _ in world.reported(sent)]
    assert events[1:] == [Event.HANDED_OVER] + [Event.JOURNALED] * wanted
    if wanted:
        assert world.records(journal)[0].message_class == 0


@EXPRESS
def test_a_message_that_is_too_late_becomes_a_dead_letter(office: Office, express: bool) -> None:
    """DMPR-068, DMPR-081, MQQB-250, MQQB-252: also one that was sent, when it comes back."""
    world = office.world
    world.send(office.a, letter("1", express=express, dead_letter=True, expires=NOW + 1))
    office.take(office.a)
    world.tick(5)
    assert office.a.total_size > 0
    office.dispatcher.take_back(office.a)
    assert office.taken(office.a) == []
    world.tick()
    (record,) = world.records(world.core.queues.dead_letter)
    assert record.message_class == MessageClass.NACK_REACH_QUEUE_TIMEOUT


@EXPRESS
def test_a_message_that_could_not_be_transferred_is_tried_again(
    office: Office, express: bool
) -> None:
    """MQQB-204: in its place."""
    office.send(office.a, "1", "2", "3", express=express)
    assert office.taken(office.a, 2) == ["1", "2"]
    office.reported()
    office.dispatcher.take_back(office.a)
    assert office.reported() == ["ready a"]
    assert office.taken(office.a) == ["1", "2", "3"]
    office.dispatcher.take_back(office.b)
    assert office.reported() == []


def test_when_the_store_fails_the_message_is_there_still(office: Office) -> None:
    office.send(office.a, "1")
    office.reported()
    pending = office.dispatcher.delivered(office.a, office.take(office.a))
    office.world.commit(StorageFailed("disk"))
    assert isinstance(pending.error, StorageFailed)
    assert office.reported() == ["ready a"]
    assert office.taken(office.a) == ["1"]


def test_the_most_urgent_goes_first_then_the_oldest(office: Office) -> None:
    """DMPR-346, DMPR-350, MQQB-205; DMPR-405: the oldest first among equals."""
    office.send(office.a, "old")
    office.send(office.b, "new")
    c = office.outgoing("c")
    office.send(c, "urgent", priority=6)
    queues = {"old": office.a, "new": office.b, "urgent": c}
    order = {name: office.dispatcher.first(queue) for name, queue in queues.items()}
    assert sorted(order, key=lambda name: order[name] or Urgency(9, 9)) == ["urgent", "old", "new"]
    office.take(c)
    assert office.dispatcher.first(c) is None


def test_the_messages_of_a_queue_go_by_priority_and_age(office: Office) -> None:
    """DMPR-350 (A-43): those that are taken together have the same priority."""
    office.send(office.a, "1", "2")
    office.send(office.a, "3", priority=6)
    office.send(office.a, "4", priority=6)
    assert office.taken(office.a) == ["3", "4"]
    assert office.taken(office.a) == ["1", "2"]


def test_transactional_messages_never_overtake_each_other(office: Office) -> None:
    """DMPR-405 (A-43): not over transactions, and not when they are sent again."""
    office.send_in(office.a, "1", "2")
    office.send(office.a, "urgent", priority=7)
    office.send_in(office.a, "3")
    assert office.taken(office.a) == ["urgent"]
    assert office.taken(office.a, 2) == ["1", "2"]
    office.dispatcher.take_back_transactional(office.a)
    office.send_in(office.a, "4")
    assert office.taken(office.a, 1) == ["1"]
    assert office.taken(office.a) == ["2", "3", "4"]


def test_the_port_takes_only_as_much_as_it_says(office: Office) -> None:
    """But always one."""
    office.send(office.a, "1", "2", "3", "4")
    size = office.a.total_size // 4
    assert bodies(office.take(office.a, 2)) == ["1", "2"]
    assert bodies(office.take(office.a, 9, size)) == ["3"]
    assert bodies(office.take(office.a, 9, 1)) == ["4"]


def test_the_priority_of_the_queue_counts_too(office: Office) -> None:
    """DMPR-346."""
    assert dispatch_priority(office.a, lookup_id(3, 99)) == 3
    office.a.properties = office.a.properties.changed(NOW, base_priority=-10)
    assert dispatch_priority(office.a, lookup_id(7, 1)) == -3


def test_nothing_is_sent_offline(office: Office) -> None:
    """What is under way comes back (DMPR-321, DMPR-322)."""
    office.send(office.a, "1")
    office.take(office.a)
    office.reported()
    office.dispatcher.take_offline()
    assert not office.dispatcher.is_online
    assert office.reported() == ["withdrawn a"]
    assert office.world.bodies(office.a) == ["1"]
    office.send(office.b, "2")
    assert office.reported() == []
    assert office.dispatcher.first(office.b) is None
    assert office.taken(office.b) == []
    office.dispatcher.bring_online()
    assert office.dispatcher.is_online
    assert office.reported() == ["ready a", "ready b"]
    assert office.taken(office.a) + office.taken(office.b) == ["1", "2"]


def test_a_queue_on_hold_transfers_nothing(office: Office) -> None:
    """DMPR-316, DMPR-317, DMPR-318, DMPR-349, MQQB-193."""
    office.send(office.a, "1")
    office.take(office.a)
    office.reported()
    office.dispatcher.pause(office.a)
    transfer = office.a.transfer
    assert transfer is not None
    assert str(transfer.state) == "on hold"
    assert office.a.is_paused
    assert office.reported() == ["withdrawn a"]
    assert office.world.bodies(office.a) == ["1"]
    office.send(office.a, "2")
    office.send(office.b, "3")
    assert office.reported() == ["ready b"]
    assert office.taken(office.a) == []
    office.dispatcher.resume(office.a)
    assert not office.a.is_paused
    assert transfer.state is TransferState.INACTIVE
    assert office.reported() == ["ready a"]
    assert office.taken(office.a) == ["1", "2"]


def test_a_queue_on_hold_stays_though_it_is_empty(office: Office) -> None:
    office.dispatcher.pause(office.a)
    office.world.queue()
    assert not office.a.deleted


@pytest.mark.parametrize("act", ["pause", "resume"])
def test_only_outgoing_queues_are_held(office: Office, act: str) -> None:
    call: Callable[[ManagedQueue], None] = getattr(office.dispatcher, act)
    with pytest.raises(UnsupportedOperation):
        call(office.world.queue())


def test_what_waited_through_a_restart_is_sent(office: Office) -> None:
    """DMPR-046."""
    office.send(office.a, "1")
    office.take(office.a)
    office.send(office.b, "2", express=True)
    world = office.world.restart()
    transfer = Office(world, is_connected=False).a.transfer
    assert transfer is not None
    assert transfer.state is TransferState.WAITING
    again = Office(world)
    assert again.reported() == ["ready a"]
    assert again.taken(again.a) == ["1"]


def test_what_has_expired_is_not_sent(office: Office) -> None:
    """DMPR-350, MQQB-250."""
    office.world.send(office.a, letter("1", expires=NOW), letter("2"))
    office.world.pass_time(5)
    assert office.taken(office.a) == ["2"]
    commit_all(office.world.core)
    assert office.a.messages == 1


def test_what_expires_under_way_waits_for_the_outcome(office: Office) -> None:
    """A-34."""
    office.world.send(office.a, letter("1", expires=NOW + 1))
    entries = office.take(office.a)
    office.world.tick(5)
    assert office.a.messages == 1
    office.delivered(office.a, entries)
    assert (office.world.count("expired"), office.world.count("delivered")) == (0, 1)


def test_a_purge_under_way_waits_too(office: Office) -> None:
    office.send(office.a, "1", "2")
    office.take(office.a, 1)
    assert office.world.done(office.world.core.queue_lifecycle.purge(office.a)) == 1
    office.dispatcher.take_back(office.a)
    commit_all(office.world.core)
    assert (office.a.messages, office.world.count("purged")) == (0, 2)


def test_without_a_transport_messages_wait() -> None:
    """DMPR-323."""
    office = Office(is_connected=False)
    office.send(office.a, "1")
    office.dispatcher.pause(office.a)
    office.dispatcher.resume(office.a)
    assert office.reported() == []
    assert office.world.bodies(office.a) == ["1"]
    office.dispatcher.register([AddressKind.BINARY], office.transport)
    assert office.reported() == ["ready a"]


def test_in_hardened_mode_messages_wait(office: Office) -> None:
    """DMPR-163, DMPR-317, MQQB-193, MSEC-194."""
    office.world.core.is_hardened = True
    locked = office.outgoing("locked")
    office.world.send(locked, message("1"))
    assert office.reported() == []
    assert office.taken(locked) == []
    assert office.world.read(locked) == ["1"]


def test_a_queue_that_was_locked_waits_when_hardened_mode_is_off(office: Office) -> None:
    """DMPR-385, MSEC-195."""
    office.world.core.is_hardened = True
    locked = office.outgoing("locked")
    office.world.send(locked, message("1"))
    found = office.world.restart().core.queues.by_number[locked.number]
    assert found.transfer is not None
    assert found.transfer.state is TransferState.WAITING


def test_a_queue_is_locked_when_hardened_mode_is_on_at_the_start(office: Office) -> None:
    """DMPR-386, MSEC-193: one with an HTTP name is not."""
    http = office.world.core.queues.outgoing(parse_format_name("DIRECT=HTTP://a/msmq/q"))
    http.pins += 1
    for queue in (office.a, http):
        office.world.send(queue, message("1"))
    office.world.done(office.world.core.configure(hardened=True))
    again = office.world.restart()
    found = [again.core.queues.by_number[queue.number].transfer for queue in (office.a, http)]
    assert [transfer and transfer.state for transfer in found] == [
        TransferState.LOCKED,
        TransferState.WAITING,
    ]


def test_what_was_taken_back_meanwhile_is_not_delivered(office: Office) -> None:
    """DMPR-348: it is sent again, and the receiver drops one of them."""
    office.send(office.a, "1")
    entries = office.take(office.a)
    office.dispatcher.take_back(office.a)
    office.delivered(office.a, entries)
    assert office.world.bodies(office.a) == ["1"]


@EXPRESS
def test_what_had_arrived_when_its_queue_was_paused_is_not_sent_again(
    office: Office, express: bool
) -> None:
    """DMPR-348: a receiver forgets what has come, and a pause may last longer than that."""
    queue = office.a
    office.send(queue, "1", "2", "3", express=express)
    entries = office.take(queue)
    office.dispatcher.pause(queue)
    office.delivered(queue, [entries[0], entries[1], entries[0]])
    office.delivered(queue, entries[:1])
    office.dispatcher.resume(queue)
    assert bodies(office.take(queue)) == ["3"]
    office.delivered(queue, entries)
    assert queue.total_size == 0
    assert office.world.count("delivered") == 3


def test_what_arrived_and_is_purged_in_one_commit_leaves_once(office: Office) -> None:
    world, queue = office.world, office.a
    office.send(queue, "1", "2")
    entries = office.take(queue)
    office.dispatcher.pause(queue)
    purged = world.core.queue_lifecycle.purge(queue)
    delivered = office.dispatcher.delivered(queue, entries[:1])
    world.done(purged)
    world.done(delivered)
    assert queue.total_size == 0
    assert world.count("purged") + world.count("delivered") == 2


# Transactional messages


def test_a_transactional_message_is_sent_with_its_numbers(office: Office) -> None:
    """MQQB-256: what is stored stays as it is."""
    office.send_in(office.a, "1", "2")
    stored = office.world.entries(office.a)
    sent = office.take(office.a)
    assert bodies(sent) == ["1", "2"]
    assert places(sent) == [(1, 1, 0), (1, 2, 1)]
    assert places(stored) == [(0, 0, 0), (0, 0, 0)]


def test_others_of_the_same_priority_travel_with_them(office: Office) -> None:
    office.send_in(office.a, "1")
    office.send(office.a, "2", priority=0)
    sent = office.take(office.a)
    assert bodies(sent) == ["1", "2"]
    assert PacketView(sent[1].packet).transaction is None


def test_only_transactional_messages_are_taken_back_to_be_sent_again(office: Office) -> None:
    """MQQB-264: those that were not acknowledged in order."""
    office.send(office.a, "0")
    office.send_in(office.a, "1", "2")
    office.take(office.a)
    office.take(office.a)
    office.reported()
    office.dispatcher.take_back_transactional(office.a)
    assert office.reported() == ["ready a"]
    assert office.dispatcher.in_transit(office.a) == 1
    again = office.take(office.a)
    assert bodies(again) == ["1", "2"]
    assert places(again) == [(1, 1, 0), (1, 2, 1)]
    office.dispatcher.take_back_transactional(office.b)
    assert office.reported() == []


def test_after_one_expired_the_next_names_the_one_before_it(office: Office) -> None:
    """MQQB-262: so its receiver does not wait for it."""
    texts = [("1", NOW + 100), ("2", NOW + 1), ("3", NOW + 100)]
    office.world.send_in(
        office.a, *(letter(text, transactional=True, expires=expires) for text, expires in texts)
    )
    office.take(office.a, 1)
    office.world.tick(5)
    assert places(office.take(office.a)) == [(1, 3, 1)]


def test_behind_one_that_expires_nothing_is_sent_before_that_is_committed(office: Office) -> None:
    """A crash may undo it; then the message would come behind its successor, and be refused."""
    texts = [("1", NOW + 1), ("2", NOW + 100)]
    office.world.send_in(
        office.a, *(letter(text, transactional=True, expires=expires) for text, expires in texts)
    )
    office.send(office.a, "urgent", priority=4)
    office.world.pass_time(5)
    assert office.taken(office.a) == ["urgent"]
    assert office.taken(office.a) == []
    office.reported()
    commit_all(office.world.core)
    assert office.reported() == ["ready a"]
    assert places(office.take(office.a)) == [(1, 2, 0)]


def test_one_that_expires_while_it_is_refused_leaves_once(office: Office) -> None:
    """The next hop may answer while the commit in which the message expires is written."""
    message = letter("1", transactional=True, expires=NOW + 1, dead_letter=True)
    office.world.send_in(office.a, message)
    entries = office.take(office.a)
    core = office.world.core
    office.world.pass_time(5)
    core.start_commit(core.store.begin())
    refused = office.dispatcher.refused(office.a, entries)
    core.store.commit()
    core.finish_commit(None)
    office.world.done(refused)
    assert office.a.messages == office.a.size == 0
    dead = core.queues.transactional_dead_letter
    assert [view.body for view in office.world.views(dead)] == [b"1"]
    assert not office.a.holds


def test_behind_some_that_are_purged_nothing_is_sent_before_that_is_committed(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(purge, "STEP", 1)
    office.send_in(office.a, *"12345678")
    world = office.world
    purged = world.core.queue_lifecycle.purge(office.a)
    transaction = world.transactions.begin()
    sent = [letter("9", transactional=True)]
    world.enqueuer.send(office.a, sent, transaction, world.caller)
    world.transactions.commit(transaction, caller=world.caller)
    while office.a.messages == 8:
        world.commit()
        assert office.taken(office.a) == []
    for _ in range(3):
        world.commit()
        assert office.taken(office.a) == []
    assert not purged.done
    commit_all(world.core)
    assert purged.result() == 8
    assert office.taken(office.a) == ["9"]


def test_a_sequence_waits_for_the_one_before_it(office: Office) -> None:
    """MQQB-272: else its receiver would refuse what is left of the first."""
    office.send_in(office.a, "1")
    again = Office(office.world.restart())
    again.send_in(again.a, "2")
    again.send(again.a, "3", priority=0)
    first = again.take(again.a)
    assert places(first) == [(1, 1, 0)]
    assert again.taken(again.a) == []
    assert again.dispatcher.first(again.a) is None
    again.reported()
    again.delivered(again.a, first)
    assert again.reported() == ["ready a"]
    assert bodies(again.take(again.a)) == ["2", "3"]


def test_a_transport_without_streams_is_given_no_transactional_messages(office: Office) -> None:
    queue = office.a
    office.send_in(queue, "in order")
    office.send(queue, "urgent", priority=4)
    office.send(queue, "behind", priority=0)
    taken = office.dispatcher.take(queue, 100, 1 << 20, None)
    assert bodies(taken) == ["urgent"]
    assert office.dispatcher.take(queue, 100, 1 << 20, None) == []
    assert office.taken(queue) == ["in order", "behind"]


@EXPRESS
def test_messages_that_the_next_hop_refuses_leave_as_failed(office: Office, express: bool) -> None:
    """Those that ask for it are kept as dead letters; others that were taken stay."""
    queue = office.a
    asked = letter("1", express=express, dead_letter=True)
    office.world.send(queue, asked, letter("2", express=express))
    entries = office.take(queue)
    office.world.done(office.dispatcher.refused(queue, entries[:1]))
    assert office.dispatcher.in_transit(queue) == 1
    dead = office.world.core.queues.dead_letter
    assert [view.body for view in office.world.views(dead)] == [b"1"]
    assert office.world.count("rejected") == 1
    office.world.done(office.dispatcher.refused(queue, entries))
    assert queue.total_size == 0
    assert office.world.count("rejected") == 2


def test_hardened_mode_begins_with_the_next_start(office: Office) -> None:
    """DMPR-023, MSEC-191, MSEC-196: it is off unless set, and lasts."""
    assert not office.world.core.is_hardened
    office.world.done(office.world.core.configure(hardened=True))
    assert office.outgoing("b").transfer.is_open  # type: ignore[union-attr]
    again = office.world.restart()
    assert again.core.is_hardened
    again.done(again.core.configure(hardened=False))
    assert again.core.is_hardened
    assert not again.restart().core.is_hardened


def test_a_message_that_is_given_back_is_sent_again(office: Office) -> None:
    office.send(office.a, "1", "2")
    first, second = office.take(office.a)
    office.dispatcher.release(office.a, first)
    assert bodies(office.take(office.a)) == ["1"]
    office.dispatcher.release(office.a, second)
    assert bodies(office.take(office.a)) == ["2"]


def test_one_who_looks_hears_of_a_message_that_is_given_back(office: Office) -> None:
    """It was not to be seen while it was in transit."""
    office.send(office.a, "1")
    (entry,) = office.take(office.a)
    looking = office.world.wait_peek(office.a)
    assert not looking.done
    office.dispatcher.release(office.a, entry)
    assert bodies(looking.result()) == ["1"]


@pytest.mark.parametrize("size", [0, 5000], ids=["small", "large"])
def test_of_many_messages_those_that_are_held_are_passed_over(office: Office, size: int) -> None:
    """However many are looked at together, and however they lie in the store."""
    texts = [f"{number}".zfill(1 + size) for number in range(30)]
    office.send(office.b, "between")
    office.send(office.a, *texts[:15])
    office.send(office.b, "between")
    office.send(office.a, *texts[15:])
    first = office.take(office.a, 12)
    assert bodies(first) == texts[:12]
    for entry in first[3:5]:
        office.dispatcher.release(office.a, entry)
    assert bodies(office.take(office.a, 10)) == [*texts[3:5], *texts[12:20]]
    assert bodies(office.take(office.a)) == texts[20:]


@pytest.mark.parametrize("express", [True, False])
def test_a_message_that_is_acknowledged_twice_at_once_leaves_once(
    office: Office, express: bool
) -> None:
    """It was taken back and sent again on the same session."""
    office.send(office.a, "1", express=express)
    (entry,) = office.take(office.a)
    office.world.done(office.dispatcher.delivered(office.a, [entry, entry]))
    assert office.world.bodies(office.a) == []
    assert office.dispatcher.in_transit(office.a) == 0


def test_that_the_first_message_was_answered_is_kept() -> None:
    station = Station()
    station.world.send_in(station.out, letter("1", transactional=True))
    (sequence,) = station.out.sequences.all
    done: list[bool] = []

    def note() -> None:
        done.append(sequence.is_established)

    station.dispatcher.establish(station.out, sequence, note)
    station.world.commit(StorageFailed("gone"))
    assert done == [False]
    assert not station.restart().out.sequences.all[0].is_established
    station.dispatcher.establish(station.out, sequence, note)
    commit_all(station.core)
    assert done == [False, True]
    assert station.restart().out.sequences.all[0].is_established


def test_that_the_first_message_of_a_sequence_that_is_over_was_answered_is_not_kept() -> None:
    station = Station()
    station.world.send_in(station.out, letter("1", transactional=True))
    station.pump()
    (sequence,) = station.out.sequences.all
    station.confirmations.acknowledged(station.out, sequence, 1)
    commit_all(station.core)
    station.confirmations.finish(station.out)
    station.dispatcher.establish(station.out, sequence, lambda: None)
    commit_all(station.core)
    assert not station.rows(OUTGOING)
