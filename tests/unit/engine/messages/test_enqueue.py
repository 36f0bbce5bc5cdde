"""Sending: order, quotas, durability, transactions."""

from __future__ import annotations

import pytest
from tests.unit.engine.world import OWNER, World, message, packets

from openmsmq.engine.messages import enqueue as sending
from openmsmq.engine.queues.queue import ManagedQueue
from openmsmq.engine.storage.tables import Table
from openmsmq.engine.transactions.transaction import SPILL_SIZE
from openmsmq.errors import (
    InsufficientResources,
    MachineQuotaExceeded,
    MQError,
    QueueNotAvailable,
    QueueQuotaExceeded,
    StorageFailed,
    StorageFull,
    TransactionSequence,
    TransactionUsage,
)
from openmsmq.types.settings import Settings

KIB = 1024


def state(world: World) -> object:
    """All that a refused send must leave as it was."""
    queues = [
        (queue.number, world.read(queue), world.lookups(queue), queue.total_size, queue.messages)
        for queue in world.core.queues
    ]
    return queues, world.store.committed, world.core.wants_commit


def test_messages_are_read_by_priority_then_arrival(world: World) -> None:
    """DMPR-043, DMPR-192."""
    queue = world.queue()
    for number, priority in enumerate((3, 0, 7, 3, 7, 0)):
        world.send(queue, f"{priority}-{number}", priority=priority)
    assert world.read(queue) == ["7-2", "7-4", "3-0", "3-3", "0-1", "0-5"]
    lookups = world.lookups(queue)
    assert lookups == sorted(set(lookups))


def test_every_message_raises_the_arrival_number_by_one_in_any_queue(world: World) -> None:
    """DMPR-030, DMPR-189."""
    queues = [world.queue(name) for name in "ab"]
    arrivals = []
    for turn in range(6):
        queue = queues[turn % 2]
        world.send(queue, str(turn), express=turn % 3 == 0)
        arrivals.append(max(lookup & (1 << 56) - 1 for lookup in world.lookups(queue)))
    assert arrivals == list(range(arrivals[0], arrivals[0] + 6))


def test_a_recoverable_message_is_answered_for_and_seen_when_it_is_on_disk(world: World) -> None:
    """DMPR-061, DMPR-194."""
    queue = world.queue()
    pending = world.enqueuer.send(queue, [message("a")])
    assert not pending.done
    assert world.read(queue) == []
    world.core.start_commit(world.store.begin())
    assert world.read(queue) == []
    world.store.commit()
    world.core.finish_commit()
    assert pending.done
    assert world.read(queue) == ["a"]
    again = world.restart()
    assert again.read(again.core.queues.find("q")) == ["a"]


def test_an_express_message_is_there_at_once_and_gone_after_a_restart(world: World) -> None:
    queue = world.queue()
    before = world.store.writes
    pending = world.enqueuer.send(queue, [message("a", express=True)])
    assert pending.done
    assert world.read(queue) == ["a"]
    assert world.store.writes == before
    again = world.restart()
    assert again.read(again.core.queues.find("q")) == []


def test_messages_sent_together_all_arrive_or_none(world: World) -> None:
    queue = world.queue()
    both = [message("a"), message("b", express=True), message("c")]
    failing = world.enqueuer.send(queue, both)
    world.commit(StorageFailed("disk"))
    assert isinstance(failing.error, StorageFailed)
    assert world.read(queue) == []
    assert queue.total_size == 0
    world.send(queue, *both)
    assert world.read(queue) == ["a", "b", "c"]


def test_messages_sent_together_keep_their_order_whatever_keeps_them(world: World) -> None:
    """DMPR-043."""
    queue = world.queue()
    kinds = [True, False, False, True, True, False]
    for start in "xy":
        sent = [message(f"{start}{n}", express=express) for n, express in enumerate(kinds)]
        world.send(queue, *sent)
    assert world.read(queue) == [f"{start}{n}" for start in "xy" for n in range(6)]
    again = world.restart()
    left = [f"{start}{n}" for start in "xy" for n in (1, 2, 5)]
    assert again.read(again.core.queues.find("q")) == left


def test_sending_nothing_is_done_at_once(world: World) -> None:
    queue = world.queue()
    assert world.enqueuer.send(queue, []).done
    assert not world.core.wants_commit


def test_an_express_message_stays_behind_those_that_are_being_committed(world: World) -> None:
    """The one who sent it is answered when it is there (DMPR-043)."""
    queue, other = world.queue(), world.queue("other")
    durable = world.enqueuer.send(queue, [message("first")])
    world.core.start_commit(world.store.begin())
    express = world.enqueuer.send(queue, [message("second", express=True)])
    elsewhere = world.enqueuer.send(other, [message("x", express=True)])
    assert (durable.done, express.done, elsewhere.done) == (False, False, True)
    world.store.commit()
    world.core.finish_commit()
    assert durable.done
    assert express.done
    assert world.read(queue) == ["first", "second"]


