"""Epochs: many prepared transactions that commit together, once."""

from __future__ import annotations

import pytest
from tests.unit.model.world import World

from openmsmq.errors import InvalidParameter, StorageFailed, TransactionSequence
from openmsmq.model.epochs import Epochs
from openmsmq.model.queue import Queue


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def queue(world: World) -> Queue:
    return world.queue(transactional=True)


def prepare(world: World, queue: Queue, xid: str) -> None:
    transaction = world.transacting.begin(xid)
    world.send(queue, xid, transaction=transaction)
    world.done(world.transacting.prepare(transaction))


def epochs(world: World) -> Epochs:
    return Epochs(world.core, world.transacting)


def test_winners_commit_and_the_rest_of_the_writer_is_aborted(world: World, queue: Queue) -> None:
    for xid in ("w/1/0/a", "w/1/0/b", "w/1/1/a", "w/0/9/a", "w/2/0/a", "other/1/0/a", "w"):
        prepare(world, queue, xid)
    found = epochs(world)
    assert found.last("w") is None
    assert world.done(found.commit("w", 1, ["w/1/0/b", "w/1/1/a"])) is True
    assert sorted(world.read(queue)) == ["w/1/0/b", "w/1/1/a"]
    assert sorted(world.core.prepared) == ["other/1/0/a", "w", "w/2/0/a"]
    assert found.last("w") == 1


def test_an_epoch_is_decided_once_beyond_a_restart(world: World, queue: Queue) -> None:
    prepare(world, queue, "w/1/0/a")
    assert world.done(epochs(world).commit("w", 1, ["w/1/0/a"])) is True
    assert world.done(epochs(world).commit("w", 1, ["w/1/0/a"])) is False
    again = world.restart()
    assert again.done(epochs(again).commit("w", 1, ["w/1/0/a"])) is False
    assert again.done(epochs(again).commit("w", 0, [])) is False
    assert again.done(epochs(again).commit("w", 2, [])) is True


def test_a_crash_before_the_commit_leaves_all_as_it_was(world: World, queue: Queue) -> None:
    prepare(world, queue, "w/1/0/a")
    epochs(world).commit("w", 1, ["w/1/0/a"])
    again = world.restart()
    assert list(again.core.prepared) == ["w/1/0/a"]
    assert again.done(epochs(again).commit("w", 1, ["w/1/0/a"])) is True


def test_a_commit_that_fails_can_be_tried_again(world: World, queue: Queue) -> None:
    prepare(world, queue, "w/1/0/a")
    found = epochs(world)
    pending = found.commit("w", 1, ["w/1/0/a"])
    with pytest.raises(TransactionSequence):
        found.commit("w", 1, [])
    world.commit(StorageFailed("broken"))
    with pytest.raises(StorageFailed):
        pending.result()
    assert world.done(found.commit("w", 1, ["w/1/0/a"])) is True
    assert world.read(queue) == ["w/1/0/a"]


def test_a_winner_that_is_not_prepared_is_refused(world: World, queue: Queue) -> None:
    prepare(world, queue, "w/1/0/a")
    with pytest.raises(TransactionSequence, match="ghost is not prepared"):
        epochs(world).commit("w", 1, ["w/1/0/a", "ghost"])
    assert list(world.core.prepared) == ["w/1/0/a"]


@pytest.mark.parametrize("name", ["", "x" * 401, "\ud800"], ids=len)
def test_a_writer_needs_a_name(world: World, name: str) -> None:
    with pytest.raises(InvalidParameter):
        epochs(world).commit(name, 1, [])


def test_a_writer_is_refused_to_another_owner(world: World, queue: Queue) -> None:
    prepare(world, queue, "w/0/0/a")
    assert world.done(epochs(world).commit("w", 0, ["w/0/0/a"], "query 1")) is True
    assert epochs(world).owner("w") == "query 1"
    assert world.done(epochs(world).commit("w", 0, [], "query 1")) is False
    for owner in ("query 2", ""):
        with pytest.raises(TransactionSequence, match="is of query 1"):
            epochs(world).commit("w", 0, [], owner)


def test_a_writer_without_an_owner_gets_one(world: World) -> None:
    assert world.done(epochs(world).commit("w", 0, [])) is True
    assert world.done(epochs(world).commit("w", 1, [], "query 1")) is True
    assert epochs(world).owner("w") == "query 1"
