"""Ending transactions: commit, abort, prepare, and what disturbs them."""

from __future__ import annotations

import json

import pytest
from tests.unit.engine.world import MANY, OWNER, World, commit_all, message, packets

from openmsmq.engine.commit.future import Future
from openmsmq.engine.queues.queue import ManagedQueue
from openmsmq.engine.storage.layout import Record
from openmsmq.engine.storage.tables import Table
from openmsmq.engine.transactions.transaction import (
    HEADER,
    SPILL_SIZE,
    ManagedTransaction,
    TransactionState,
    split_key,
)
from openmsmq.errors import StorageFailed, StorageFull, TransactionSequence
from openmsmq.types.read import Seek


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def queue(world: World) -> ManagedQueue:
    """Transactional, with messages a to e."""
    queue = world.queue(transactional=True)
    world.fill(queue, *"abcde")
    return queue


def ending(world: World, transaction: ManagedTransaction, *, commits: bool) -> Future[None]:
    if commits:
        return world.transactions.commit(transaction)
    return world.transactions.abort(transaction)


def end(world: World, transaction: ManagedTransaction, *, commits: bool = True) -> None:
    world.done(ending(world, transaction, commits=commits))


def abort_counts(world: World, queue: ManagedQueue) -> list[int]:
    found = world.receiver.peek(queue, MANY, OWNER, wait=False).result()
    return [Record.unpack(entry.record).abort_count for entry in found]


# Commit


def test_a_commit_makes_sends_appear_and_receives_disappear(
    world: World, queue: ManagedQueue
) -> None:
    """In the order in which they were sent (DMPR-285, DMPR-286, DMPR-288)."""
    other = world.queue("other", transactional=True)
    transaction = world.transactions.begin()
    assert world.receive(queue, 2, transaction) == ["a", "b"]
    world.send(other, "1", transaction=transaction)
    world.send(queue, "f", transaction=transaction)
    world.send(other, "2", "3", transaction=transaction)
    assert (world.read(queue), world.read(other)) == (["c", "d", "e"], [])
    end(world, transaction)
    assert (world.read(queue), world.read(other)) == (["c", "d", "e", "f"], ["1", "2", "3"])
    assert (queue.total_size, other.total_size) == (4, 3)
    assert transaction.state is TransactionState.ENDED


def test_a_commit_takes_effect_when_it_is_on_disk(world: World, queue: ManagedQueue) -> None:
    transaction = world.transactions.begin()
    world.receive(queue, 5, transaction)
    world.send(queue, "f", transaction=transaction)
    pending = world.transactions.commit(transaction)
    assert not pending.done
    before = world.restart()
    assert before.read(before.core.queues.find("q")) == list("abcde")
    world.commit()
    assert pending.done
    after = world.restart()
    assert after.read(after.core.queues.find("q")) == ["f"]


def test_readers_that_wait_get_what_is_committed(world: World) -> None:
    """DMPR-285."""
    queue = world.queue(transactional=True)
    waiting = [world.wait_receive(queue) for _ in range(2)]
    world.fill(queue, "a", "b")
    assert [packets(pending.result()) for pending in waiting] == [["a"], ["b"]]


def test_a_commit_that_fails_leaves_the_transaction_as_it_was(
    world: World, queue: ManagedQueue
) -> None:
    transaction = world.transactions.begin()
    world.receive(queue, 1, transaction)
    world.send(queue, "f", transaction=transaction)
    pending = world.transactions.commit(transaction)
    world.commit(StorageFailed("disk"))
    assert isinstance(pending.error, StorageFailed)
    assert transaction.is_open
    assert world.read(queue) == list("bcde")
    world.send(queue, "g", transaction=transaction)
    end(world, transaction)
    assert world.read(queue) == list("bcdefg")


@pytest.mark.parametrize("commits", [True, False])
def test_a_transaction_that_did_nothing_ends_without_a_commit(world: World, commits: bool) -> None:
    """DMPR-288, DMPR-293."""
    transaction = world.transactions.begin()
    assert ending(world, transaction, commits=commits).done
    assert not world.core.wants_commit
    assert transaction.state is TransactionState.ENDED


# Abort