def test_an_express_message_to_a_queue_deleted_meanwhile_is_refused(world: World) -> None:
    queue = world.queue()
    world.enqueuer.send(queue, [message("first")])
    world.core.start_commit(world.store.begin())
    express = world.enqueuer.send(queue, [message("second", express=True)])
    world.core.queue_lifecycle.delete(queue)
    world.store.commit()
    world.core.finish_commit()
    assert isinstance(express.error, QueueNotAvailable)
    assert world.core.express_size == 0


def test_only_a_transaction_that_stages_sends_to_a_plain_queue(world: World) -> None:
    queue = world.queue()
    with pytest.raises(TransactionUsage):
        world.enqueuer.send(queue, [message("a")], world.transactions.begin())
    transaction = world.transactions.begin(stages=True)
    world.send(queue, "b", transaction=transaction)
    assert world.read(queue) == []
    world.done(world.transactions.commit(transaction))
    assert world.read(queue) == ["b"]


def test_waiting_readers_get_what_is_sent(world: World) -> None:
    """DMPR-194."""
    queue = world.queue()
    waiting = [world.wait_receive(queue) for _ in range(2)]
    world.send(queue, "durable")
    world.send(queue, "express", express=True)
    assert [packets(pending.result()) for pending in waiting] == [["durable"], ["express"]]


# What is refused


def test_nothing_is_sent_to_a_deleted_queue(world: World) -> None:
    queue = world.queue()
    world.done(world.core.queue_lifecycle.delete(queue))
    with pytest.raises(QueueNotAvailable) as info:
        world.enqueuer.send(queue, [message("a")])
    assert info.value.hresult == 0xC00E004B


@pytest.mark.parametrize("commits_first", [False, True])
def test_a_send_that_meets_a_delete_is_refused(world: World, commits_first: bool) -> None:
    queue = world.queue()
    pending = world.enqueuer.send(queue, [message("a"), message("b", express=True)])
    if commits_first:
        world.core.start_commit(world.store.begin())
    world.core.queue_lifecycle.delete(queue)
    if commits_first:
        world.store.commit()
        world.core.finish_commit()
    with pytest.raises(QueueNotAvailable):
        world.done(pending)
    assert world.core.express_size == 0
    for table in (Table.QUEUES, Table.INDEX, Table.PACKETS):
        assert not world.rows(table)


@pytest.mark.parametrize("transactional", [False, True])
def test_transactions_and_queues_must_fit(world: World, transactional: bool) -> None:
    queue = world.queue(transactional=transactional)
    transaction = None if transactional else world.transactions.begin()
    before = state(world)
    with pytest.raises(TransactionUsage) as info:
        world.enqueuer.send(queue, [message("a")], transaction)
    assert info.value.hresult == 0xC00E0050
    assert state(world) == before


def test_a_transaction_that_is_over_takes_nothing_more(world: World) -> None:
    queue = world.queue(transactional=True)
    transaction = world.transactions.begin()
    world.done(world.transactions.commit(transaction))
    before = state(world)
    with pytest.raises(TransactionSequence) as info:
        world.enqueuer.send(queue, [message("a")], transaction)
    assert info.value.hresult == 0xC00E0051
    assert state(world) == before


def quota_error(
    world: World, queue: ManagedQueue, size: int, *, express: bool = False
) -> MQError | None:
    try:
        world.send(queue, message(b"x" * size, express=express))
    except MQError as error:
        return error
    return None


@pytest.mark.parametrize("express", [False, True])
def test_a_queue_takes_what_its_quota_allows_and_no_byte_more(world: World, express: bool) -> None:
    """DMPR-187."""
    queue = world.queue(quota=2)
    assert quota_error(world, queue, KIB) is None
    before = state(world)
    error = quota_error(world, queue, KIB + 1, express=express)
    assert isinstance(error, QueueQuotaExceeded)
    assert error.hresult == 0xC00E0027
    assert state(world) == before
    assert quota_error(world, queue, KIB, express=express) is None
    assert quota_error(world, queue, 1) is not None


def test_the_machine_takes_what_its_quota_allows_over_all_queues(world: World) -> None:
    """DMPR-186."""
    first, second = world.queue("a"), world.queue("b")
    world.core.settings = Settings(quota=2)
    assert quota_error(world, first, KIB) is None
    before = state(world)
    error = quota_error(world, second, KIB + 1)
    assert isinstance(error, MachineQuotaExceeded)
    assert error.hresult == 0xC00E0027
    assert state(world) == before
    assert quota_error(world, second, KIB) is None


def test_the_quota_of_the_machine_is_tested_first(world: World) -> None:
    """DMPR-188."""
    queue = world.queue(quota=1)
    world.core.settings = Settings(quota=1)
    assert isinstance(quota_error(world, queue, KIB + 1), MachineQuotaExceeded)


