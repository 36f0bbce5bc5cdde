"""A transaction: what it keeps in memory, what it writes, what a crash leaves of it."""

from __future__ import annotations

import pytest
from tests.unit.engine.world import HERE, World, letter, message

from openmsmq.engine.queues.queue import ManagedQueue
from openmsmq.engine.transactions.transaction import (
    SPILL_SIZE,
    ManagedTransaction,
    TransactionState,
    load_transactions,
    packed_id,
)
from openmsmq.errors import TransactionSequence
from openmsmq.packet.headers.transaction import TransactionFlags
from openmsmq.properties.message import Acknowledge, MessageClass


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def queue(world: World) -> ManagedQueue:
    queue = world.queue(transactional=True)
    world.fill(queue, *"abc")
    return queue


def test_a_new_transaction_is_empty_and_open() -> None:
    transaction = ManagedTransaction(5, "name")
    assert (transaction.number, transaction.xid) == (5, "name")
    assert transaction.is_empty
    assert transaction.is_open
    assert transaction.is_undecided
    transaction.require_active()


@pytest.mark.parametrize(
    "state", [state for state in TransactionState if state is not TransactionState.ACTIVE]
)
def test_nothing_more_is_done_in_a_transaction_that_is_not_active(state: TransactionState) -> None:
    transaction = ManagedTransaction(5)
    transaction.state = state
    assert not transaction.is_open
    assert transaction.is_undecided is (state is TransactionState.DOOMED)
    with pytest.raises(TransactionSequence, match=state.name.lower()):
        transaction.require_active()


def test_what_is_sent_is_remembered_by_queue(queue: ManagedQueue) -> None:
    transaction = ManagedTransaction(5)
    assert not transaction.send(queue, [message("12345"), message("678")])
    assert not transaction.is_empty
    assert transaction.reserved == {queue: 8}


def test_too_much_for_memory_is_to_be_written(queue: ManagedQueue) -> None:
    transaction = ManagedTransaction(5)
    assert not transaction.send(queue, [message(b"x" * SPILL_SIZE)])
    assert transaction.send(queue, [message("y")])
    spill = transaction.take_buffer()
    assert [packet for _, (packet, *_) in spill.messages] == [b"x" * SPILL_SIZE, b"y"]
    assert not transaction.is_empty
    assert transaction.buffered == 0
    assert not transaction.send(queue, [message("z")])


def test_what_could_not_be_written_is_buffered_again(queue: ManagedQueue) -> None:
    transaction = ManagedTransaction(5)
    transaction.send(queue, [message("a"), message("b")])
    spill = transaction.take_buffer()
    transaction.restore_buffer(spill)
    assert transaction.buffer == spill.messages
    assert transaction.buffered == 2
    assert transaction.take_buffer() == spill


def test_it_is_not_buffered_again_behind_later_messages(queue: ManagedQueue) -> None:
    transaction = ManagedTransaction(5)
    transaction.send(queue, [message("a")])
    spill = transaction.take_buffer()
    transaction.send(queue, [message("b")])
    with pytest.raises(AssertionError):
        transaction.restore_buffer(spill)


def test_without_history_an_abort_is_only_counted(world: World, queue: ManagedQueue) -> None:
    world.core.history.limit = 0
    transaction = world.transactions.begin()
    world.receive(queue, 1, transaction)
    world.done(world.transactions.abort(transaction))
    assert world.count("aborted") == 1
    assert [record.abort_count for record in world.records(queue)] == [1, 0, 0]


