"""What receivers say of our transactional messages."""

from __future__ import annotations

from uuid import UUID

import pytest
from tests.unit.engine.carriers import FakeTransport
from tests.unit.engine.station import Station, parcel, places
from tests.unit.engine.world import ME, NOW, PARTNER, commit_all, letter

from openmsmq.engine.arrivals.arrival import Origin
from openmsmq.engine.arrivals.peers import Identity
from openmsmq.engine.outgoing import confirmations
from openmsmq.engine.outgoing.limits import OVERTAKEN_MAX
from openmsmq.engine.outgoing.parked import PARKED, read_parked
from openmsmq.engine.outgoing.sequences import OUTGOING, SENT_STEP
from openmsmq.engine.outgoing.transport import AddressKind
from openmsmq.engine.storage.history import Event
from openmsmq.engine.storage.layout import JOURNAL_BIT
from openmsmq.engine.storage.recovery import RESTORING_KEY
from openmsmq.engine.storage.tables import Table
from openmsmq.errors import StorageFailed, StorageFull
from openmsmq.limits import U32_MAX
from openmsmq.names.format import parse_format_name
from openmsmq.packet.acks import (
    FinalAckBody,
    OrderAckBody,
    build_final_ack,
    build_order_ack,
    order_queue,
)
from openmsmq.packet.headers.transaction import TxSequenceID
from openmsmq.packet.view import PacketView
from openmsmq.properties.message import INFINITE, MessageClass
from openmsmq.transports.mqqb import received_acks
from openmsmq.transports.mqqb.received_acks import FORGED, Ack
from openmsmq.types.queues import QueueKind

RECEIVED = MessageClass.ACK_RECEIVE
REFUSED = MessageClass.NACK_NOT_TRANSACTIONAL_Q


@pytest.fixture
def station() -> Station:
    return Station()


def send(station: Station, *bodies: str, journal: bool = False, dead_letter: bool = False) -> None:
    """Messages are sent in a transaction, and were under way once; the body is the identifier."""
    put(station, *bodies, journal=journal, dead_letter=dead_letter)
    station.was_under_way(station.out)


def put(station: Station, *bodies: str, journal: bool = False, dead_letter: bool = False) -> None:
    """Messages are in their queue, and no one has sent them yet."""
    station.world.send_in(
        station.out,
        *(
            letter(
                body,
                number=int(body),
                transactional=True,
                journal=journal,
                dead_letter=dead_letter,
            )
            for body in bodies
        ),
    )


def left(station: Station) -> list[str]:
    """The bodies of the messages that can be sent, or sent again."""
    station.dispatcher.take_back(station.out)
    return station.world.bodies(station.out)


def kept(station: Station) -> tuple[list[str], list[str]]:
    """What is in the journal of the manager, and what among its dead letters."""
    queues, bodies = station.core.queues, station.world.bodies
    return bodies(queues.system_journal), bodies(queues.transactional_dead_letter)


# OrderAck


def test_messages_stay_until_they_are_acknowledged_in_order(station: Station) -> None:
    """MQQB-268, MQQB-269, MQQB-274: all up to the number, whether they are under way or not."""
    send(station, "1", "2", "3", "4")
    station.pump(2)
    station.order(1, 3)
    assert left(station) == ["4"]
    assert station.world.count("delivered") == 3
    assert station.dispatcher.in_transit(station.out) == 0
    assert station.progress == [station.out]


def test_the_same_acknowledgement_changes_nothing_the_second_time(station: Station) -> None:
    """MQQB-268: nor does an older one."""
    send(station, "1", "2", "3")
    station.order(1, 2)
    station.order(1, 2)
    station.order(1, 1)
    assert left(station) == ["3"]
    assert station.world.count("delivered") == 2


def test_what_was_never_sent_stays_whatever_someone_says(station: Station) -> None:
    """MQQB-268."""
    put(station, "1", "2", "3")
    station.order(1, 3)
    assert left(station) == ["1", "2", "3"]
    station.pump(2)
    station.order(1, 3)
    assert left(station) == ["3"]


def test_after_a_restart_what_was_never_sent_stays_whatever_the_receiver_says(
    station: Station,
) -> None:
    """MQQB-268: who answered and how far it was sent is on disk, in blocks."""
    count = SENT_STEP + 500
    put(station, *(str(number) for number in range(1, count + 1)))
    station.pump(700)
    commit_all(station.core)
    again = station.restart()
    again.order(1, count)
    assert left(again) == [str(number) for number in range(SENT_STEP + 1, count + 1)]


