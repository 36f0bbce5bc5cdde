"""Runs that a transaction sends: in memory, in the store, prepared, committed and dropped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from struct import error as StructError
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.engine.runs import check, runs
from tests.unit.engine.world import World, letter

from openmsmq.engine.commit.run_rows import NewRun
from openmsmq.engine.queues.queue import ManagedQueue
from openmsmq.engine.storage.layout import CHUNK_SIZE, NEVER, Owed
from openmsmq.engine.storage.tables import Table
from openmsmq.engine.transactions.staged import StagedSend, read_sent, sent_row
from openmsmq.engine.transactions.transaction import (
    SPILL_SIZE,
    ManagedTransaction,
    TransactionState,
    packed_id,
)
from openmsmq.errors import QueueQuotaExceeded, StorageFull, TransactionSequence, TransactionUsage
from openmsmq.packet.headers.transaction import TransactionFlags
from openmsmq.packet.view import PacketView
from openmsmq.packet.walk import marked
from openmsmq.types.caller import INTERNAL

COUNT: Final = 6
SMALL, LARGE = 10, SPILL_SIZE // COUNT + CHUNK_SIZE


def run_of(transaction: ManagedTransaction, size: int, *, first: int, plain: bool) -> NewRun:
    """Messages of a transaction in one piece, as `Sender` makes them; their sizes differ."""
    mark = 0 if plain else packed_id(transaction.number)
    packets = []
    for number in range(first, first + COUNT):
        body = f"{number:04}" + "x" * (size + number % 3 * 4)
        packet = letter(body, number=number, transactional=not plain).packet
        packets.append(packet if plain else marked(packet, mark))
    flags = 0 if plain else Owed.TRANSACTIONAL.value
    return NewRun(b"".join(packets), list(map(len, packets)), 3 if plain else 0, flags)


def send_run(
    world: World, queue: ManagedQueue, transaction: ManagedTransaction, size: int, first: int = 1
) -> None:
    """Send a run in a transaction."""
    run = run_of(transaction, size, first=first, plain=transaction.is_plain_to(queue))
    world.enqueuer.check_run(queue, len(run.packets), transaction)
    world.done(world.enqueuer.send_run(queue, run, transaction, INTERNAL, None))


def numbers(world: World, queue: ManagedQueue) -> list[int]:
    """What the bodies in a queue begin with."""
    return [int(view.body[:4]) for view in world.views(queue)]


@pytest.fixture(params=[True, False], ids=["transactional", "plain"])
def transactional(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


@pytest.fixture(params=[SMALL, LARGE], ids=["in memory", "in the store"])
def size(request: pytest.FixtureRequest) -> int:
    return int(request.param)


@pytest.fixture
def world() -> World:
    return World()


@pytest.mark.parametrize("prepares", [False, True])
def test_a_run_stays_one_when_its_transaction_commits(
    world: World, transactional: bool, size: int, prepares: bool
) -> None:
    """DMPR-105, DMPR-283 (A-33): nothing is seen before, and all messages are marked."""
    queue = world.queue(transactional=transactional)
    transaction = world.transactions.begin("xid", stages=True)
    send_run(world, queue, transaction, size)
    send_run(world, queue, transaction, size, first=7)
    assert not numbers(world, queue)
    if prepares:
        world.done(world.transactions.prepare(transaction))
        check(world)
        world = world.restart()
        queue, transaction = world.find("q"), world.core.prepared["xid"]
        assert not numbers(world, queue)
        assert queue.reserved == sum(transaction.reserved.values())
    world.done(world.transactions.commit(transaction))
    assert numbers(world, queue) == list(range(1, 13))
    assert [run.count for run in runs(world)] == [COUNT, COUNT]
    assert not world.rows(Table.TRANSACTIONS)
    assert queue.reserved == 0
    check(world)
    if transactional:
        headers = [view.transaction for view in world.views(queue)]
        found = [header.flags if header else 0 for header in headers]
        number = packed_id(transaction.number)
        first, last = number | TransactionFlags.FM, number | TransactionFlags.LM
        assert found == [first, *[number] * 10, last]


@pytest.mark.parametrize("end", ["abort", "abort prepared", "crash"])
def test_nothing_is_left_of_a_run_whose_transaction_does_not_commit(
    world: World, transactional: bool, size: int, end: str
) -> None:
    queue = world.queue(transactional=transactional)
    transaction = world.transactions.begin("xid", stages=True)
    send_run(world, queue, transaction, size)
    if end == "abort prepared":
        world.done(world.transactions.prepare(transaction))
    if end == "crash":
        world = world.restart()
        world.commit()
    else:
        world.done(world.transactions.abort(transaction))
    assert not world.rows(Table.PACKETS)
    assert not world.rows(Table.TRANSACTIONS)
    assert not world.rows(Table.RUNS)
    check(world)


def test_single_messages_and_runs_stay_in_their_order(
    world: World, transactional: bool, size: int
) -> None:
    queue = world.queue(transactional=transactional)
    transaction = world.transactions.begin(stages=True)
    for first in (1, 8, 15):
        world.send(
            queue, letter(f"{first:04}", transactional=transactional), transaction=transaction
        )
        send_run(world, queue, transaction, size, first=first + 1)
    world.send(queue, letter("0022", transactional=transactional), transaction=transaction)
    world.done(world.transactions.commit(transaction))
    assert numbers(world, queue) == list(range(1, 23))
    check(world)


def test_a_queue_that_keeps_no_runs_any_more_gets_single_messages(
    world: World, transactional: bool, size: int
) -> None:
    """Its journal was turned on after they were sent."""
    queue = world.queue(transactional=transactional)
    transaction = world.transactions.begin(stages=True)
    send_run(world, queue, transaction, size)
    queue.properties = replace(queue.properties, journal=True)
    world.done(world.transactions.commit(transaction))
    assert numbers(world, queue) == list(range(1, 7))
    assert not runs(world)
    check(world)


def test_a_run_to_a_queue_that_was_deleted_is_dropped(world: World, size: int) -> None:
    queue = world.queue(transactional=True)
    transaction = world.transactions.begin("xid")
    send_run(world, queue, transaction, size)
    world.done(world.core.queue_lifecycle.delete(queue))
    world.done(world.transactions.commit(transaction))
    assert not world.rows(Table.PACKETS)
    check(world)


def test_a_run_that_could_not_be_written_dooms_its_transaction(world: World) -> None:
    queue = world.queue(transactional=True)
    transaction = world.transactions.begin()
    run = run_of(transaction, LARGE, first=1, plain=False)
    pending = world.enqueuer.send_run(queue, run, transaction, INTERNAL, None)
    world.commit(StorageFull("full"))
    assert isinstance(pending.error, StorageFull)
    assert transaction.state is TransactionState.DOOMED


def test_a_run_that_could_not_be_prepared_can_be_prepared_again(world: World) -> None:
    queue = world.queue(transactional=True)
    transaction = world.transactions.begin("xid")
    send_run(world, queue, transaction, SMALL)
    pending = world.transactions.prepare(transaction)
    world.commit(StorageFull("full"))
    assert isinstance(pending.error, StorageFull)
    world.done(world.transactions.prepare(transaction))
    world.done(world.transactions.commit(transaction))
    assert numbers(world, queue) == list(range(1, 7))


def test_runs_are_refused_as_other_messages_are(world: World) -> None:
    plain, limited = world.queue("plain"), world.queue("limited", transactional=True, quota=1)
    transaction = world.transactions.begin()
    with pytest.raises(TransactionUsage, match="plain is not transactional"):
        world.enqueuer.check_run(plain, 100, transaction)
    with pytest.raises(TransactionUsage, match="limited is transactional"):
        world.enqueuer.check_run(limited, 100, None)
    with pytest.raises(QueueQuotaExceeded):
        world.enqueuer.check_run(limited, 2000, transaction)
    world.done(world.transactions.abort(transaction))
    with pytest.raises(TransactionSequence):
        world.enqueuer.check_run(limited, 100, transaction)


# Rows

sizes = st.lists(st.integers(1, 1 << 20), min_size=2, max_size=20) | st.integers(2, 1000).map(
    lambda count: [1000] * count
)


@given(sizes, st.sampled_from((0, Owed.TRANSACTIONAL.value)))
def test_a_row_says_where_the_messages_of_a_run_are(each: Sequence[int], flags: int) -> None:
    sent = StagedSend(16, 3, 5, sum(each), NEVER, flags, bytes(20), sizes=each)
    assert read_sent(sent_row(sent)) == sent
    assert sent.last == (sum(each) - each[-1], sum(each))


@given(sizes, st.data())
def test_a_row_that_was_cut_is_none(each: Sequence[int], data: st.DataObject) -> None:
    row = sent_row(StagedSend(16, 3, 5, sum(each), NEVER, 0, bytes(20), sizes=each))
    end = data.draw(st.integers(0, len(row) - 1).filter(lambda end: end != 43))
    with pytest.raises((ValueError, StructError)):
        read_sent(row[:end])


def test_the_packets_of_a_run_are_messages() -> None:
    run = run_of(ManagedTransaction(5), SMALL, first=3, plain=False)
    assert [PacketView(packet).message_id for packet in run.split()] == list(range(3, 9))