@pytest.mark.parametrize("large", [False, True], ids=["in memory", "in the store"])
@pytest.mark.parametrize("prepares", [False, True])
def test_the_first_and_the_last_message_to_a_queue_are_marked(
    world: World, large: bool, prepares: bool
) -> None:
    """DMPR-283 (A-33), MQQB-079, MQQB-080: and all say the same number."""
    queue, other = world.queue("one", transactional=True), world.queue("two", transactional=True)
    transaction = world.transactions.begin("xid")
    body = "x" * (SPILL_SIZE if large else 1)
    for target, count in ((queue, 3), (other, 1)):
        for _ in range(count):
            sent = letter(body, transactional=True)
            world.send(target, sent, transaction=transaction)
    if prepares:
        world.done(world.transactions.prepare(transaction))
        world = world.restart()
        transaction = world.core.prepared["xid"]
    world.done(world.transactions.commit(transaction))

    def marks(name: str) -> list[int]:
        headers = [view.transaction for view in world.views(world.find(name))]
        return [header.flags if header else 0 for header in headers]

    first, last = TransactionFlags.FM, TransactionFlags.LM
    number = packed_id(transaction.number)
    assert number
    assert not number & ~TransactionFlags.ID
    assert marks("one") == [number | first, number, number | last]
    assert marks("two") == [number | first | last]


def test_transactions_have_numbers_of_their_own(world: World) -> None:
    """MQQB-080: 20 bits, never 0, and a restart does not begin with the same ones."""
    found = []
    for _ in range(3):
        found += [packed_id(world.transactions.begin().number) >> 4 for _ in range(100)]
        world = world.restart()
    assert len(set(found)) == 300
    assert all(0 < number <= 0xFFFFF for number in found)
    assert {packed_id(number) >> 4 for number in range(1 << 20)} == set(range(1, 1 << 20))


def test_what_a_crash_leaves_is_distinguished(world: World, queue: ManagedQueue) -> None:
    """DMPR-107, DMPR-108."""
    prepared, abandoned = world.transactions.begin("kept"), world.transactions.begin("lost")
    world.send(queue, "p", transaction=prepared)
    world.receive(queue, 2, prepared)
    world.done(world.transactions.prepare(prepared))
    world.send(queue, "x" * (SPILL_SIZE + 1), transaction=abandoned)

    found = load_transactions(world.core.snapshot, world.core.queues.by_number)
    again, gone = found
    assert [(t.xid, t.state, t.is_empty) for t in again] == [
        ("kept", TransactionState.PREPARED, False)
    ]
    assert [t.number for t in again] == [prepared.number]
    assert again[0].received == prepared.received
    assert [(t.number, t.is_open) for t in gone] == [(abandoned.number, True)]


def test_a_prepared_receive_whose_message_is_gone_is_left_out(
    world: World, queue: ManagedQueue
) -> None:
    """Its queue was deleted, or the row of its message is missing."""
    transaction = world.transactions.begin("kept")
    other = world.queue("other", transactional=True)
    world.fill(other, "o")
    world.receive(other, holder=transaction)
    world.receive(queue, holder=transaction)
    world.done(world.transactions.prepare(transaction))
    world.core.queue_lifecycle.delete(other)
    for _ in range(2):  # its messages are removed by the second commit
        world.commit()
        (again,), _ = load_transactions(world.core.snapshot, world.core.queues.by_number)
        assert [place[0] for place in again.received] == [queue]
    only_queue = {queue.number: ManagedQueue(queue.number, queue.properties)}
    world.done(world.transactions.commit(transaction))
    assert load_transactions(world.core.snapshot, only_queue) == ([], [])


def test_only_those_that_were_rejected_are_acknowledged_as_such(world: World) -> None:
    queue, admin = world.queue("orders", transactional=True), world.queue("admin")
    wanted = Acknowledge.POS_RECEIVE | Acknowledge.NEG_RECEIVE
    for number, body in enumerate("abc", 1):
        admin_name = HERE + "admin"
        sent = letter(body, number=number, transactional=True, acknowledge=wanted, admin=admin_name)
        world.send_in(queue, sent)
    transaction = world.transactions.begin()
    taken = world.take(queue, 3, transaction)
    transaction.rejected.add((queue, taken[1].lookup))
    world.done(world.transactions.commit(transaction))
    found = [view.message_class for view in world.views(admin)]
    assert sorted(found) == [
        *([MessageClass.ACK_RECEIVE] * 2),
        MessageClass.NACK_RECEIVE_REJECTED,
    ]