def test_before_it_is_sent_the_block_on_disk_grows(station: Station) -> None:
    """MQQB-268: a receiver may acknowledge all that it has got, whatever happens here."""
    count = 2 * SENT_STEP + 1
    put(station, *(str(number) for number in range(1, count + 1)))
    for size, block in ((SENT_STEP, 1), (1, 2), (SENT_STEP - 1, 2), (1, 3)):
        assert len(station.pump(size)) == size
        commit_all(station.core)
        (sequence,) = station.restart().out.sequences.all
        assert sequence.sent == block * SENT_STEP
    again = station.restart()
    again.order(1, count)
    assert left(again) == []


@pytest.mark.parametrize("number", [0])
def test_a_number_that_none_can_have_changes_nothing(station: Station, number: int) -> None:
    """MQQB-260."""
    send(station, "1")
    station.received_acks.ordered(station.origin, station.identifier(1), number)
    commit_all(station.core)
    assert left(station) == ["1"]
    assert station.progress == []


def test_another_sequence_changes_nothing(station: Station) -> None:
    """MQQB-260: nor one of another store."""
    send(station, "1")
    station.order(2, 1)
    station.received_acks.ordered(station.origin, TxSequenceID(1, 5), 1)
    commit_all(station.core)
    assert left(station) == ["1"]
    assert station.world.count("order acknowledgements of unknown sequences") == 2


def restored(station: Station) -> Station:
    """The next process, on a store that was put back from a backup."""
    store = station.core.store
    store.begin().put(Table.META, RESTORING_KEY, b"")
    store.commit()
    store.refresh()
    return station.restart()


@pytest.mark.parametrize("ordinal", [2, 7, 1 + OVERTAKEN_MAX])
def test_after_a_restore_all_has_arrived_of_a_sequence_that_a_later_one_has_overtaken(
    station: Station, ordinal: int
) -> None:
    """MQQB-268: the later one was begun after the backup, when all before it had arrived."""
    send(station, "1", "2")
    again = restored(station)
    put(again, "3")
    again.order(ordinal, 1)
    assert left(again) == ["3"]
    assert len(again.out.sequences.all) == 1


def test_after_a_restore_a_later_sequence_of_the_backup_tells_the_same(station: Station) -> None:
    """It was begun when a start had come between, and the backup was taken before it was sent."""
    send(station, "1", "2")
    later = station.restart()
    put(later, "3", "4")
    assert len(later.out.sequences.all) == 2
    again = restored(later)
    again.order(2, 1)
    assert left(again) == ["3", "4"]
    assert [item.ordinal for item in again.out.sequences.all] == [2]
    again.was_under_way(again.out)
    again.order(2, 1)
    assert left(again) == ["4"]


@pytest.mark.parametrize("ordinal", [2, 7])
def test_after_a_restore_what_has_arrived_is_not_looked_for_again(
    station: Station, ordinal: int
) -> None:
    """It waits to be consumed; every later acknowledgement would be a commit for nothing."""
    send(station, "1", "2", dead_letter=True)
    later = station.restart()
    put(later, "3", dead_letter=True)
    again = restored(later)
    body = again.order_ack(ordinal, 1)
    for is_new in (True, False):
        again.received_acks.ordered(again.origin, body.tx_sequence_id, 1)
        assert again.core.wants_commit is is_new
        commit_all(again.core)
    assert left(again) == ["3"]
    assert again.out.sequences.all, "what has arrived is to be consumed yet"


