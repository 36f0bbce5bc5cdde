"""Open queues: who opened them, what may be done with them, and what they hold."""

from __future__ import annotations

import pytest
from tests.unit.engine.office import Manager

from openmsmq.engine.handle import QueueHandle
from openmsmq.errors import (
    AccessDenied,
    InvalidHandle,
    InvalidParameter,
    MessageNotFound,
    OperationCancelled,
    TransactionSequence,
)
from openmsmq.types.access import Access, Mode
from openmsmq.types.caller import Caller, Grant
from openmsmq.types.message import Message
from openmsmq.types.read import Seek


@pytest.fixture
def manager() -> Manager:
    return Manager()


@pytest.fixture
def opened(manager: Manager) -> QueueHandle:
    """A queue with three messages."""
    manager.create()
    found = open_queue(manager)
    manager.done(found.send([Message(body) for body in (b"a", b"b", b"c")]))
    return found


def open_queue(manager: Manager, access: Access = Access.ALL, name: str = "you") -> QueueHandle:
    """A handle of someone."""
    return manager.local.open_queue("orders", Mode(access), Caller(name))


def held(manager: Manager, opened: QueueHandle, count: int) -> list[int]:
    """Messages that a handle holds now."""
    return [one.lookup for one in manager.done(opened.receive(count, wait=False, hold=True))]


def test_the_history_names_the_owner_of_the_handle(manager: Manager) -> None:
    manager.create()
    sender, reader = open_queue(manager, name="sender"), open_queue(manager, name="reader")
    (sent,) = manager.done(sender.send([Message(b"a")]))
    waiting = reader.receive(2, wait=True)
    manager.done(waiting)
    assert [event.by for event in manager.local.explain(sent)] == ["sender", "reader"]


def test_a_read_that_waited_is_credited_to_its_owner_not_to_the_sender(manager: Manager) -> None:
    manager.create()
    sender, reader = open_queue(manager, name="sender"), open_queue(manager, name="reader")
    waiting = reader.receive(1, wait=True)
    (sent,) = manager.done(sender.send([Message(b"a")]))
    manager.done(waiting)
    assert [event.by for event in manager.local.explain(sent)] == ["sender", "reader"]


def test_a_handle_is_for_what_it_was_opened_for(manager: Manager, opened: QueueHandle) -> None:
    sends, peeks = open_queue(manager, Access.SEND), open_queue(manager, Access.PEEK)
    cursor = peeks.open_cursor()
    for refused in (
        lambda: sends.peek(1, wait=False),
        lambda: sends.receive(1, wait=False),
        lambda: sends.peek_at(0, Seek.FIRST),
        lambda: sends.open_cursor(),
        lambda: sends.move(1, "retry", None),
        lambda: sends.purge(),
        lambda: peeks.send([Message(b"x")]),
        lambda: peeks.send_packets([b""]),
        lambda: peeks.receive_at(0, Seek.FIRST),
        lambda: peeks.receive_cursor(cursor, wait=False),
    ):
        with pytest.raises(AccessDenied):
            refused()
    assert manager.bodies(opened.queue) == [b"a", b"b", b"c"]


def test_what_is_held_can_be_removed_or_returned(manager: Manager, opened: QueueHandle) -> None:
    first, second = held(manager, opened, 2)
    assert manager.bodies(opened.queue) == [b"c"]
    manager.done(opened.end([first], remove=True))
    manager.done(opened.end([second], remove=False))
    assert manager.bodies(opened.queue) == [b"b", b"c"]
    assert not opened.queue.holds


def test_what_is_held_can_be_removed_with_a_transaction(manager: Manager) -> None:
    manager.create(transactional=True)
    opened = open_queue(manager)
    manager.send_in(opened.queue, Message(b"a"), Message(b"b"))
    first, second = held(manager, opened, 2)
    transaction = manager.local.begin()
    manager.done(opened.end([first], remove=True, transaction=transaction))
    assert opened.queue.holds.holder_of(first) is transaction
    manager.done(opened.end([second], remove=False, transaction=transaction))
    manager.done(manager.local.commit(transaction))
    assert manager.bodies(opened.queue) == [b"b"]


def test_only_the_handle_that_holds_a_message_ends_it(
    manager: Manager, opened: QueueHandle
) -> None:
    other = open_queue(manager)
    (lookup,) = held(manager, opened, 1)
    with pytest.raises(TransactionSequence, match=f"message {lookup} is not held by this handle"):
        other.end([lookup], remove=True)
    with pytest.raises(InvalidParameter, match="ended only once"):
        opened.end([lookup, lookup], remove=True)
    assert opened.queue.holds.holder_of(lookup) is opened


def test_to_close_a_handle_returns_what_it_holds_and_cancels_its_reads(
    manager: Manager, opened: QueueHandle
) -> None:
    other = open_queue(manager)
    held(manager, opened, 2)
    (kept,) = held(manager, other, 1)
    waiting, others = opened.receive(1, wait=True), other.peek(1, wait=True, after=kept)
    opened.close()
    opened.close()
    assert isinstance(waiting.error, OperationCancelled)
    assert not others.done
    assert manager.bodies(opened.queue) == [b"a", b"b"]
    assert list(opened.queue.holds) == [kept]
    assert opened.queue.modes == [other.mode]