def test_what_is_on_its_way_counts_against_the_quota(world: World) -> None:
    """Not committed yet, in an open transaction, or express behind a commit (A-04)."""
    plain, transactional = world.queue(quota=1), world.queue("t", transactional=True, quota=1)
    world.enqueuer.send(plain, [message(b"x" * 1000)])
    with pytest.raises(QueueQuotaExceeded):
        world.enqueuer.send(plain, [message(b"y" * 100)])
    world.core.start_commit(world.store.begin())
    world.enqueuer.send(plain, [message(b"y" * 20, express=True)])
    with pytest.raises(QueueQuotaExceeded):
        world.enqueuer.send(plain, [message(b"y" * 20, express=True)])
    world.store.commit()
    world.core.finish_commit()
    assert plain.total_size == 1020
    transaction = world.transactions.begin()
    world.send(transactional, "x" * 1000, transaction=transaction)
    with pytest.raises(QueueQuotaExceeded):
        world.send(transactional, "y" * 100, transaction=transaction)
    world.done(world.transactions.abort(transaction))
    assert transactional.total_size == 0


def test_a_message_that_was_taken_counts_until_it_is_gone(world: World) -> None:
    """Once, however often it is taken and given back (DMPR-313, DMPR-315)."""
    queue = world.queue(transactional=True)
    world.fill(queue, "abc")
    for _ in range(2):
        transaction = world.transactions.begin()
        world.receive(queue, holder=transaction)
        assert queue.total_size == 3
        world.done(world.transactions.abort(transaction))
        assert queue.total_size == 3
    world.receive(queue)
    assert queue.total_size == 0


def test_a_disk_without_room_takes_no_new_messages_but_gives_out_old_ones(world: World) -> None:
    queue = world.queue()
    world.send(queue, "a")
    world.store.room = False
    before = state(world)
    with pytest.raises(StorageFull) as info:
        world.enqueuer.send(queue, [message("b")])
    assert info.value.hresult == 0xC00E002A
    assert state(world) == before
    assert world.receive(queue) == ["a"]


def test_express_messages_take_a_bounded_part_of_the_memory(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sending, "EXPRESS_SIZE_MAX", 10)
    first, second = world.queue("a"), world.queue("b")
    world.send(first, "x" * 6, express=True)
    with pytest.raises(InsufficientResources):
        world.send(second, "y" * 5, express=True)
    world.send(second, "y" * 5)
    world.send(second, "z" * 4, express=True)
    world.receive(first)
    world.send(first, "x" * 6, express=True)


# In transactions


def test_what_a_transaction_sends_is_seen_by_no_one(world: World) -> None:
    """DMPR-195, DMPR-295."""
    queue = world.queue(transactional=True)
    transaction = world.transactions.begin()
    waiting = world.wait_receive(queue)
    world.send(queue, "a", transaction=transaction)
    assert world.read(queue) == []
    assert not waiting.done
    assert queue.messages == 0


def test_a_large_transaction_keeps_its_messages_in_the_store(world: World) -> None:
    """They stay invisible there, and in order."""
    queue = world.queue(transactional=True)
    transaction = world.transactions.begin()
    sent = [str(number) * (SPILL_SIZE // 3) for number in range(8)]
    for one in sent:
        world.send(queue, one, transaction=transaction)
    assert transaction.buffered <= SPILL_SIZE
    assert sum(len(part) for part in world.rows(Table.PACKETS).values()) > SPILL_SIZE
    assert world.read(queue) == []
    assert queue.total_size == sum(map(len, sent))
    world.done(world.transactions.commit(transaction))
    assert world.read(queue) == sent
    assert (queue.messages, queue.total_size) == (8, sum(map(len, sent)))
    assert world.receive(queue, 8) == sent
    assert not world.rows(Table.PACKETS)
    assert not world.rows(Table.TRANSACTIONS)


def test_a_transaction_that_could_not_be_written_can_only_be_aborted(world: World) -> None:
    queue = world.queue(transactional=True)
    transaction = world.transactions.begin()
    world.send(queue, "kept", transaction=transaction)
    pending = world.enqueuer.send(queue, [message(b"x" * SPILL_SIZE)], transaction)
    world.commit(StorageFull("disk"))
    assert isinstance(pending.error, StorageFull)
    with pytest.raises(TransactionSequence):
        world.transactions.commit(transaction)
    with pytest.raises(TransactionSequence):
        world.transactions.prepare(transaction)
    with pytest.raises(TransactionSequence):
        world.enqueuer.send(queue, [message("more")], transaction)
    world.done(world.transactions.abort(transaction))
    assert world.read(queue) == []
    assert queue.total_size == 0


def test_a_waiting_peek_sees_an_express_message_without_taking_it(world: World) -> None:
    queue = world.queue()
    peek = world.receiver.peek(queue, 1, OWNER, wait=True)
    world.send(queue, "a", express=True)
    assert packets(peek.result()) == ["a"]
    assert world.read(queue) == ["a"]