def test_a_message_that_is_sent_meanwhile_has_not_arrived(
    station: Station, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It begins a sequence of its own, while the others leave, some with each commit."""
    monkeypatch.setattr(confirmations, "STEP", 1)
    send(station, "1", "2")
    again = restored(station)
    world = again.world
    transaction = world.transactions.begin()
    new = letter("3", number=3, transactional=True)
    world.done(world.enqueuer.send(again.out, [new], transaction, world.caller))
    sent = world.transactions.commit(transaction, caller=world.caller)
    again.order(7, 1)
    world.done(sent)
    assert left(again) == ["3"]


def test_only_the_receiver_itself_can_say_so(station: Station) -> None:
    """No identifier proves it that is hard to guess."""
    send(station, "1", "2")
    again = restored(station)
    again.origin.entitle(PARTNER.bytes_le, is_proven=False)
    again.order(7, 1)
    assert left(again) == ["1", "2"]


@pytest.mark.parametrize("ordinal", [0, 2 + OVERTAKEN_MAX])
def test_sequences_before_it_or_far_away_say_nothing(station: Station, ordinal: int) -> None:
    send(station, "1", "2")
    again = restored(station)
    again.order(ordinal, 1)
    assert left(again) == ["1", "2"]


def test_without_a_restore_there_is_no_later_sequence(station: Station) -> None:
    send(station, "1", "2")
    again = station.restart()
    again.order(7, 1)
    assert left(again) == ["1", "2"]


def test_each_queue_has_its_own(station: Station) -> None:
    """AMB-20."""
    send(station, "1")
    other = station.core.queues.outgoing(parse_format_name("DIRECT=OS:there\\other"))
    station.world.send_in(other, letter("2", number=2, transactional=True))
    station.was_under_way(other)
    station.order(2, 1)
    assert left(station) == ["1"]
    assert other.deleted


def test_messages_without_a_transaction_do_not_go_with_them(station: Station) -> None:
    send(station, "1")
    station.world.send(station.out, letter("9", number=9, priority=0))
    send(station, "2")
    station.order(1, 3)
    assert left(station) == ["9"]


def test_one_that_expired_before_it_was_sent_is_not_delivered(station: Station) -> None:
    """MQQB-250: the acknowledgement of a later one passes over it."""
    for body, expires in (("1", NOW + 1), ("2", NOW + 99)):
        sent = letter(body, number=int(body), transactional=True, expires=expires)
        station.world.send_in(station.out, sent)
    station.world.tick(5)
    assert places(station.pump()) == [(1, 2, 0)]
    station.order(1, 2)
    station.world.tick()
    assert (station.world.count("expired"), station.world.count("delivered")) == (1, 1)


def test_when_nothing_is_left_the_sequence_ends_and_another_begins(station: Station) -> None:
    """MQQB-271, MQQB-272."""
    station.dispatcher.pause(station.out)  # so that the queue stays
    send(station, "1", "2")
    station.order(1, 1)
    assert len(station.rows(OUTGOING)) == 1
    station.order(1, 2)
    assert not station.rows(OUTGOING)
    assert not station.out.sequences.all
    send(station, "3")
    station.dispatcher.resume(station.out)
    assert places(station.pump()) == [(2, 1, 0)]


def test_a_message_that_is_sent_meanwhile_keeps_its_sequence(station: Station) -> None:
    """MQQB-271: it was begun before the sequence could end."""
    station.dispatcher.pause(station.out)
    send(station, "1")
    world, queue = station.world, station.out
    station.received_acks.ordered(station.origin, station.identifier(1), 1)
    world.commit()  # now the sequence is to end with the next commit
    transaction = world.transactions.begin()
    world.enqueuer.send(queue, [letter("2", number=2, transactional=True)], transaction)
    operations = station.core.operations.waiting
    world.transactions.commit(transaction)
    operations.insert(0, operations.pop())  # before it
    commit_all(station.core)
    station.dispatcher.resume(queue)
    assert places(station.pump()) == [(1, 2, 1)]
    assert len(station.rows(OUTGOING)) == 1
    station.order(1, 2)
    assert not station.rows(OUTGOING)


def test_a_message_that_is_sent_right_after_begins_another(station: Station) -> None:
    """MQQB-272: in the same commit."""
    station.dispatcher.pause(station.out)
    send(station, "1")
    world, queue = station.world, station.out
    station.received_acks.ordered(station.origin, station.identifier(1), 1)
    world.commit()
    station.received_acks.ordered(station.origin, station.identifier(1), 1)
    transaction = world.transactions.begin()
    world.enqueuer.send(queue, [letter("2", number=2, transactional=True)], transaction)
    operations = station.core.operations.waiting
    assert len(operations) == 1  # it is ended once, whichever part asks
    world.transactions.commit(transaction)
    commit_all(station.core)
    station.dispatcher.resume(queue)
    assert places(station.pump()) == [(2, 1, 0)]


def test_an_old_sequence_ends_though_a_newer_one_goes_on(station: Station) -> None:
    """MQQB-272."""
    send(station, "1")
    again = station.restart()
    send(again, "2")
    again.order(1, 1)
    assert [item.ordinal for item in again.out.sequences.all] == [2]
    assert len(again.rows(OUTGOING)) == 1
    assert places(again.pump()) == [(2, 1, 0)]


def test_an_acknowledgement_does_not_reach_into_the_next_sequence(station: Station) -> None:
    """MQQB-260."""
    send(station, "1")
    again = station.restart()
    send(again, "2")
    again.order(1, 1000)
    assert left(again) == ["2"]


def test_a_sequence_that_could_not_be_ended_is_ended_later(station: Station) -> None:
    station.dispatcher.pause(station.out)
    send(station, "1")
    station.received_acks.ordered(station.origin, station.identifier(1), 1)
    station.world.commit()
    station.world.commit(StorageFailed("disk"))
    assert len(station.out.sequences.all) == len(station.rows(OUTGOING)) == 1
    send(station, "2")
    station.order(2, 1)
    assert not station.rows(OUTGOING)


def test_on_a_full_disk_a_sequence_ends_with_the_next_commit(station: Station) -> None:
    station.dispatcher.pause(station.out)
    send(station, "1")
    station.received_acks.ordered(station.origin, station.identifier(1), 1)
    station.world.commit()
    station.core.submit(lambda batch: None, lambda: None, lambda error: None, grows=True)
    station.world.commit(StorageFull("disk"))
    commit_all(station.core)
    assert not station.rows(OUTGOING)
    assert not station.out.sequences.all


def test_a_manager_that_stops_ends_no_sequence(station: Station) -> None:
    station.dispatcher.pause(station.out)
    send(station, "1")
    station.received_acks.ordered(station.origin, station.identifier(1), 1)
    station.core.is_stopping = True
    commit_all(station.core)
    assert len(station.rows(OUTGOING)) == 1


def test_many_messages_leave_step_by_step(
    station: Station, monkeypatch: pytest.MonkeyPatch
) -> None:
    """MQQB-268: none of the commits is long."""
    monkeypatch.setattr(confirmations, "STEP", 10)
    send(station, *(str(number) for number in range(1, 31)))
    station.received_acks.ordered(station.origin, station.identifier(1), 25)
    steps = 0
    while station.core.wants_commit:
        station.world.commit()
        steps += 1
    assert steps == 3
    assert len(left(station)) == 5


def test_when_the_commit_fails_they_are_sent_again(station: Station) -> None:
    """MQQB-274."""
    send(station, "1", "2")
    station.pump()
    station.received_acks.ordered(station.origin, station.identifier(1), 2)
    station.world.commit(StorageFailed("disk"))
    assert left(station) == ["1", "2"]
    station.order(1, 2)
    assert station.world.count("delivered") == 2


def test_what_is_sent_after_that_follows_the_last_one_acknowledged(station: Station) -> None:
    """MQQB-262."""
    send(station, "1", "2", "3")
    station.pump()
    station.order(1, 2)
    station.dispatcher.take_back(station.out)
    assert places(station.pump()) == [(1, 3, 2)]


def test_a_message_that_someone_is_removing_is_left_to_him(station: Station) -> None:
    send(station, "1")
    station.pump()
    pending = station.core.queue_lifecycle.purge(station.out)
    station.dispatcher.take_back(station.out)
    station.order(1, 1)
    pending.result()
    assert (station.world.count("purged"), station.world.count("delivered")) == (1, 0)


# FinalAck


@pytest.mark.parametrize("what", ["journal", "dead_letter"])
def test_some_wait_to_hear_what_became_of_them(station: Station, what: str) -> None:
    """MQQB-270, MQQB-274: they are not sent again."""
    send(station, "1", **{what: True})
    send(station, "2")
    station.pump()
    station.order(1, 2)
    assert left(station) == []
    assert station.unconfirmed == 1
    journal = station.out.journal
    assert journal is not None
    assert journal.kind is QueueKind.UNCONFIRMED
    assert kept(station) == ([], [])
    reported = [event for event, _ in station.world.reported(letter(number=1))]
    assert reported == [Event.ARRIVED, Event.REACHED]
    assert station.world.count(Event.REACHED.word) == 1


@pytest.mark.parametrize(
    ("journal", "dead_letter", "answer", "where"),
    [
        (True, False, RECEIVED, (["1"], [])),
        (True, False, REFUSED, ([], [])),
        (False, True, RECEIVED, ([], [])),
        (False, True, REFUSED, ([], ["1"])),
        (True, True, RECEIVED, (["1"], [])),
        (True, True, REFUSED, ([], ["1"])),
    ],
    ids=["JP+", "JP-", "JN+", "JN-", "both+", "both-"],
)
@pytest.mark.parametrize("is_ordered", [True, False], ids=["after", "before"])
def test_the_last_word_decides_where_a_message_is_kept(
    station: Station,
    journal: bool,
    dead_letter: bool,
    answer: MessageClass,
    where: tuple[list[str], list[str]],
    is_ordered: bool,
) -> None:
    """MQQB-275, MQQB-276: whether it comes after the OrderAck or before."""
    send(station, "1", journal=journal, dead_letter=dead_letter)
    queue = station.out
    station.pump()
    if is_ordered:
        station.order(1, 1)
    station.final(1, 1, 1, answer)
    assert kept(station) == where
    assert not station.rows(OUTGOING)
    assert queue.deleted
    word = "delivered" if answer is RECEIVED else "rejected"
    assert station.world.count(word) == 1
    if where[1]:
        (record,) = station.world.records(station.core.queues.transactional_dead_letter)
        assert record.message_class == REFUSED


def test_a_message_that_no_one_keeps_is_gone_with_its_refusal(station: Station) -> None:
    """AMB-37: it is not sent again."""
    send(station, "1", "2")
    station.pump()
    station.final(1, 1, 1, REFUSED)
    assert kept(station) == ([], [])
    assert left(station) == ["2"]
    assert places(station.pump()) == [(1, 2, 0)]
    events = [event for event, _ in station.world.reported(letter(number=1))]
    assert events == [Event.ARRIVED, Event.REJECTED]


def test_an_order_ack_that_covers_a_refused_message_comes_after_it(station: Station) -> None:
    """MQQB-284: the refused one is not counted as delivered."""
    send(station, "1", "2", dead_letter=True)
    station.pump()
    station.final(1, 1, 1, REFUSED)
    station.order(1, 2)
    assert station.unconfirmed == 1
    assert kept(station) == ([], ["1"])


def send_for(station: Station, receive: int, reach: int, *, dead_letter: bool = True) -> None:
    """A message with lifetimes is sent, and has reached its queue."""
    lives = min(receive, reach)
    sent = letter(
        "1",
        transactional=True,
        dead_letter=dead_letter,
        journal=True,
        expires=NOW + lives if lives != INFINITE else INFINITE,
        reach=reach,
        receive=receive,
    )
    station.world.send_in(station.out, sent)
    station.pump()
    station.order(1, 1)
    assert station.unconfirmed == 1


@pytest.mark.parametrize("reach", [3, 10, 900, INFINITE])
@pytest.mark.parametrize("grace", [0, 2, 60])
def test_without_a_last_word_a_message_is_given_up_some_time_after_its_own(
    station: Station, reach: int, grace: int
) -> None:
    """AMB-50: class 0xC003, whatever its time to reach the queue was."""
    station.world.done(station.core.configure(confirmation_grace=grace))
    send_for(station, 10, reach)
    station.world.tick(10 + grace)
    assert kept(station) == ([], [])
    station.world.tick(1)
    assert kept(station) == ([], ["1"])
    (record,) = station.world.records(station.core.queues.transactional_dead_letter)
    assert record.message_class == MessageClass.NACK_RECEIVE_TIMEOUT_AT_SENDER
    assert not station.rows(OUTGOING)
    happened = station.core.history.of(
        station.core.snapshot, PacketView(letter("1").packet).identifier
    )
    assert [Event(item.event) for item in happened][-2:] == [Event.EXPIRED, Event.DEAD_LETTERED]
    assert happened[-1].extra.startswith("not confirmed, may have been received")
    station.final(1, 1, 1, RECEIVED)
    assert kept(station) == ([], ["1"]), "it is too late"


def test_what_sends_hears_when_the_last_message_is_given_up(station: Station) -> None:
    """So that the sequence ends, also if a program has the queue open."""
    send_for(station, 10, 900)
    queue = station.out
    transport = FakeTransport()
    station.core.transports.add([AddressKind.BINARY], transport)
    station.world.tick(13)
    assert transport.reported == [("ready", queue)]


def test_it_is_given_up_without_a_trace_if_no_dead_letter_is_wanted(station: Station) -> None:
    send_for(station, 10, 900, dead_letter=False)
    station.world.tick(13)
    assert (station.unconfirmed, kept(station)) == (0, ([], []))
    assert station.world.count("expired") == 1


def test_one_that_may_be_received_at_any_time_waits_for_ever(station: Station) -> None:
    send_for(station, INFINITE, 10)
    station.world.tick(10**6)
    assert station.unconfirmed == 1


@pytest.mark.parametrize("jump", [-3600, 3600])
def test_a_clock_that_jumps_does_not_change_how_long_a_word_is_waited_for(
    station: Station, jump: int
) -> None:
    """Not even if it jumps between the send and the OrderAck."""
    sent = letter(transactional=True, dead_letter=True, expires=NOW + 100, reach=100, receive=200)
    station.world.send_in(station.out, sent)
    station.pump()
    station.world.tick(50, jump=jump)
    station.order(1, 1)
    station.world.tick(151)
    assert station.unconfirmed == 1
    station.world.tick(2)
    assert station.unconfirmed == 0


def test_a_class_that_no_one_knows_is_a_refusal(station: Station) -> None:
    """AMB-12."""
    send(station, "1", dead_letter=True)
    station.final(1, 1, 1, 0xE123)
    (record,) = station.world.records(station.core.queues.transactional_dead_letter)
    assert record.message_class == MessageClass.NACK_RECEIVE_REJECTED


@pytest.mark.parametrize(
    ("ordinal", "number", "message_id", "source"),
    [(2, 1, 1, ME), (1, 2, 1, ME), (1, 0, 1, ME), (1, 1, 2, ME), (1, 1, 1, PARTNER)],
    ids=["sequence", "number", "no number", "identifier", "source"],
)
def test_one_that_is_about_no_message_of_ours_changes_nothing(
    station: Station, ordinal: int, number: int, message_id: int, source: object
) -> None:
    """AMB-37, AMB-39: everything must fit."""
    send(station, "1")
    assert source in (ME, PARTNER)
    station.final(ordinal, number, message_id, REFUSED, ME if source == ME else PARTNER)
    assert left(station) == ["1"]
    assert station.world.count("final acknowledgements of unknown messages") == 1


def test_one_of_a_sequence_reaches_no_message_of_the_next(station: Station) -> None:
    """AMB-39."""
    send(station, "1")
    again = station.restart()
    send(again, "2")
    first, second = again.out.sequences.all
    first.first = second.first - 1  # so that the number fits 32 bits
    again.final(1, 2, 2, REFUSED)
    assert left(again) == ["1", "2"]


def test_without_history_it_is_all_the_same(station: Station) -> None:
    station.core.history.limit = 0
    send(station, "1", journal=True)
    station.pump()
    station.order(1, 1)
    station.final(1, 1, 1, RECEIVED)
    assert kept(station) == (["1"], [])


def test_the_second_one_changes_nothing(station: Station) -> None:
    send(station, "1", "2", dead_letter=True)
    for _ in range(2):
        station.final(1, 1, 1, REFUSED)
    assert kept(station) == ([], ["1"])


def test_two_that_come_with_one_commit_count_once(station: Station) -> None:
    send(station, "1", dead_letter=True)
    body = FinalAckBody(station.identifier(1), 1, 0, ME, 1)
    for _ in range(2):
        station.received_acks.take_express(station.origin, Ack(body, REFUSED))
    commit_all(station.core)
    assert kept(station) == ([], ["1"])
    assert station.world.count("rejected") == 1


def test_one_that_comes_with_its_order_ack_finds_the_message(station: Station) -> None:
    """MQQB-276: the message moves and goes in one commit."""
    send(station, "1", dead_letter=True)
    station.pump()
    station.received_acks.ordered(station.origin, station.identifier(1), 1)
    station.final(1, 1, 1, REFUSED)
    assert kept(station) == ([], ["1"])
    assert not station.rows(OUTGOING)


def test_what_is_waiting_for_its_last_word_waits_through_a_restart(station: Station) -> None:
    """MQQB-270, MQQB-274, MQQB-351."""
    send(station, "1", "2", journal=True)
    station.pump()
    station.order(1, 2)
    again = station.restart()
    assert again.unconfirmed == 2
    assert again.pump() == []
    again.final(1, 1, 1, RECEIVED)
    assert again.restart().unconfirmed == 1
    again.final(1, 2, 2, RECEIVED)
    assert kept(again) == (["1", "2"], [])
    last = again.restart()
    assert not last.rows(OUTGOING)
    numbers = [int.from_bytes(key[:4], "big") for key in last.world.rows(Table.QUEUES)]
    assert not [number for number in numbers if number & JOURNAL_BIT]


def test_it_waits_without_an_end(station: Station) -> None:
    """MQQB-274: how long it may travel does not matter any more."""
    sent = letter("1", transactional=True, journal=True, expires=station.world.now + 5)  # type: ignore[arg-type]  # seconds
    station.world.send_in(station.out, sent)
    station.pump()
    station.order(1, 1)
    station.world.tick(100)
    assert station.unconfirmed == 1
    assert station.world.count("expired") == 0


def test_when_the_commit_fails_the_last_word_is_lost_with_it(station: Station) -> None:
    """The receiver keeps it until we have it on disk, and says it again."""
    send(station, "1", dead_letter=True)
    station.pump()
    body = FinalAckBody(station.identifier(1), 1, 0, ME, 1)
    station.received_acks.take_express(station.origin, Ack(body, REFUSED))
    station.world.commit(StorageFailed("disk"))
    assert kept(station) == ([], [])
    assert left(station) == ["1"]
    station.final(1, 1, 1, REFUSED)
    assert kept(station) == ([], ["1"])


# As messages


def test_acknowledgements_come_as_messages_to_the_order_queue(station: Station) -> None:
    """MQQB-261: an OrderAck by itself is enough, whatever the session has acknowledged."""
    send(station, "1", "2", dead_letter=True)
    station.pump()
    order = build_order_ack(
        order_queue(ME),
        OrderAckBody(station.identifier(1), 2, 1),
        source=PARTNER,
        message_id=5,
        sent_time=0,
    )
    final = build_final_ack(
        order_queue(ME),
        FinalAckBody(station.identifier(1), 1, 0, ME, 1),
        REFUSED,
        source=PARTNER,
        message_id=6,
        sent_time=0,
    )
    assert station.take_express(order)
    assert station.unconfirmed == 2
    assert station.take(final) is None
    assert station.unconfirmed == 1
    assert kept(station) == ([], ["1"])
    assert not station.core.duplicates


def test_each_of_them_may_come_either_way(station: Station) -> None:
    """AMB-11."""
    send(station, "1")
    station.pump()
    order = build_order_ack(
        order_queue(ME),
        OrderAckBody(station.identifier(1), 1, 0),
        source=PARTNER,
        message_id=5,
        sent_time=0,
    )
    assert station.take(order) is None
    assert station.world.count("delivered") == 1


def test_those_for_another_manager_are_not_for_us(station: Station) -> None:
    send(station, "1")
    order = build_order_ack(
        order_queue(PARTNER),
        OrderAckBody(station.identifier(1), 1, 0),
        source=UUID_OF_A_THIRD,
        message_id=5,
        sent_time=0,
    )
    station.take(order)
    station.take_express(order)
    assert left(station) == ["1"]


UUID_OF_A_THIRD = PacketView(parcel()).source_queue_manager


# Who may acknowledge


STRANGER = UUID(int=1234)


def stranger(peer: UUID = STRANGER, *, is_proven: bool = True, is_relay: bool = False) -> Origin:
    """A session of another manager than the one the messages were sent to."""
    origin = Origin("198.51.100.1", "stranger")
    origin.entitle(peer.bytes_le, is_proven=is_proven, is_relay=is_relay)
    return origin


def test_a_stranger_s_order_ack_removes_nothing(station: Station) -> None:
    """MQQB-268: what was never delivered must not be lost."""
    put(station, "1", "2", "3")
    station.pump()
    station.order(1, 3, stranger())
    assert left(station) == ["1", "2", "3"]
    assert station.progress == []
    assert station.world.count(FORGED) == 1
    again = station.restart()
    again.order(1, 3, stranger())
    assert left(again) == ["1", "2", "3"]


def test_a_stranger_s_final_ack_makes_no_dead_letter(station: Station) -> None:
    """MQQB-276."""
    put(station, "1", dead_letter=True)
    station.pump()
    commit_all(station.core)
    station.final(1, 1, 1, REFUSED, origin=stranger())
    assert kept(station) == ([], [])
    assert left(station) == ["1"]
    assert station.world.count(FORGED) == 1
    assert not station.rows(PARKED)


@pytest.mark.parametrize("address", ["192.0.2.9", "198.51.100.1"])
@pytest.mark.parametrize("is_proven", [True, False])
def test_the_manager_that_answered_may_acknowledge_from_wherever_it_is(
    station: Station, address: str, is_proven: bool
) -> None:
    """MQQB-268, MQQB-276: the identifier of the sequence, which cannot be guessed, is the proof."""
    put(station, "1", "2", dead_letter=True)
    station.pump()
    origin = Origin(address, "partner")
    origin.entitle(PARTNER.bytes_le, is_proven=is_proven)
    station.order(1, 2, origin)
    station.final(1, 1, 1, REFUSED, origin=origin)
    assert station.unconfirmed == 1
    assert kept(station) == ([], ["1"])


@pytest.mark.parametrize("is_proven", [True, False])
def test_where_peers_are_pinned_it_must_prove_who_it_is(station: Station, is_proven: bool) -> None:
    put(station, "1")
    station.pump()
    station.core.peers.configure(Identity.PINNED, {})
    station.order(1, 1, stranger(PARTNER, is_proven=is_proven))
    assert station.world.count("delivered") == is_proven


def test_a_relay_may_acknowledge(station: Station) -> None:
    """It hears from those that it passes messages on to."""
    put(station, "1", "2")
    station.pump()
    station.order(1, 2, stranger(is_relay=True))
    assert station.world.count("delivered") == 2


def test_all_managers_that_answered_may_acknowledge(station: Station) -> None:
    """What is at a name may change, and either has got the messages."""
    put(station, "1", "2")
    station.pump(1)
    station.dispatcher.take_back(station.out)
    station.dispatcher.take(station.out, 2, 1 << 20, STRANGER)
    commit_all(station.core)
    again = station.restart()
    again.order(1, 1)
    again.order(1, 2, stranger())
    assert left(again) == []
    assert again.world.count(FORGED) == 0


def test_the_manager_that_messages_are_addressed_to_may_acknowledge(station: Station) -> None:
    """The one who took them on their way there."""
    name = parse_format_name(f"PRIVATE={PARTNER}\\00000009")
    queue = station.core.queues.outgoing(name)
    station.world.send_in(queue, *(letter(str(n), number=n, transactional=True) for n in (1, 2)))
    station.dispatcher.take(queue, 9, 1 << 20, UUID(int=55))
    (sequence,) = queue.sequences.all
    for origin, gone in ((stranger(), 0), (station.origin, 2)):
        station.received_acks.ordered(origin, sequence.identifier, 2)
        commit_all(station.core)
        assert station.world.count("delivered") == gone


@pytest.mark.parametrize(
    "identifier",
    [
        TxSequenceID(1, NOW + 1),
        TxSequenceID(1, NOW - 1),
        TxSequenceID(2, NOW),
        TxSequenceID(0, NOW),
    ],
)
def test_both_parts_of_the_identifier_must_fit(station: Station, identifier: TxSequenceID) -> None:
    """MQQB-260, MQQB-276."""
    put(station, "1", dead_letter=True)
    station.pump()
    station.received_acks.ordered(station.origin, identifier, 1)
    body = FinalAckBody(identifier, 1, 0, ME, 1)
    station.received_acks.take_express(station.origin, Ack(body, REFUSED))
    commit_all(station.core)
    assert left(station) == ["1"]
    assert kept(station) == ([], [])


# Sequences of an older store


def of_old(station: Station) -> Station:
    """The same after a migration from a store that did not know who answered."""
    commit_all(station.core)
    for sequence in station.out.sequences.all:
        sequence.peers, sequence.sent = (), U32_MAX
        station.core.submit(
            lambda batch, sequence=sequence: sequence.write(batch.writer),  # type: ignore[misc] # a default keeps it
            lambda: None,
            lambda error: None,
        )
    commit_all(station.core)
    return station.restart()


def test_without_knowing_who_answered_no_order_ack_counts(station: Station) -> None:
    """The receiver says it again when the destination was dialled."""
    put(station, "1", "2")
    old = of_old(station)
    old.order(1, 2)
    assert left(old) == ["1", "2"]
    assert len(old.pump(1)) == 1
    commit_all(old.core)
    old.order(1, 2)
    assert left(old) == []


def test_a_final_ack_waits_on_disk_until_the_destination_was_dialled(station: Station) -> None:
    """MQQB-276: it comes once. Only what the manager says that answers then counts."""
    put(station, "1", "2", dead_letter=True)
    old = of_old(station)
    old.final(1, 1, 1, REFUSED)
    old.final(1, 2, 2, REFUSED, origin=stranger())
    assert old.asked == [old.out, old.out]
    assert kept(old) == ([], [])
    assert len(old.rows(PARKED)) == 2
    again = old.restart()
    again.pump()
    commit_all(again.core)
    assert kept(again) == ([], ["1"])
    assert left(again) == ["2"]
    again.dispatcher.take(again.out, 9, 1 << 20, STRANGER)
    again.received_acks.sent(again.out, STRANGER)
    commit_all(again.core)
    assert kept(again) == ([], ["1", "2"])
    assert not again.rows(PARKED)


@pytest.mark.parametrize("is_proven", [True, False])
def test_where_peers_are_pinned_only_a_proven_one_waits(station: Station, is_proven: bool) -> None:
    """Else it would count as the word of the manager whose GUID its session has claimed."""
    put(station, "1", dead_letter=True)
    old = of_old(station)
    old.core.peers.configure(Identity.PINNED, {})
    old.final(1, 1, 1, REFUSED, origin=stranger(PARTNER, is_proven=is_proven))
    assert len(old.rows(PARKED)) == is_proven
    old.pump()
    commit_all(old.core)
    assert kept(old) == ([], ["1"] * is_proven)


def test_final_acks_that_wait_are_bounded(
    station: Station, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(received_acks, "PARKED_MAX", 3)
    put(station, "1")
    old = of_old(station)
    for number in range(1, 10):
        claimant = Origin("198.51.100.7", "claimant", UUID(int=number).bytes_le)
        old.final(1, 1, 1, REFUSED, origin=claimant)
    assert len(old.rows(PARKED)) == 3
    assert old.world.count(FORGED) == 6


def test_a_final_ack_about_no_message_does_not_wait(station: Station) -> None:
    """Numbers of an old stream can be guessed."""
    put(station, "1")
    old = of_old(station)
    for number, message in ((2, 2), (1, 2), (9, 1)):
        old.final(1, number, message, REFUSED, origin=stranger())
    assert not old.rows(PARKED)
    assert old.world.count(FORGED) == 3


def test_final_acks_that_wait_go_with_their_sequence(station: Station) -> None:
    """Those of others than the manager that answered are about nothing then."""
    put(station, "1")
    old = of_old(station)
    old.final(1, 1, 1, REFUSED, origin=stranger())
    assert len(old.rows(PARKED)) == 1
    old.pump()
    commit_all(old.core)
    old.order(1, 1)
    assert not old.out.sequences.all
    assert not old.rows(PARKED)


def test_a_final_ack_that_waits_can_be_read(station: Station) -> None:
    put(station, "1")
    old = of_old(station)
    old.final(1, 1, 1, REFUSED)
    ((key, row),) = old.rows(PARKED).items()
    assert FinalAckBody.unpack(read_parked(key, row).body) == FinalAckBody(
        old.identifier(1), 1, 0, ME, 1
    )
