"""The life of a message in words."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from tests.unit.engine import handles
from tests.unit.engine.office import Manager
from tests.unit.engine.station import parcel
from tests.unit.engine.world import ME, NOW, OWNER, commit_all

from openmsmq.engine.arrivals.arrival import Origin
from openmsmq.engine.arrivals.arrivals import Arrivals
from openmsmq.engine.explanation import _TEXTS, parse_id, queue_history
from openmsmq.engine.outgoing.confirmations import Confirmations
from openmsmq.engine.queues.queue import ManagedQueue, journal_of
from openmsmq.engine.storage.history import Event
from openmsmq.errors import InvalidParameter, QueueNotFound
from openmsmq.names.format import parse_format_name
from openmsmq.packet.acks import FinalAckBody
from openmsmq.packet.headers.transaction import TxSequenceID
from openmsmq.packet.view import PacketView
from openmsmq.properties.message import Acknowledge, MessageClass
from openmsmq.transports.mqqb.received_acks import FORGED, Ack, ReceivedAcks
from openmsmq.types.access import Mode
from openmsmq.types.caller import Caller
from openmsmq.types.history import HistoryEvent
from openmsmq.types.message import Message

THEN = datetime.fromtimestamp(NOW, UTC)
ORDERS = ".\\private$\\orders"


@pytest.fixture
def manager() -> Manager:
    return Manager()


@pytest.fixture
def orders(manager: Manager) -> ManagedQueue:
    return manager.create()


def texts(manager: Manager, message_id: str) -> list[str]:
    return [event.text for event in manager.local.explain(message_id)]


def events(manager: Manager, message_id: str) -> list[str]:
    return [event.event for event in manager.local.explain(message_id)]


def test_what_happened_is_reported_with_time_place_and_doer(
    manager: Manager, orders: ManagedQueue
) -> None:
    (sent,) = manager.send(orders, Message(b"x"))
    (found,) = manager.peek(orders)
    manager.tick(60)
    manager.caller = Caller("you")
    manager.receive(orders)
    assert manager.local.explain(sent) == [
        HistoryEvent(THEN, "arrived", ORDERS, f"arrived in {ORDERS}", found.lookup_id, "me"),
        HistoryEvent(
            THEN + timedelta(seconds=60),
            "received",
            ORDERS,
            f"was received from {ORDERS}",
            found.lookup_id,
            "you",
        ),
    ]
    assert found.id == sent


def test_of_an_unknown_message_nothing_is_known(manager: Manager) -> None:
    assert manager.local.explain(f"{manager.local.identity}\\99") == []


def test_an_identifier_may_be_written_with_braces(manager: Manager, orders: ManagedQueue) -> None:
    (sent,) = manager.send(orders, Message(b"x"))
    guid, number = sent.split("\\")
    for spelled in (f" {{{guid.upper()}}}\\{number} ", sent):
        assert events(manager, spelled) == ["arrived"]


@pytest.mark.parametrize(
    "wrong",
    [
        "",
        "nonsense",
        "12345678-1234-4234-8234-123456789abc",
        "12345678-1234-4234-8234-123456789abc\\",
        "12345678-1234-4234-8234-123456789abc\\x",
        "12345678-1234-4234-8234-123456789abc\\-1",
        "12345678-1234-4234-8234-123456789abc\\4294967296",
        "1234\\1",
    ],
)
def test_what_is_no_identifier_is_refused(wrong: str) -> None:
    with pytest.raises(InvalidParameter, match=r"guid\\number"):
        parse_id(wrong)


def test_an_express_message_is_reported_as_such(manager: Manager, orders: ManagedQueue) -> None:
    """With the time at which it came, though nothing was written then."""
    (sent,) = manager.send(orders, Message(b"x", recoverable=False))
    manager.tick(60)
    (event,) = manager.local.explain(sent)
    assert event.text == f"arrived in {ORDERS}, as an express message: in memory only"
    assert event.time == THEN


def test_the_whole_life_of_a_message_is_reported(manager: Manager) -> None:
    queue = manager.create(transactional=True, journal=True)
    (sent,) = manager.send_in(queue, Message(b"x"))
    for _ in range(2):
        transaction = manager.local.begin()
        manager.receive(queue, transaction)
        manager.done(manager.local.abort(transaction))
    lookup = manager.peek(queue)[0].lookup_id
    manager.done(handles.move(manager.local, queue, lookup, "retry", None))
    retry = manager.open(ORDERS + ";retry")
    transaction = manager.local.begin()
    manager.receive(retry, transaction)
    manager.done(manager.local.commit(transaction))
    manager.receive(journal_of(queue))
    journal = ORDERS + "\\Journal$"
    back = f"is back in {ORDERS}: the transaction that had taken it was aborted"
    assert texts(manager, sent) == [
        f"arrived in {ORDERS}",
        f"{back} (once so far)",
        f"{back} (2 times so far)",
        f"was moved from {ORDERS} to {ORDERS};retry",
        f"was received from {ORDERS};retry",
        f"a copy went to the journal {journal}",
        f"was received from {journal}",
    ]


def test_how_it_failed_is_reported(manager: Manager, orders: ManagedQueue) -> None:
    (sent,) = manager.send(orders, Message(b"x", dead_letter=True, time_to_be_received=5))
    manager.tick(10)
    assert texts(manager, sent)[1:] == [
        f"expired in {ORDERS}: the message was not received in time",
        "went to .\\DeadLetter$ as a dead letter: the message was not received in time",
    ]


def test_discarded_copies_are_reported(manager: Manager, orders: ManagedQueue) -> None:
    manager.done(manager.local.configure(journal_quota=0))
    (sent,) = manager.send(orders, Message(b"x", journal=True))
    assert texts(manager, sent)[-1] == "a copy for .\\Journal$ was discarded: the journal is full"


def test_a_purge_and_a_delete_are_reported(manager: Manager, orders: ManagedQueue) -> None:
    (purged,) = manager.send(orders, Message(b"1"))
    manager.done(manager.local.queue_lifecycle.purge(orders))
    (deleted,) = manager.send(orders, Message(b"2"))
    manager.done(manager.local.queue_lifecycle.delete(orders))
    assert events(manager, purged) == ["arrived", "purged"]
    found = manager.local.explain(deleted)
    assert [event.text for event in found] == [
        f"arrived in {ORDERS}",
        f"was removed when {ORDERS} was deleted",
    ]
    assert {event.queue for event in found} == {ORDERS}


def test_queues_that_are_gone_keep_their_names(manager: Manager, orders: ManagedQueue) -> None:
    (sent,) = manager.send(orders, Message(b"1"))
    manager.receive(orders)
    before = texts(manager, sent)
    manager.done(manager.local.queue_lifecycle.delete(orders))
    assert texts(manager, sent) == before == [f"arrived in {ORDERS}", f"was received from {ORDERS}"]


def test_a_receive_that_was_undone_is_reported(manager: Manager, orders: ManagedQueue) -> None:
    (sent,) = manager.send(orders, Message(b"x"))
    pending = manager.local.receiver.receive(orders, 1, OWNER, wait=False)
    manager.local.receiver.put_back(orders, manager.done(pending))
    manager.tick()
    assert texts(manager, sent)[-1] == (
        f"is back in {ORDERS}: its receiver disconnected before the answer"
    )


@pytest.mark.parametrize("recoverable", [True, False])
def test_what_is_on_its_way_is_reported(manager: Manager, recoverable: bool) -> None:
    name = "DIRECT=OS:other\\private$\\q"
    outgoing = manager.open(name)
    (sent,) = manager.send(outgoing, Message(b"x", recoverable=recoverable, dead_letter=True))
    assert texts(manager, sent) == [f"waits to be sent to {name}"]
    manager.tick(0x54600 + 5)
    assert texts(manager, sent)[1:] == [
        f"expired in {name}: the message did not reach its queue in time",
        "went to .\\DeadLetter$ as a dead letter: the message did not reach its queue in time",
    ]


@pytest.mark.parametrize("recoverable", [True, False])
def test_an_outgoing_queue_that_is_empty_has_its_name_in_the_history(
    manager: Manager, recoverable: bool
) -> None:
    """It comes and goes by itself; no one has deleted it."""
    name = "DIRECT=OS:other\\private$\\q"
    core = manager.local
    outgoing = core.queues.outgoing(parse_format_name(name))
    message = Message(b"x", recoverable=recoverable, time_to_reach_queue=5)
    (sent,) = manager.send(outgoing, message)
    manager.tick(10)
    manager.done(manager.local.configure(history=32))
    core.queues.tidy()
    assert core.queues.get(outgoing.number) is None
    found = manager.local.explain(sent)
    assert [event.text for event in found] == [
        f"waits to be sent to {name}",
        f"expired in {name}: the message did not reach its queue in time",
    ]
    assert {event.queue for event in found} == {name}


def test_a_delivery_elsewhere_is_reported(manager: Manager) -> None:
    name = "DIRECT=OS:other\\private$\\q"
    dispatcher = manager.local.dispatcher
    outgoing = manager.open(name)
    (sent,) = manager.send(outgoing, Message(b"x"))
    manager.done(dispatcher.delivered(outgoing, dispatcher.take(outgoing, 1, 1, ME)))
    handed = f"was handed over to the queue manager of {name}, which may still refuse it"
    assert texts(manager, sent)[-1] == handed


@pytest.mark.parametrize("comes_first", [True, False], ids=["before it is taken", "later"])
def test_only_the_manager_that_has_a_message_can_say_that_it_refused_it(
    manager: Manager, comes_first: bool
) -> None:
    core, dispatcher = manager.local, manager.local.dispatcher
    outgoing = manager.open("DIRECT=OS:other\\private$\\q")
    (sent,) = manager.send(outgoing, Message(b"x"))
    acks = ReceivedAcks(core, Confirmations(core), lambda queue: None, lambda queue: None)
    number = int(sent.partition("\\")[2])

    def refuse(who: str, source: UUID = core.identity) -> None:
        origin = Origin("192.0.2.9", "other", ME.bytes_le)
        origin.certified = who
        body = FinalAckBody(TxSequenceID(0, 0), 0, 0, source, number)
        acks.take(origin, [Ack(body, MessageClass.NACK_ACCESS_DENIED)], lambda error: None)
        commit_all(core)

    if comes_first:
        refuse("manager:other")
    manager.done(
        dispatcher.delivered(outgoing, dispatcher.take(outgoing, 1, 1, ME), "manager:other")
    )
    refuse("manager:third")
    refuse("")
    refuse("manager:other", UUID(int=7))
    if not comes_first:
        assert events(manager, sent)[-1] == "handed_over"
        refuse("manager:other")
    (refused,) = (one for one in core.explain(sent) if one.event == "refused_there")
    assert refused == core.explain(sent)[-1]
    assert (
        refused.text
        == "was refused by manager:other: the sender may not write to the destination queue"
    )
    assert refused.by == "manager:other"
    assert core.statistics.counts[FORGED] == 2


@pytest.mark.parametrize(
    ("answer", "reported"),
    [
        (MessageClass.ACK_RECEIVE, "was delivered to {}"),
        (MessageClass.NACK_Q_PURGED, "was not accepted: the queue was purged before the message "),
    ],
    ids=["received", "purged"],
)
def test_what_became_of_a_transactional_message_elsewhere_is_reported(
    manager: Manager, answer: MessageClass, reported: str
) -> None:
    name = "DIRECT=OS:other\\private$\\q"
    core = manager.local
    outgoing = manager.open(name)
    (sent,) = manager.send_in(outgoing, Message(b"x", journal=True))
    manager.local.dispatcher.take(outgoing, 1, 1, ME)
    acks = ReceivedAcks(core, Confirmations(core), lambda queue: None, lambda queue: None)
    sequence = outgoing.sequences.all[0].identifier
    origin = Origin("192.0.2.9", "other", ME.bytes_le)
    acks.ordered(origin, sequence, 1)
    manager.tick()
    reached = f"reached {name}; waiting for the receive acknowledgement"
    assert texts(manager, sent)[-1] == reached
    number = int(sent.partition("\\")[2])
    body = FinalAckBody(sequence, 1, 0, core.identity, number)
    acks.take_express(origin, Ack(body, answer))
    manager.tick()
    happened = [event for event in manager.local.explain(sent) if event.event != "journaled"]
    assert happened[-1].text.startswith(reported.format(name))
    assert happened[-1].queue == name


def test_that_a_message_from_elsewhere_was_not_accepted_is_reported(manager: Manager) -> None:
    core = manager.local
    packet = parcel("1", to="DIRECT=OS:localhost\\none")
    Arrivals(core).take(Origin("192.0.2.9", "x"), [(packet, None)], lambda outcome: None)
    manager.tick()
    event, kept = manager.local.explain(PacketView(packet).id)
    assert kept.text.startswith(r"is kept in .\Refused$: the destination queue cannot be reached")
    assert (
        event.text == "was not accepted: the destination queue cannot be reached or does not exist"
    )
    assert (event.event, event.queue, event.by) == ("rejected", "", "x")


# Express messages that a restart has ended


def test_an_express_message_that_a_restart_ended_is_reported_as_lost(
    manager: Manager, orders: ManagedQueue
) -> None:
    (sent,) = manager.send(orders, Message(b"x", recoverable=False))
    manager.stop()
    again = manager.restart(100).restart(100)
    *_, lost = again.local.explain(sent)
    assert (lost.event, lost.queue, lost.by) == ("lost", ORDERS, "")
    assert lost.text == (
        "was lost: it was an express message, and the manager was stopped and started"
    )
    assert lost.time == THEN + timedelta(seconds=100)


def test_a_restart_in_the_same_second_ends_it_too(manager: Manager, orders: ManagedQueue) -> None:
    (sent,) = manager.send(orders, Message(b"x", recoverable=False))
    manager.stop()
    again = manager.restart()
    *_, lost = again.local.explain(sent)
    assert (lost.event, lost.time) == ("lost", THEN)


@pytest.mark.parametrize("how", ["received", "purged", "expired", "moved", "deleted"])
def test_one_that_had_ended_before_is_not_lost(
    manager: Manager, orders: ManagedQueue, how: str
) -> None:
    message = Message(b"x", recoverable=False, time_to_be_received=5)
    (sent,) = manager.send(orders, message)
    (found,) = manager.peek(orders)
    match how:
        case "received":
            manager.receive(orders)
        case "purged":
            manager.done(manager.local.queue_lifecycle.purge(orders))
        case "expired":
            manager.tick(10)
        case "moved":
            manager.done(handles.move(manager.local, orders, found.lookup_id, "retry", None))
            manager.receive(manager.open(ORDERS + ";retry"))
        case "deleted":
            manager.done(manager.local.queue_lifecycle.delete(orders))
    manager.stop()
    assert "lost" not in events(manager.restart(100), sent)


@pytest.mark.parametrize("how", ["moved", "put back"])
def test_one_that_was_elsewhere_is_lost_there(
    manager: Manager, orders: ManagedQueue, how: str
) -> None:
    (sent,) = manager.send(orders, Message(b"x", recoverable=False))
    (found,) = manager.peek(orders)
    if how == "moved":
        manager.done(handles.move(manager.local, orders, found.lookup_id, "retry", None))
    else:
        pending = manager.local.receiver.receive(orders, 1, OWNER, wait=False)
        manager.local.receiver.put_back(orders, manager.done(pending))
    assert "lost" not in events(manager, sent)
    manager.stop()
    again = manager.restart(100)
    assert events(again, sent)[-1] == "lost"
    assert again.local.explain(sent)[-1].queue == ("" if how == "moved" else ORDERS)


def test_one_that_is_still_there_is_not_lost(manager: Manager, orders: ManagedQueue) -> None:
    """Though the process began in the same second."""
    (sent,) = manager.send(orders, Message(b"x", recoverable=False))
    assert events(manager, sent) == ["arrived_express"]


def test_without_a_start_since_it_is_not_called_lost(
    manager: Manager, orders: ManagedQueue
) -> None:
    """Its history was switched off meanwhile."""
    manager.tick(60)
    (sent,) = manager.send(orders, Message(b"x", recoverable=False))
    manager.done(manager.local.configure(history=0))
    manager.receive(orders)
    assert events(manager, sent) == ["arrived_express"]


def test_reports_about_a_message_are_not_its_own_history(
    manager: Manager, orders: ManagedQueue
) -> None:
    manager.create("admin")
    message = Message(b"x", acknowledge=Acknowledge.FULL_RECEIVE, admin_queue="admin")
    (sent,) = manager.send(orders, message)
    manager.receive(orders)
    (report,) = manager.peek(manager.local.find_queue("admin"))
    assert events(manager, sent) == ["arrived", "received"]
    assert events(manager, report.id) == ["arrived"]


def test_every_event_that_is_kept_has_its_words() -> None:
    """Acknowledgements have none: their history is that of a message of their own; nor queues."""
    assert set(Event) - _TEXTS.keys() == {Event.ACKNOWLEDGED, Event.QUEUE_GONE}


def history(manager: Manager, name: str, count: int = 50) -> list[tuple[str, int, str, str]]:
    found = queue_history(manager.local, name, 0, count)
    return [(one.event, one.count, one.text, one.by) for one in found.events]


def test_what_happened_in_a_queue_is_put_in_words(manager: Manager, orders: ManagedQueue) -> None:
    sent = manager.send(orders, Message(b"1"), Message(b"2"))
    (first, second) = manager.peek(orders)
    manager.caller = Caller("you")
    manager.receive(orders)
    assert history(manager, "orders") == [
        ("received", 1, f"was received from {ORDERS}", "you"),
        ("arrived", 2, f"arrived in {ORDERS}", "me"),
    ]
    (last,) = queue_history(manager.local, ORDERS, 0, 1).events
    assert (last.message_id, last.lookup_id, last.time) == (sent[0], first.lookup_id, THEN)
    assert history(manager, ".\\DeadLetter$") == []
    with pytest.raises(QueueNotFound):
        queue_history(manager.local, "nothing", 0, 1)
    with pytest.raises(QueueNotFound):
        queue_history(manager.local, "DIRECT=OS:other\\private$\\orders", 0, 1)
    assert second.lookup_id > first.lookup_id


def test_several_messages_have_the_plural(manager: Manager, orders: ManagedQueue) -> None:
    manager.send(orders, *[Message(b"1")] * 3)
    manager.done(manager.local.open_queue(ORDERS, Mode(), manager.caller).purge())
    assert history(manager, "orders", 1) == [
        ("purged", 3, f"were removed when {ORDERS} was purged", "me")
    ]


def test_an_outgoing_queue_has_a_history(manager: Manager) -> None:
    name = "DIRECT=OS:other\\private$\\orders"
    manager.send(manager.open(name), Message(b"1"))
    ((event, count, text, _),) = history(manager, name)
    assert (event, count, text) == ("arrived", 1, f"waits to be sent to {name}")