def test_a_message_can_be_taken_by_its_lookup_identifier(
    manager: Manager, opened: QueueHandle
) -> None:
    (last,) = manager.done(opened.peek_at(0, Seek.LAST))
    (found,) = manager.done(opened.receive_at(last.lookup, Seek.CURRENT, hold=True))
    assert opened.queue.holds.holder_of(found.lookup) is opened
    manager.done(opened.end([found.lookup], remove=True))
    with pytest.raises(MessageNotFound):
        opened.receive_at(last.lookup, Seek.CURRENT)


def test_a_cursor_is_used_with_its_own_handle(manager: Manager, opened: QueueHandle) -> None:
    other, cursor = open_queue(manager), opened.open_cursor()
    (first,) = manager.done(opened.peek_cursor(cursor, wait=False, following=False))
    (taken,) = manager.done(opened.receive_cursor(cursor, wait=False))
    assert taken.lookup == first.lookup
    with pytest.raises(InvalidHandle, match="belongs to another handle"):
        other.peek_cursor(cursor, wait=False, following=False)
    opened.close_cursor(cursor)
    with pytest.raises(InvalidHandle, match="cursor is closed"):
        opened.receive_cursor(cursor, wait=False)


def test_a_read_that_waits_can_be_cancelled(manager: Manager) -> None:
    manager.create()
    opened = open_queue(manager)
    waiting = opened.receive(1, wait=True)
    assert opened.cancel(waiting, OperationCancelled("enough"))
    assert not opened.cancel(waiting, OperationCancelled("enough"))
    assert isinstance(waiting.error, OperationCancelled)


def test_an_outgoing_queue_is_purged_by_administrators(manager: Manager) -> None:
    name = "DIRECT=OS:other\\private$\\q"
    sender = Caller("sender", Grant("send"))
    opened = manager.local.open_queue(name, Mode(), sender)
    manager.done(opened.send([Message(b"a")]))
    with pytest.raises(AccessDenied, match="the role send does not allow 'admin' on DIRECT=OS"):
        opened.purge()
    again = manager.local.open_queue(name, Mode(), Caller("boss"))
    assert manager.done(again.purge()) == 1


def test_a_handle_tells_about_its_queue(manager: Manager, opened: QueueHandle) -> None:
    assert opened.info().messages == 3
    assert opened.info().name == opened.name == r".\private$\orders"
    manager.done(opened.purge())
    assert opened.info().messages == 0


def test_a_message_moves_to_a_subqueue_and_back(manager: Manager, opened: QueueHandle) -> None:
    first = manager.peek(opened.queue)[0].lookup_id
    manager.done(opened.move(first, "retry", None))
    retry = manager.local.open_queue("orders;retry", Mode())
    assert manager.bodies(retry.queue) == [b"a"]
    manager.done(retry.move(first, "", None))
    assert manager.bodies(opened.queue) == [b"a", b"b", b"c"]


def test_the_last_messages_come_first_if_a_queue_is_read_from_its_end(
    manager: Manager, opened: QueueHandle
) -> None:
    lookups = [one.lookup_id for one in manager.peek(opened.queue)]
    found = manager.done(opened.peek_back(2, lookups[2]))
    assert [one.lookup for one in found] == lookups[1::-1]
    with pytest.raises(MessageNotFound, match="no message before"):
        opened.peek_back(1, lookups[0])


def test_messages_are_received_as_they_are_stored(manager: Manager, opened: QueueHandle) -> None:
    """As rows, or as slices of runs."""
    assert manager.done(opened.receive_parts(9, wait=False))
    assert manager.bodies(opened.queue) == []


def test_who_may_not_see_a_queue_learns_nothing_of_it(manager: Manager) -> None:
    manager.create()
    opened = open_queue(manager, Access.SEND)
    assert opened.info().name == r".\private$\orders"
    manager.done(manager.local.set_permissions(opened.queue, "O:BAG:BAD:(A;;0x4;;;WD)"))
    with pytest.raises(AccessDenied, match="get-properties"):
        opened.info()


def test_an_open_queue_is_used_as_its_permissions_allow_now(manager: Manager) -> None:
    queue = manager.create()
    user = Caller("user", Grant("read+send", user="user"))
    opened = manager.local.open_queue("orders", Mode(Access.ALL), user)
    manager.done(opened.send([Message(b"a")]))
    manager.done(manager.local.set_permissions(queue, "O:BAG:BAD:(A;;0x4;;;WD)"))
    with pytest.raises(AccessDenied, match="not open for receive"):
        opened.receive(1, wait=False)
    manager.done(opened.send([Message(b"b")]))
    manager.done(manager.local.set_permissions(queue, "O:BAG:BAD:(A;;0x3;;;WD)"))
    for _ in range(2):  # the decision is remembered
        with pytest.raises(AccessDenied, match="not open for send"):
            opened.send([Message(b"c")])
    assert len(manager.done(opened.receive(9, wait=False))) == 2