def test_an_abort_leaves_everything_as_before(world: World, queue: ManagedQueue) -> None:
    """DMPR-290, DMPR-291, DMPR-293."""
    lookups = world.lookups(queue)
    transaction = world.transactions.begin()
    world.receive(queue, 3, transaction)
    world.send(queue, "f", "x" * (SPILL_SIZE + 1), transaction=transaction)
    end(world, transaction, commits=False)
    assert world.read(queue) == list("abcde")
    assert world.lookups(queue) == lookups
    assert queue.total_size == 5
    assert len(world.rows(Table.PACKETS)) == 5
    assert not world.rows(Table.TRANSACTIONS)
    assert transaction.state is TransactionState.ENDED


def test_an_abort_is_counted_on_the_messages_it_gives_back(
    world: World, queue: ManagedQueue
) -> None:
    for _ in range(3):
        transaction = world.transactions.begin()
        world.receive(queue, 2, transaction)
        end(world, transaction, commits=False)
    assert abort_counts(world, queue) == [3, 3, 0, 0, 0]
    again = world.restart()
    assert abort_counts(again, again.core.queues.find("q")) == [3, 3, 0, 0, 0]


def test_a_reader_that_waits_for_an_abort_gets_the_first_message_of_the_queue(
    world: World, queue: ManagedQueue
) -> None:
    """Whatever the order in which they were received (DMPR-404)."""
    lookups = world.lookups(queue)
    transaction = world.transactions.begin()
    for lookup in (lookups[3], lookups[1]):
        world.receiver.by_lookup(queue, lookup, Seek.CURRENT, peek=False, holder=transaction)
    world.receive(queue, 3)
    waiting = world.wait_receive(queue)
    end(world, transaction, commits=False)
    assert packets(waiting.result()) == ["b"]
    assert world.read(queue) == ["d"]


def test_an_abort_that_fails_can_be_tried_again(world: World, queue: ManagedQueue) -> None:
    transaction = world.transactions.begin()
    world.receive(queue, 1, transaction)
    pending = world.transactions.abort(transaction)
    world.commit(StorageFailed("disk"))
    assert isinstance(pending.error, StorageFailed)
    assert world.read(queue) == list("bcde")
    end(world, transaction, commits=False)
    assert world.read(queue) == list("abcde")


def test_an_abort_goes_through_on_a_full_disk(world: World, queue: ManagedQueue) -> None:
    """What needs room is refused in the same commit, and the abort is tried again."""
    aborted, committed = world.transactions.begin(), world.transactions.begin()
    world.receive(queue, 1, aborted)
    world.send(queue, "f", transaction=committed)
    refused = world.transactions.commit(committed)
    pending = world.transactions.abort(aborted)
    world.commit(StorageFull("disk"))
    assert isinstance(refused.error, StorageFull)
    assert not pending.done
    world.done(pending)
    assert world.read(queue) == list("abcde")


@pytest.mark.parametrize("together", [True, False])
def test_a_commit_does_not_succeed_if_a_send_before_it_fails(
    world: World, queue: ManagedQueue, together: bool
) -> None:
    """In the same commit of the store, or in the one before."""
    transaction = world.transactions.begin("named")
    world.receive(queue, 1, transaction)
    send = world.enqueuer.send(queue, [message(b"x" * (SPILL_SIZE + 1))], transaction)
    if together:
        pending = world.transactions.commit(transaction)
        world.commit(StorageFailed("disk"))
    else:
        world.core.start_commit(world.store.begin())
        pending = world.transactions.commit(transaction)
        world.store.abort()
        world.core.finish_commit(StorageFailed("disk"))
        world.commit()
    assert isinstance(send.error, StorageFailed)
    assert isinstance(pending.error, StorageFailed if together else TransactionSequence)
    with pytest.raises(TransactionSequence):
        world.transactions.commit(transaction)
    end(world, transaction, commits=False)
    assert world.read(queue) == list("abcde")


# What disturbs


@pytest.mark.parametrize("commits", [True, False])
def test_a_transaction_ends_once(world: World, queue: ManagedQueue, commits: bool) -> None:
    """DMPR-284, DMPR-289, DMPR-296."""
    transaction = world.transactions.begin("named")
    world.receive(queue, 1, transaction)
    first = world.transactions.commit(transaction)
    for _ in range(2):
        with pytest.raises(TransactionSequence) as info:
            ending(world, transaction, commits=commits)
        assert info.value.hresult == 0xC00E0051
        with pytest.raises(TransactionSequence):
            world.transactions.prepare(transaction)
        world.done(first)
    assert world.read(queue) == list("bcde")


