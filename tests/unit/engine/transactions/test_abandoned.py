"""Transactions whose owners are gone."""

from __future__ import annotations

from functools import partial

import pytest
from tests.unit.engine.world import World

from openmsmq.engine.queues.queue import ManagedQueue
from openmsmq.engine.transactions.abandoned import RETRY_S
from openmsmq.engine.transactions.transaction import ManagedTransaction, TransactionState
from openmsmq.errors import StorageFailed


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def queue(world: World) -> ManagedQueue:
    queue = world.queue(transactional=True)
    world.fill(queue, *"abc")
    return queue


def abandon(world: World, transaction: ManagedTransaction) -> None:
    abort = partial(world.transactions.abort, transaction)
    world.core.abandoned_transactions.add(transaction, abort)


def test_what_was_received_is_back_at_once(world: World, queue: ManagedQueue) -> None:
    transaction = world.transactions.begin()
    world.receive(queue, 1, transaction)
    abandon(world, transaction)
    world.commit()
    assert world.core.next_deadline is None
    assert world.read(queue) == list("abc")


def test_an_abort_that_fails_is_tried_again_until_it_does_not(
    world: World, queue: ManagedQueue
) -> None:
    """Else the messages would be locked until the next start: no one else can end it."""
    transaction = world.transactions.begin()
    world.receive(queue, 1, transaction)
    abandon(world, transaction)
    world.commit(StorageFailed("disk"))
    for _ in range(2):
        assert world.core.next_deadline == RETRY_S
        assert world.pass_time(RETRY_S), "a commit begins"
        world.commit(StorageFailed("disk"))
    world.tick(RETRY_S)
    assert len(world.core.abandoned_transactions) == 0
    assert world.core.next_deadline is None
    assert world.read(queue) == list("abc")


@pytest.mark.parametrize("fails", [False, True])
def test_a_commit_that_was_under_way_decides(
    world: World, queue: ManagedQueue, fails: bool
) -> None:
    transaction = world.transactions.begin()
    world.receive(queue, 1, transaction)
    world.transactions.commit(transaction)
    abandon(world, transaction)
    world.commit(StorageFailed("disk") if fails else None)
    world.tick(RETRY_S)
    world.tick(RETRY_S)
    assert transaction.state is TransactionState.ENDED
    assert world.core.next_deadline is None
    assert world.read(queue) == list("abc" if fails else "bc")


def test_what_is_prepared_outlives_its_owner(world: World, queue: ManagedQueue) -> None:
    transaction = world.transactions.begin("named")
    world.receive(queue, 1, transaction)
    world.transactions.prepare(transaction)
    abandon(world, transaction)
    world.commit()
    world.tick(RETRY_S)
    assert transaction.state is TransactionState.PREPARED
    assert world.core.next_deadline is None
    assert world.read(queue) == list("bc")
