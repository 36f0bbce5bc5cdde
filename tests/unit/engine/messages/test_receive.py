"""Reading: receive, peek, waiting, two steps, lookup identifiers, cursors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.unit.engine.world import HERE, OWNER, READER, World, commit_all, letter, message, packets

from openmsmq.engine.commit.future import Future
from openmsmq.engine.messages.cursor import CursorState, QueueCursor
from openmsmq.engine.queues.entry import Entry
from openmsmq.engine.queues.holds import REMOVING, Holder
from openmsmq.engine.queues.queue import ManagedQueue
from openmsmq.engine.storage.tables import Table
from openmsmq.errors import (
    IllegalCursorAction,
    InvalidHandle,
    MessageAlreadyReceived,
    MessageNotFound,
    MQError,
    OperationCancelled,
    QueueDeleted,
    QueueNotAvailable,
    ReceiveTimeout,
    StorageFailed,
    TransactionSequence,
    TransactionUsage,
)
from openmsmq.properties.message import Acknowledge, MessageClass
from openmsmq.types.lookup import LOOKUP_MAX, ranges_of
from openmsmq.types.read import Seek

"The one who reads in two steps."


@pytest.fixture(params=["stored", "express"])
def queue(world: World, request: pytest.FixtureRequest) -> ManagedQueue:
    """Messages a to e, on disk or in memory."""
    queue = world.queue()
    world.send(queue, *"abcde", express=request.param == "express")
    return queue


@pytest.fixture
def empty(world: World) -> ManagedQueue:
    return world.queue("empty")


@pytest.fixture
def held(world: World) -> ManagedQueue:
    """A transactional queue whose messages a to e no one has taken yet."""
    queue = world.queue("held", transactional=True)
    world.fill(queue, *"abcde")
    return queue


def failure(pending: Future[Any]) -> MQError:
    """The error a call was answered with."""
    assert isinstance(pending.error, MQError)
    return pending.error


def result(world: World, pending: Future[list[Entry]]) -> list[str]:
    return packets(world.done(pending))


# Receive and peek


def test_a_receive_takes_the_first_messages_and_they_are_gone(
    world: World, queue: ManagedQueue
) -> None:
    """DMPR-203, DMPR-208, DMPR-313."""
    assert world.receive(queue) == ["a"]
    assert world.receive(queue, 3) == ["b", "c", "d"]
    assert world.receive(queue, 100) == ["e"]
    assert world.read(queue) == []
    assert queue.total_size == 0
    assert not world.rows(Table.INDEX)
    assert not world.rows(Table.PACKETS)


def test_a_receive_is_answered_when_the_removal_is_on_disk(
    world: World, empty: ManagedQueue
) -> None:
    """Meanwhile no one else sees the message (DMPR-204)."""
    world.send(empty, "a")
    pending = world.receiver.receive(empty, 1, OWNER, wait=False)
    assert not pending.done
    assert world.read(empty) == []
    world.commit()
    assert packets(pending.result()) == ["a"]
    again = world.restart()
    assert again.read(again.core.queues.find("empty")) == []


def test_a_removal_that_fails_gives_the_message_back(world: World, empty: ManagedQueue) -> None:
    world.send(empty, "a")
    world.send(empty, "b", express=True)
    pending = world.receiver.receive(empty, 2, OWNER, wait=False)
    waiting = world.wait_peek(empty)
    world.commit(StorageFailed("disk"))
    assert isinstance(failure(pending), StorageFailed)
    assert packets(waiting.result()) == ["a"]
    assert world.receive(empty, 2) == ["a", "b"]


def test_a_peek_changes_nothing(world: World, queue: ManagedQueue) -> None:
    """DMPR-220."""
    before = world.store.writes
    assert world.read(queue) == world.read(queue) == list("abcde")
    assert packets(world.receiver.peek(queue, 2, OWNER, wait=True).result()) == ["a", "b"]
    assert world.store.writes == before


def test_a_peek_can_go_on_behind_a_message(world: World, queue: ManagedQueue) -> None:
    second = world.lookups(queue)[1]
    found = world.receiver.peek(queue, 2, OWNER, wait=False, after=second)
    assert packets(found.result()) == ["c", "d"]


def test_an_empty_queue_answers_at_once_if_no_one_wants_to_wait(
    world: World, empty: ManagedQueue
) -> None:
    """DMPR-266."""
    for pending in (
        world.receiver.receive(empty, 1, OWNER, wait=False),
        world.receiver.peek(empty, 1, OWNER, wait=False),
    ):
        assert failure(pending).hresult == 0xC00E001B
        assert isinstance(pending.error, ReceiveTimeout)
    assert not empty.waiters


def test_messages_that_are_held_are_passed_over(world: World, held: ManagedQueue) -> None:
    """DMPR-204, DMPR-294."""
    transaction = world.transactions.begin()
    assert world.receive(held, 2, transaction) == ["a", "b"]
    assert world.receive(held, 1, READER) == ["c"]
    assert world.read(held) == ["d", "e"]
    assert world.receive(held) == ["d"]


def test_a_plain_receive_from_a_transactional_queue_is_allowed(
    world: World, held: ManagedQueue
) -> None:
    """DMPR-398."""
    assert world.receive(held) == ["a"]


@pytest.mark.parametrize("way", ["receive", "cursor", "lookup"])
def test_a_transaction_reads_from_transactional_queues_only(
    world: World, queue: ManagedQueue, way: str
) -> None:
    """DMPR-398."""
    transaction = world.transactions.begin()
    with pytest.raises(TransactionUsage) as info:
        take(world, queue, way, transaction)
    assert info.value.hresult == 0xC00E0050
    assert world.read(queue) == list("abcde")


@pytest.mark.parametrize("way", ["receive", "cursor", "lookup"])
def test_a_transaction_that_is_over_takes_nothing(
    world: World, held: ManagedQueue, way: str
) -> None:
    transaction = world.transactions.begin()
    world.done(world.transactions.abort(transaction))
    with pytest.raises(TransactionSequence):
        take(world, held, way, transaction)
    assert world.read(held) == list("abcde")


def take(world: World, queue: ManagedQueue, way: str, holder: Holder) -> list[str]:
    """Receive the first message one way or another."""
    if way == "receive":
        return world.receive(queue, holder=holder)
    if way == "cursor":
        return result(world, world.cursor_receive(queue, QueueCursor(), holder=holder))
    first = world.lookups(queue)[0]
    pending = world.receiver.by_lookup(queue, first, Seek.CURRENT, peek=False, holder=holder)
    return result(world, pending)


@pytest.mark.parametrize("way", ["receive", "cursor", "lookup"])
def test_a_message_taken_in_a_transaction_is_locked(
    world: World, held: ManagedQueue, way: str
) -> None:
    """DMPR-209, DMPR-231, DMPR-294."""
    transaction = world.transactions.begin()
    assert take(world, held, way, transaction) == ["a"]
    assert world.read(held) == list("bcde")
    assert not world.core.wants_commit
    assert held.messages == 5
    world.done(world.transactions.abort(transaction))
    assert world.read(held) == list("abcde")


# Waiting


def test_a_reader_waits_for_a_message(world: World, empty: ManagedQueue) -> None:
    """DMPR-202, DMPR-205, DMPR-223."""
    receive, peek = world.wait_receive(empty), world.wait_peek(empty)
    assert not receive.done
    assert not peek.done
    world.send(empty, "a", "b")
    assert result(world, receive) == ["a"]
    assert result(world, peek) == ["b"]
    assert not empty.waiters


def test_readers_are_served_in_the_order_in_which_they_came(
    world: World, empty: ManagedQueue
) -> None:
    """DMPR-268, DMPR-269."""
    waiting = [world.wait_receive(empty, owner=object()) for _ in range(3)]
    world.send(empty, "a", "b")
    assert [result(world, pending) for pending in waiting[:2]] == [["a"], ["b"]]
    assert not waiting[2].done
    world.send(empty, "c")
    assert result(world, waiting[2]) == ["c"]


def test_a_peek_that_waited_lets_the_next_reader_have_the_message(
    world: World, empty: ManagedQueue
) -> None:
    """DMPR-227, DMPR-270."""
    waiting = [world.wait_peek(empty), world.wait_peek(empty), world.wait_receive(empty)]
    late = world.wait_peek(empty)
    world.send(empty, "a")
    assert [result(world, pending) for pending in waiting] == [["a"]] * 3
    assert not late.done


def test_a_reader_that_waits_for_many_takes_what_came_first(
    world: World, empty: ManagedQueue
) -> None:
    waiting = world.wait_receive(empty, count=10)
    world.send(empty, "a", "b")
    assert result(world, waiting) == ["a", "b"]


def test_no_message_is_missed_that_is_committed_while_a_reader_begins_to_wait(
    world: World, empty: ManagedQueue
) -> None:
    """DMPR-401."""
    world.enqueuer.send(empty, [message("a")])
    world.core.start_commit(world.store.begin())
    waiting = world.wait_receive(empty)
    assert not waiting.done
    world.store.commit()
    world.core.finish_commit()
    assert result(world, waiting) == ["a"]


def test_a_read_that_waits_can_be_cancelled(world: World, empty: ManagedQueue) -> None:
    """Exactly that one (DMPR-267, DMPR-271)."""
    first, second = world.wait_receive(empty), world.wait_receive(empty)
    assert world.core.readers.cancel(empty, first, ReceiveTimeout())
    assert isinstance(first.error, ReceiveTimeout)
    world.send(empty, "a")
    assert result(world, second) == ["a"]


def test_a_read_that_does_not_wait_cannot_be_cancelled(world: World, empty: ManagedQueue) -> None:
    """Others are (DMPR-272, DMPR-273)."""
    waiting, other = world.wait_receive(empty), world.wait_receive(empty)
    stranger: Future[list[Entry]] = Future()
    assert not world.core.readers.cancel(empty, stranger, OperationCancelled())
    assert not stranger.done
    assert world.core.readers.cancel(empty, other, OperationCancelled())
    world.send(empty, "a")
    assert not world.core.readers.cancel(empty, waiting, OperationCancelled())
    assert packets(waiting.result()) == ["a"]


@pytest.mark.parametrize("with_cursor", [False, True])
def test_a_transaction_that_ends_while_it_waits_gets_no_message(
    world: World, with_cursor: bool
) -> None:
    """A message it took then would be locked for ever."""
    queue = world.queue(transactional=True)
    transaction, cursor = world.transactions.begin(), QueueCursor()
    if with_cursor:
        waiting = world.cursor_receive(queue, cursor, wait=True, holder=transaction)
    else:
        waiting = world.wait_receive(queue, holder=transaction)
    world.done(world.transactions.commit(transaction))
    world.fill(queue, "a")
    assert isinstance(failure(waiting), TransactionSequence)
    assert not queue.waiters
    assert cursor.state is CursorState.UNREAD
    assert world.receive(queue) == ["a"]


def test_a_receive_whose_caller_is_gone_is_undone(world: World, queue: ManagedQueue) -> None:
    lookups = world.lookups(queue)
    taken = world.take(queue, 3)
    waiting = world.wait_peek(queue, 5)
    assert packets(waiting.result()) == ["d", "e"]
    world.receiver.put_back(queue, taken)
    commit_all(world.core)
    assert world.read(queue) == list("abcde")
    assert world.lookups(queue) == lookups
    assert queue.total_size == 5


def test_what_is_put_back_goes_to_those_who_wait(world: World, empty: ManagedQueue) -> None:
    for express in (False, True):
        world.send(empty, "a", express=express)
        taken = world.take(empty)
        waiting = world.wait_receive(empty)
        world.receiver.put_back(empty, taken)
        assert result(world, waiting) == ["a"]


@pytest.mark.parametrize("meanwhile", [False, True])
def test_a_purge_does_not_keep_back_what_was_received_before_it(
    world: World, queue: ManagedQueue, meanwhile: bool
) -> None:
    """It was not in the queue then; likewise while the purge goes on."""
    taken = world.take(queue, 2)
    purged = world.core.queue_lifecycle.purge(queue)
    if not meanwhile:
        assert world.done(purged) == 3
    world.receiver.put_back(queue, taken)
    assert world.done(purged) == 3
    assert world.read(queue) == ["a", "b"]
    assert queue.total_size == 2


@pytest.mark.parametrize("when", ["before", "meanwhile"])
def test_nothing_is_put_back_into_a_deleted_queue(
    world: World, queue: ManagedQueue, when: str
) -> None:
    taken = world.take(queue, 2)
    if when == "before":
        world.done(world.core.queue_lifecycle.delete(queue))
    world.receiver.put_back(queue, taken)
    if when == "meanwhile":
        world.core.queue_lifecycle.delete(queue)
    commit_all(world.core)
    assert world.core.express_size == 0
    for table in (Table.INDEX, Table.PACKETS, Table.QUEUES):
        assert not world.rows(table)


def test_what_cannot_be_put_back_is_counted(world: World, empty: ManagedQueue) -> None:
    world.send(empty, "a", "b")
    world.receiver.put_back(empty, world.take(empty, 2))
    world.commit(StorageFailed("disk"))
    assert world.read(empty) == []
    assert world.count("messages lost because they could not be put back") == 2


# Two steps


def test_a_read_in_two_steps_locks_what_it_began_with(world: World, queue: ManagedQueue) -> None:
    """DMPR-210, DMPR-212."""
    assert world.receive(queue, 2, READER) == ["a", "b"]
    assert world.read(queue) == list("cde")
    assert not world.core.wants_commit
    assert queue.total_size == 5


def test_the_second_step_removes_what_was_read(world: World, queue: ManagedQueue) -> None:
    """DMPR-216."""
    taken = world.take(queue, 2, READER)
    world.done(
        world.receiver.end(queue, ranges_of([entry.lookup for entry in taken]), READER, delete=True)
    )
    assert world.read(queue) == list("cde")
    assert queue.total_size == 3


def test_the_second_step_gives_it_back_to_its_place(world: World, queue: ManagedQueue) -> None:
    """DMPR-218, DMPR-392."""
    first, second = world.take(queue, 2, READER)
    waiting = world.wait_receive(queue, count=9)
    assert result(world, waiting) == list("cde")
    waiting = world.wait_receive(queue)
    world.done(world.receiver.end(queue, ranges_of([second.lookup]), READER, delete=False))
    assert result(world, waiting) == ["b"]
    world.done(world.receiver.end(queue, ranges_of([first.lookup]), READER, delete=False))
    assert world.read(queue) == ["a"]
    assert world.lookups(queue) == [first.lookup]


def test_a_message_purged_meanwhile_is_removed_by_the_second_step(
    world: World, queue: ManagedQueue
) -> None:
    """Whatever the reader says, and others are still given back (DMPR-217)."""
    purged = world.take(queue, 1, READER)[0]
    world.done(world.core.queue_lifecycle.purge(queue))
    world.send(queue, "new", express=purged.express)
    kept = world.take(queue, 1, READER)[0]
    waiting = world.wait_receive(queue)
    lookups = [purged.lookup, kept.lookup]
    world.done(world.receiver.end(queue, ranges_of(lookups), READER, delete=False))
    assert result(world, waiting) == ["new"]
    assert world.read(queue) == []
    assert queue.total_size == 0


@pytest.mark.parametrize("delete", [True, False])
def test_the_sender_hears_that_it_was_purged(
    world: World, queue: ManagedQueue, delete: bool
) -> None:
    """DMPR-217: once, and not that it was received."""
    admin = world.queue("admin")
    asked = Acknowledge.FULL_RECEIVE
    world.done(world.core.queue_lifecycle.purge(queue))
    world.send(queue, letter("x", acknowledge=asked, admin=HERE + "admin"))
    (taken,) = world.take(queue, 1, READER)
    world.done(world.core.queue_lifecycle.purge(queue))
    world.done(world.receiver.end(queue, ranges_of([taken.lookup]), READER, delete=delete))
    assert [view.message_class for view in world.views(admin)] == [MessageClass.NACK_Q_PURGED]


@pytest.mark.parametrize("with_others", [True, False])
def test_the_second_step_is_answered_when_a_purged_message_is_gone(
    world: World, empty: ManagedQueue, with_others: bool
) -> None:
    """A crash brings nothing back whose removal was answered."""
    world.send(empty, "a")
    lookups = [entry.lookup for entry in world.take(empty, 1, READER)]
    purged = world.core.queue_lifecycle.purge(empty)
    if with_others:
        world.send(empty, "new")
        lookups += [entry.lookup for entry in world.take(empty, 1, READER)]
        assert purged.done
    ended = world.receiver.end(empty, ranges_of(lookups), READER, delete=True)
    assert not ended.done
    world.done(ended)
    after = world.restart()
    assert after.read(after.find("empty")) == []


def test_the_second_step_fails_when_a_purged_message_cannot_be_removed(
    world: World, empty: ManagedQueue
) -> None:
    """It stays out of sight, and goes when the manager is started again."""
    world.send(empty, "a")
    lookups = [entry.lookup for entry in world.take(empty, 1, READER)]
    world.done(world.core.queue_lifecycle.purge(empty))
    ended = world.receiver.end(empty, ranges_of(lookups), READER, delete=True)
    world.commit(StorageFailed("disk"))
    assert isinstance(ended.error, StorageFailed)
    assert world.read(empty) == []
    world.done(world.core.queue_lifecycle.purge(empty))
    after = world.restart()
    assert after.read(after.find("empty")) == []


def test_only_what_was_begun_can_be_ended(world: World, held: ManagedQueue) -> None:
    """Not what is available, in a transaction, or being removed (DMPR-214)."""
    lookups = world.lookups(held)
    world.receive(held, holder=world.transactions.begin())
    world.receiver.receive(held, 1, OWNER, wait=False)
    begun = world.receiver.receive(held, 1, OWNER, wait=False, holder=READER).result()[0]
    for wrong in (lookups[0], lookups[1], lookups[3], 12345):
        with pytest.raises(TransactionSequence) as info:
            world.receiver.end(held, ranges_of([begun.lookup, wrong]), READER, delete=True)
        assert info.value.hresult == 0xC00E0051
    assert world.read(held) == ["d", "e"]
    world.done(world.receiver.end(held, ranges_of([begun.lookup]), READER, delete=True))
    with pytest.raises(TransactionSequence):
        world.receiver.end(held, ranges_of([begun.lookup]), READER, delete=True)


def test_a_second_step_that_fails_gives_the_message_back(world: World, empty: ManagedQueue) -> None:
    world.send(empty, "a")
    taken = world.take(empty, 1, READER)[0]
    pending = world.receiver.end(empty, ranges_of([taken.lookup]), READER, delete=True)
    with pytest.raises(TransactionSequence):
        world.receiver.end(empty, ranges_of([taken.lookup]), READER, delete=False)
    world.commit(StorageFailed("disk"))
    assert isinstance(failure(pending), StorageFailed)
    assert world.read(empty) == ["a"]


# Deleted queues


def test_a_deleted_queue_cannot_be_read(world: World, queue: ManagedQueue) -> None:
    """DMPR-131, DMPR-201, DMPR-213, DMPR-219, DMPR-228."""
    cursor, read = QueueCursor(), QueueCursor()
    world.cursor_peek(queue, read)
    taken = world.take(queue, 1, READER)[0]
    lookup = world.lookups(queue)[0]
    world.core.queue_lifecycle.delete(queue)
    reads: list[Callable[[], Future[Any]]] = [
        lambda: world.receiver.receive(queue, 1, OWNER, wait=True),
        lambda: world.receiver.peek(queue, 1, OWNER, wait=False),
        lambda: world.receiver.end(queue, ranges_of([taken.lookup]), READER, delete=True),
        lambda: world.receiver.by_lookup(queue, lookup, Seek.CURRENT, peek=True),
        lambda: world.receiver.by_lookup(queue, 0, Seek.FIRST, peek=False),
        lambda: world.cursor_peek(queue, cursor),
        lambda: world.cursor_peek(queue, read),
        lambda: world.cursor_peek(queue, read, following=True),
        lambda: world.cursor_receive(queue, read),
    ]
    for attempt in reads:
        with pytest.raises(QueueNotAvailable) as info:
            attempt()
        assert info.value.hresult == 0xC00E004B


def test_readers_that_wait_are_notified_of_the_delete(world: World, empty: ManagedQueue) -> None:
    """DMPR-135."""
    cursor = QueueCursor()
    waiting = [
        world.wait_receive(empty),
        world.wait_peek(empty),
        world.cursor_peek(empty, cursor, wait=True),
    ]
    world.core.queue_lifecycle.delete(empty)
    for pending in waiting:
        assert isinstance(pending.error, QueueDeleted)
        assert failure(pending).hresult == 0xC00E005A
    assert cursor.state is CursorState.UNREAD


def test_a_transaction_may_decide_on_what_a_read_in_two_steps_holds(world: World) -> None:
    queue = world.queue("ledger", transactional=True)
    world.fill(queue, *"abc")
    lookups = [entry.lookup for entry in world.take(queue, 2, READER)]
    for commits in (False, True):
        transaction = world.transactions.begin()
        world.receiver.enlist(queue, ranges_of(lookups), READER, transaction)
        with pytest.raises(TransactionSequence):
            world.receiver.end(queue, ranges_of(lookups), READER, delete=True)
        if commits:
            world.done(world.transactions.commit(transaction))
        else:
            world.done(world.transactions.abort(transaction))
            assert world.read(queue) == list("abc")
            world.take(queue, 2, READER)
    assert world.read(queue) == ["c"]


def test_a_transaction_decides_on_nothing_else(world: World, queue: ManagedQueue) -> None:
    ledger = world.queue("ledger", transactional=True)
    world.fill(ledger, *"abc")
    held, free = [entry.lookup for entry in world.take(ledger, 1, READER)], world.lookups(ledger)
    transaction, over = world.transactions.begin(), world.transactions.begin()
    world.done(world.transactions.commit(over))
    with pytest.raises(TransactionSequence):
        world.receiver.enlist(ledger, ranges_of([*held, free[0]]), READER, transaction)
    with pytest.raises(TransactionSequence):
        world.receiver.enlist(ledger, ranges_of(held), READER, over)
    with pytest.raises(TransactionUsage):
        world.receiver.enlist(queue, ranges_of([]), READER, transaction)
    assert ledger.holds.holder_of(held[0]) is READER
    world.done(world.core.queue_lifecycle.delete(ledger))
    with pytest.raises(QueueNotAvailable):
        world.receiver.enlist(ledger, ranges_of(held), READER, transaction)


# Lookup identifiers


def test_a_lookup_identifier_leads_to_its_message_and_its_neighbours(
    world: World, queue: ManagedQueue
) -> None:
    """DMPR-230, DMPR-233, DMPR-240, DMPR-241."""
    lookups = world.lookups(queue)
    for place, lookup in enumerate(lookups):
        assert world.lookup(queue, lookup) == "abcde"[place]
        if place < 4:
            assert world.lookup(queue, lookup, Seek.NEXT) == "abcde"[place + 1]
        if place > 0:
            assert world.lookup(queue, lookup, Seek.PREVIOUS) == "abcde"[place - 1]
    assert world.read(queue) == list("abcde")


@pytest.mark.parametrize("lookup", [0, 1, LOOKUP_MAX])
def test_first_and_last_need_no_lookup_identifier(
    world: World, queue: ManagedQueue, lookup: int
) -> None:
    """DMPR-238, DMPR-239."""
    assert world.lookup(queue, lookup, Seek.FIRST) == "a"
    assert world.lookup(queue, lookup, Seek.LAST) == "e"


def test_a_lookup_receive_removes_the_message(world: World, queue: ManagedQueue) -> None:
    """DMPR-231."""
    lookups = world.lookups(queue)
    assert world.lookup(queue, lookups[2], peek=False) == "c"
    assert world.lookup(queue, lookups[1], Seek.NEXT, peek=False) == "d"
    assert world.lookup(queue, 0, Seek.LAST, peek=False) == "e"
    assert world.lookup(queue, 0, Seek.FIRST, peek=False) == "a"
    assert world.read(queue) == ["b"]


def test_a_lookup_receive_in_two_steps_locks_the_message(world: World, queue: ManagedQueue) -> None:
    """DMPR-231."""
    second = world.lookups(queue)[1]
    world.receiver.by_lookup(queue, second, Seek.CURRENT, peek=False, holder=READER)
    assert world.read(queue) == list("acde")
    assert not world.core.wants_commit
    world.done(world.receiver.end(queue, ranges_of([second]), READER, delete=False))
    assert world.read(queue) == list("abcde")


@pytest.mark.parametrize("seek", [Seek.CURRENT, Seek.NEXT, Seek.PREVIOUS])
@pytest.mark.parametrize("peek", [True, False])
def test_an_unknown_lookup_identifier_leads_nowhere(
    world: World, queue: ManagedQueue, seek: Seek, peek: bool
) -> None:
    """DMPR-229, DMPR-232."""
    gone = world.take(queue, 1)[0].lookup
    for lookup in (gone, 0, 1, -1, LOOKUP_MAX, LOOKUP_MAX + 1, 1 << 80):
        with pytest.raises(MessageNotFound) as info:
            world.receiver.by_lookup(queue, lookup, seek, peek=peek)
        assert info.value.hresult == 0xC00E0088
    assert world.read(queue) == list("bcde")


def test_there_is_nothing_beyond_the_ends(
    world: World, queue: ManagedQueue, empty: ManagedQueue
) -> None:
    """DMPR-242: though there is, up to them."""
    lookups = world.lookups(queue)
    assert world.lookup(queue, lookups[-2], Seek.NEXT) == "e"
    assert world.lookup(queue, lookups[1], Seek.PREVIOUS) == "a"
    for where, lookup, seek in (
        (queue, lookups[-1], Seek.NEXT),
        (queue, lookups[0], Seek.PREVIOUS),
        (empty, 0, Seek.FIRST),
        (empty, 0, Seek.LAST),
    ):
        with pytest.raises(MessageNotFound):
            world.lookup(where, lookup, seek)


def test_a_locked_message_is_not_given_out_by_its_identifier(
    world: World, held: ManagedQueue
) -> None:
    """DMPR-235, DMPR-237."""
    lookups = world.lookups(held)
    world.receive(held, 1, world.transactions.begin())
    world.receive(held, 1, READER)
    for lookup in lookups[:2]:
        with pytest.raises(TransactionUsage) as usage:
            world.lookup(held, lookup)
        assert usage.value.hresult == 0xC00E0050
        with pytest.raises(MessageNotFound):
            world.lookup(held, lookup, peek=False)


def test_neighbours_that_are_held_are_passed_over(world: World, held: ManagedQueue) -> None:
    """DMPR-245."""
    lookups = world.lookups(held)
    world.receiver.by_lookup(held, lookups[2], Seek.CURRENT, peek=False, holder=READER)
    assert world.lookup(held, lookups[1], Seek.NEXT) == "d"
    assert world.lookup(held, lookups[3], Seek.PREVIOUS) == "b"
    assert world.lookup(held, lookups[2], Seek.NEXT) == "d"


def test_a_message_being_removed_or_purged_is_not_found(world: World, empty: ManagedQueue) -> None:
    world.send(empty, "a", "b")
    first, second = world.lookups(empty)
    world.receiver.receive(empty, 1, OWNER, wait=False)
    world.core.queue_lifecycle.purge(empty)
    for lookup in (first, second):
        for peek in (True, False):
            with pytest.raises(MessageNotFound):
                world.receiver.by_lookup(empty, lookup, Seek.CURRENT, peek=peek)
    world.send(empty, "c")
    third = world.lookups(empty)[0]
    world.receiver.receive(empty, 1, OWNER, wait=False)
    with pytest.raises(MessageNotFound):
        world.receiver.by_lookup(empty, third, Seek.CURRENT, peek=True)


# Cursors


def test_a_cursor_walks_along_the_queue(world: World, queue: ManagedQueue) -> None:
    """DMPR-225, DMPR-248, DMPR-249, DMPR-253."""
    cursor = QueueCursor()
    assert result(world, world.cursor_peek(queue, cursor)) == ["a"]
    assert result(world, world.cursor_peek(queue, cursor)) == ["a"]
    for expected in "bcde":
        assert result(world, world.cursor_peek(queue, cursor, following=True)) == [expected]
        assert result(world, world.cursor_peek(queue, cursor)) == [expected]
    assert world.read(queue) == list("abcde")


def test_a_new_cursor_has_no_next_message(world: World, queue: ManagedQueue) -> None:
    """DMPR-224, DMPR-252."""
    cursor = QueueCursor()
    with pytest.raises(IllegalCursorAction) as info:
        world.cursor_peek(queue, cursor, following=True)
    assert info.value.hresult == 0xC00E001C
    assert result(world, world.cursor_peek(queue, cursor)) == ["a"]


def test_a_cursor_receives_the_message_it_has_read(world: World, queue: ManagedQueue) -> None:
    """Then the following one, without reading it first (DMPR-254, DMPR-256)."""
    cursor = QueueCursor()
    world.cursor_peek(queue, cursor)
    world.cursor_peek(queue, cursor, following=True)
    assert result(world, world.cursor_receive(queue, cursor)) == ["b"]
    assert cursor.state is CursorState.UNREAD
    assert result(world, world.cursor_receive(queue, cursor)) == ["c"]
    assert world.read(queue) == list("ade")
    with pytest.raises(IllegalCursorAction):
        world.cursor_peek(queue, cursor, following=True)
    assert result(world, world.cursor_peek(queue, cursor)) == ["d"]


@pytest.mark.parametrize("how", ["received", "locked", "purged", "being removed"])
def test_a_message_under_a_cursor_that_another_took_has_its_own_error(
    world: World, queue: ManagedQueue, how: str
) -> None:
    """The cursor stays where it is and can go on (DMPR-207, DMPR-222, DMPR-250, DMPR-255)."""
    cursor = QueueCursor()
    world.cursor_peek(queue, cursor)
    if how == "purged":
        world.core.queue_lifecycle.purge(queue)
    elif how == "being removed":
        world.receiver.receive(queue, 1, OWNER, wait=False)
    else:
        world.take(queue, 1, READER if how == "locked" else REMOVING)
    for read in (world.cursor_peek, world.cursor_receive):
        with pytest.raises(MessageAlreadyReceived) as info:
            read(queue, cursor)
        assert info.value.hresult == 0xC00E001D
        assert cursor.state is CursorState.READ
    if how != "purged":
        assert result(world, world.cursor_peek(queue, cursor, following=True)) == ["b"]


def test_a_cursor_at_the_end_answers_at_once_if_no_one_wants_to_wait(
    world: World, queue: ManagedQueue, empty: ManagedQueue
) -> None:
    """A peek in vain leaves the cursor unread (DMPR-206, DMPR-257, DMPR-261, DMPR-266)."""
    cursor = QueueCursor()
    receive = world.cursor_receive(empty, cursor)
    assert isinstance(receive.error, MessageNotFound)
    assert failure(receive).hresult == 0xC00E0088
    assert (cursor.state, cursor.position) == (CursorState.UNREAD, 0)
    assert isinstance(world.cursor_peek(empty, cursor).error, ReceiveTimeout)
    walker = QueueCursor()
    world.cursor_peek(queue, walker)
    for _ in range(4):
        world.cursor_peek(queue, walker, following=True)
    assert isinstance(world.cursor_peek(queue, walker, following=True).error, ReceiveTimeout)
    assert walker.state is CursorState.UNREAD
    world.send(queue, "f")
    assert result(world, world.cursor_peek(queue, walker)) == ["f"]


def test_a_cursor_waits_for_messages(world: World, empty: ManagedQueue) -> None:
    """DMPR-226, DMPR-251, DMPR-258, DMPR-259."""
    peeking, receiving = QueueCursor(), QueueCursor()
    peek = world.cursor_peek(empty, peeking, wait=True)
    receive = world.cursor_receive(empty, receiving, wait=True)
    assert (peeking.state, receiving.state) == (CursorState.WAIT_PEEK, CursorState.WAIT_RECEIVE)
    world.send(empty, "a")
    assert result(world, peek) == result(world, receive) == ["a"]
    assert (peeking.state, receiving.state) == (CursorState.READ, CursorState.UNREAD)
    following = world.cursor_peek(empty, peeking, wait=True, following=True)
    world.send(empty, "b")
    assert result(world, following) == ["b"]


def test_a_cursor_that_waits_goes_back_to_a_new_message(world: World, empty: ManagedQueue) -> None:
    """DMPR-400: also if the one beside it was read before."""
    world.send(empty, "low", priority=1)
    world.send(empty, "first")
    cursor = QueueCursor()
    assert result(world, world.cursor_peek(empty, cursor)) == ["first"]
    assert result(world, world.cursor_peek(empty, cursor, following=True)) == ["low"]
    waiting = world.cursor_peek(empty, cursor, wait=True, following=True)
    assert not waiting.done
    world.send(empty, "second")
    assert result(world, waiting) == ["second"]


def test_a_cursor_finds_what_arrives_behind_it_after_it_was_at_the_end(
    world: World, queue: ManagedQueue
) -> None:
    """DMPR-263."""
    cursor = QueueCursor()
    for _ in range(5):
        world.done(world.cursor_receive(queue, cursor))
    assert isinstance(world.cursor_receive(queue, cursor).error, MessageNotFound)
    world.send(queue, "f")
    assert result(world, world.cursor_receive(queue, cursor)) == ["f"]


def test_a_cursor_that_waits_goes_to_the_new_message_wherever_it_lands(
    world: World, queue: ManagedQueue
) -> None:
    """DMPR-259, DMPR-400."""
    cursor = QueueCursor()
    world.cursor_peek(queue, cursor)
    for _ in range(4):
        world.cursor_peek(queue, cursor, following=True)
    waiting = world.cursor_peek(queue, cursor, wait=True, following=True)
    world.send(queue, "urgent", priority=7)
    assert result(world, waiting) == ["urgent"]
    assert result(world, world.cursor_peek(queue, cursor, following=True)) == ["a"]


def test_a_cursor_that_waits_is_not_served_with_a_message_it_has_passed(
    world: World, empty: ManagedQueue
) -> None:
    """The new one was taken by another reader, so it goes on waiting."""
    world.send(empty, "old")
    taker, walker = QueueCursor(), QueueCursor()
    world.cursor_peek(empty, taker)
    failed = world.cursor_peek(empty, taker, wait=True, following=True)
    world.core.readers.cancel(empty, failed, ReceiveTimeout())
    taking = world.cursor_receive(empty, taker, wait=True)
    world.cursor_peek(empty, walker)
    walking = world.cursor_peek(empty, walker, wait=True, following=True)
    world.send(empty, "urgent", priority=7)
    assert result(world, taking) == ["urgent"]
    assert not walking.done
    world.send(empty, "new")
    assert result(world, walking) == ["new"]


def test_a_second_read_with_a_cursor_that_waits_is_refused(
    world: World, empty: ManagedQueue
) -> None:
    cursor = QueueCursor()
    waiting = world.cursor_peek(empty, cursor, wait=True)
    for read in (world.cursor_peek, world.cursor_receive):
        with pytest.raises(IllegalCursorAction):
            read(empty, cursor)
    world.send(empty, "a")
    assert result(world, waiting) == ["a"]


def test_a_receive_that_waited_in_vain_leaves_the_cursor_at_the_end(
    world: World, empty: ManagedQueue
) -> None:
    """Behind what others hold, so that it is not met again when given back (DMPR-260)."""
    world.send(world.queue("next"), "in another queue", priority=0)
    world.send(empty, "a")
    world.send(empty, "b", priority=1, express=True)
    taken = world.take(empty, 2, READER)
    cursor = QueueCursor()
    waiting = world.cursor_receive(empty, cursor, wait=True)
    world.core.readers.cancel(empty, waiting, ReceiveTimeout())
    assert isinstance(failure(waiting), ReceiveTimeout)
    assert cursor.position == taken[1].lookup
    world.done(
        world.receiver.end(
            empty, ranges_of([entry.lookup for entry in taken]), READER, delete=False
        )
    )
    assert isinstance(world.cursor_receive(empty, cursor).error, MessageNotFound)


def test_a_peek_that_waited_in_vain_leaves_the_cursor_where_it_was(
    world: World, queue: ManagedQueue
) -> None:
    """Unread, so that the next peek seeks behind it (DMPR-261)."""
    cursor = QueueCursor()
    world.cursor_peek(queue, cursor)
    for _ in range(4):
        world.cursor_peek(queue, cursor, following=True)
    waiting = world.cursor_peek(queue, cursor, wait=True, following=True)
    world.core.readers.cancel(queue, waiting, ReceiveTimeout())
    with pytest.raises(IllegalCursorAction):
        world.cursor_peek(queue, cursor, following=True)
    assert isinstance(world.cursor_peek(queue, cursor).error, ReceiveTimeout)


def test_a_deleted_queue_has_no_cursors(world: World, queue: ManagedQueue) -> None:
    """DMPR-246."""
    assert world.receiver.open_cursor(queue).state is CursorState.UNREAD
    world.done(world.core.queue_lifecycle.delete(queue))
    with pytest.raises(QueueNotAvailable):
        world.receiver.open_cursor(queue)


def test_closing_a_cursor_ends_its_wait_and_its_use(world: World, empty: ManagedQueue) -> None:
    """Others wait on (DMPR-262)."""
    cursor, other = QueueCursor(), QueueCursor()
    waiting = world.cursor_peek(empty, cursor, wait=True)
    still = [world.cursor_peek(empty, other, wait=True), world.wait_peek(empty)]
    world.receiver.close_cursor(empty, cursor)
    assert failure(waiting).hresult == 0xC00E0008
    assert isinstance(waiting.error, OperationCancelled)
    assert not any(pending.done for pending in still)
    for read in (world.cursor_peek, world.cursor_receive):
        with pytest.raises(InvalidHandle) as info:
            read(empty, cursor)
        assert info.value.hresult == 0xC00E0007