@pytest.mark.parametrize("commits", [True, False])
def test_messages_purged_while_they_were_locked_are_gone_either_way(
    world: World, queue: ManagedQueue, commits: bool
) -> None:
    """What was sent stays: it was not in the queue yet (DMPR-137, DMPR-292)."""
    transaction = world.transactions.begin()
    world.receive(queue, 2, transaction)
    world.send(queue, "f", transaction=transaction)
    assert world.done(world.core.queue_lifecycle.purge(queue)) == 3
    assert queue.total_size == 3
    end(world, transaction, commits=commits)
    assert world.read(queue) == (["f"] if commits else [])
    assert queue.total_size == queue.messages == int(commits)


def test_a_purge_that_comes_while_an_abort_is_committed_takes_the_messages(
    world: World, queue: ManagedQueue
) -> None:
    transaction = world.transactions.begin()
    world.receive(queue, 2, transaction)
    pending = world.transactions.abort(transaction)
    world.core.start_commit(world.store.begin())
    purge = world.core.queue_lifecycle.purge(queue)
    world.store.commit()
    world.core.finish_commit()
    assert world.read(queue) == []
    assert world.done(purge) == 5
    world.done(pending)
    assert (queue.total_size, queue.messages) == (0, 0)


@pytest.mark.parametrize("commits", [True, False])
def test_a_queue_deleted_meanwhile_is_not_revived(
    world: World, queue: ManagedQueue, commits: bool
) -> None:
    """DMPR-395."""
    other = world.queue("other", transactional=True)
    transaction = world.transactions.begin()
    world.receive(queue, 2, transaction)
    world.send(queue, "f", "x" * (SPILL_SIZE + 1), transaction=transaction)
    world.send(queue, "g", transaction=transaction)
    world.send(other, "o", transaction=transaction)
    world.done(world.core.queue_lifecycle.delete(queue))
    end(world, transaction, commits=commits)
    assert world.read(other) == (["o"] if commits else [])
    assert len(world.rows(Table.INDEX)) == int(commits)
    assert len(world.rows(Table.PACKETS)) == int(commits)
    assert [known.properties.name for known in world.restart().core.queues] == ["other"]


def test_transactions_have_numbers_that_were_never_used(world: World, queue: ManagedQueue) -> None:
    """DMPR-281."""
    numbers = [world.transactions.begin().number for _ in range(3)]
    assert len(set(numbers)) == 3
    assert world.restart().transactions.begin().number > max(numbers)


# Prepare


def prepared(world: World, queue: ManagedQueue) -> ManagedTransaction:
    """A transaction that has received a and b, sent f, and is prepared."""
    transaction = world.transactions.begin("xid-1")
    world.receive(queue, 2, transaction)
    world.send(queue, "f", transaction=transaction)
    world.done(world.transactions.prepare(transaction))
    return transaction


@pytest.mark.parametrize("restarts", [0, 1, 2])
@pytest.mark.parametrize("commits", [True, False])
def test_a_prepared_transaction_waits_for_its_outcome_through_crashes(
    world: World, queue: ManagedQueue, commits: bool, restarts: int
) -> None:
    """DMPR-028, DMPR-105, DMPR-107, DMPR-108, DMPR-306."""
    prepared(world, queue)
    for _ in range(restarts):
        world = world.restart()
    queue = world.core.queues.find("q")
    assert world.read(queue) == list("cde")
    assert list(world.core.prepared) == ["xid-1"]
    end(world, world.core.prepared["xid-1"], commits=commits)
    for after in (world, world.restart()):
        assert after.read(after.core.queues.find("q")) == list("cdef" if commits else "abcde")
        assert not after.core.prepared
        assert after.core.queues.find("q").messages == (4 if commits else 5)
    assert not world.rows(Table.TRANSACTIONS)


def test_the_age_of_a_prepared_transaction_is_known_through_crashes(
    world: World, queue: ManagedQueue
) -> None:
    world.tick(100)
    prepared(world, queue)
    assert world.transactions.prepared_ages() == {"xid-1": 0}
    world.tick(50, jump=100_000)
    assert world.transactions.prepared_ages() == {"xid-1": 50}, "a clock that is set ages no one"
    world = world.restart(7)
    assert world.transactions.prepared_ages() == {"xid-1": 57}
    assert world.restart(-1000).transactions.prepared_ages() == {"xid-1": 0}


def test_one_that_was_prepared_before_that_was_written_down_is_as_old_as_the_process(
    world: World, queue: ManagedQueue
) -> None:
    prepared(world, queue)
    writer = world.store.begin()
    [(key, row)] = [
        (key, row)
        for key, row in writer.scan(Table.TRANSACTIONS, b"", b"\xff" * 13)
        if split_key(key)[1] == HEADER
    ]
    assert json.loads(row)["prepared"] == world.core.timeline.now
    writer.put(Table.TRANSACTIONS, key, json.dumps({"xid": "xid-1"}).encode())
    world.store.commit()
    world = world.restart(1000)
    world.tick(5)
    assert world.transactions.prepared_ages() == {"xid-1": 5}


def test_nothing_more_is_done_in_a_prepared_transaction(world: World, queue: ManagedQueue) -> None:
    transaction = prepared(world, queue)
    with pytest.raises(TransactionSequence):
        world.enqueuer.send(queue, [message("g")], transaction)
    with pytest.raises(TransactionSequence):
        world.receive(queue, holder=transaction)
    with pytest.raises(TransactionSequence):
        world.transactions.prepare(transaction)


def test_a_transaction_needs_a_name_of_its_own_to_be_prepared(
    world: World, queue: ManagedQueue
) -> None:
    """DMPR-282."""
    same = world.transactions.begin("xid-1")
    prepared(world, queue)
    for transaction in (same, world.transactions.begin()):
        with pytest.raises(TransactionSequence) as info:
            world.transactions.prepare(transaction)
        assert info.value.hresult == 0xC00E0051
        assert transaction.is_open
    with pytest.raises(TransactionSequence):
        world.transactions.begin("xid-1")
    end(world, world.core.prepared["xid-1"])
    world.done(world.transactions.prepare(same))


def test_a_prepare_that_fails_leaves_the_transaction_open(
    world: World, queue: ManagedQueue
) -> None:
    transaction = world.transactions.begin("xid-1")
    world.receive(queue, 1, transaction)
    world.send(queue, "f", transaction=transaction)
    pending = world.transactions.prepare(transaction)
    with pytest.raises(TransactionSequence):
        world.transactions.commit(transaction)
    world.commit(StorageFailed("disk"))
    assert isinstance(pending.error, StorageFailed)
    assert not world.core.prepared
    world.send(queue, "g", transaction=transaction)
    end(world, transaction)
    assert world.read(queue) == list("bcdefg")


@pytest.mark.parametrize("commits", [True, False])
def test_a_prepared_transaction_that_did_nothing_is_gone_after_its_outcome(
    world: World, commits: bool
) -> None:
    transaction = world.transactions.begin("xid-1")
    world.done(world.transactions.prepare(transaction))
    assert list(world.restart().core.prepared) == ["xid-1"]
    end(world, transaction, commits=commits)
    assert not world.restart().core.prepared


@pytest.mark.parametrize("restarts", [False, True])
@pytest.mark.parametrize("commits", [True, False])
def test_what_was_purged_while_a_transaction_is_in_doubt_does_not_come_back(
    world: World, queue: ManagedQueue, commits: bool, restarts: bool
) -> None:
    """DMPR-105, DMPR-137, DMPR-292."""
    prepared(world, queue)
    assert world.done(world.core.queue_lifecycle.purge(queue)) == 3
    if restarts:
        world = world.restart()
    end(world, world.core.prepared["xid-1"], commits=commits)
    for after in (world, world.restart()):
        again = after.core.queues.find("q")
        commit_all(after.core)
        assert after.read(again) == (["f"] if commits else [])
        assert (again.messages, again.total_size) == (int(commits), int(commits))


def test_a_large_transaction_can_be_prepared(world: World, queue: ManagedQueue) -> None:
    transaction = world.transactions.begin("xid-1")
    sent = [str(number) * SPILL_SIZE for number in range(3)]
    for one in sent:
        world.send(queue, one, transaction=transaction)
    world.done(world.transactions.prepare(transaction))
    again = world.restart()
    end(again, again.core.prepared["xid-1"])
    assert again.read(again.core.queues.find("q")) == [*"abcde", *sent]


def test_a_prepared_send_to_a_queue_deleted_meanwhile_is_dropped(
    world: World, queue: ManagedQueue
) -> None:
    """DMPR-395."""
    prepared(world, queue)
    world.done(world.core.queue_lifecycle.delete(queue))
    again = world.restart()
    end(again, again.core.prepared["xid-1"])
    for table in (Table.QUEUES, Table.INDEX, Table.PACKETS, Table.TRANSACTIONS):
        assert not again.rows(table)
