"""Epochs: many prepared transactions that commit together, once."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.engine.world import World, message

from openmsmq.engine.queues.queue import ManagedQueue
from openmsmq.engine.transactions.epochs import Epoch, Epochs
from openmsmq.engine.transactions.limits import EPOCH_NAME_MAX
from openmsmq.engine.transactions.transaction import ManagedTransaction
from openmsmq.errors import (
    AccessDenied,
    EpochDecided,
    GenericError,
    InvalidParameter,
    StorageFailed,
    StorageFull,
    TransactionSequence,
)
from openmsmq.types.caller import Caller, Grant


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def queue(world: World) -> ManagedQueue:
    return world.queue(transactional=True)


def prepare(world: World, queue: ManagedQueue, xid: str, token: str = "") -> None:
    transaction = world.transactions.begin(xid)
    transaction.token = token
    world.send(queue, xid, transaction=transaction)
    world.done(world.transactions.prepare(transaction))


def epochs(world: World) -> Epochs:
    return Epochs(world.core, world.transactions)


def test_winners_commit_and_the_rest_of_the_writer_is_aborted(
    world: World, queue: ManagedQueue
) -> None:
    for xid in ("w/1/0/a", "w/1/0/b", "w/1/1/a", "w/0/9/a", "w/2/0/a", "other/1/0/a", "w"):
        prepare(world, queue, xid)
    found = epochs(world)
    assert found.last("w") is None
    assert world.done(found.commit("w", 1, ["w/1/0/b", "w/1/1/a"])) is True
    assert sorted(world.read(queue)) == ["w/1/0/b", "w/1/1/a"]
    assert sorted(world.core.prepared) == ["other/1/0/a", "w", "w/2/0/a"]
    assert found.last("w") == Epoch(1)


def test_an_epoch_is_decided_once_beyond_a_restart(world: World, queue: ManagedQueue) -> None:
    prepare(world, queue, "w/1/0/a")
    assert world.done(epochs(world).commit("w", 1, ["w/1/0/a"])) is True
    assert world.done(epochs(world).commit("w", 1, ["w/1/0/a"])) is False
    again = world.restart()
    assert again.done(epochs(again).commit("w", 1, ["w/1/0/a"])) is False
    assert again.done(epochs(again).commit("w", 0, [])) is False
    assert again.done(epochs(again).commit("w", 2, [])) is True


def test_a_crash_before_the_commit_leaves_all_as_it_was(world: World, queue: ManagedQueue) -> None:
    prepare(world, queue, "w/1/0/a")
    epochs(world).commit("w", 1, ["w/1/0/a"])
    again = world.restart()
    assert list(again.core.prepared) == ["w/1/0/a"]
    assert again.done(epochs(again).commit("w", 1, ["w/1/0/a"])) is True


def test_after_a_crash_behind_it_nothing_of_the_epoch_is_left(
    world: World, queue: ManagedQueue
) -> None:
    for xid in ("w/1/0/a", "w/1/0/b"):
        prepare(world, queue, xid)
    epochs(world).commit("w", 1, ["w/1/0/a"])
    world.commit()
    again = world.restart()
    assert list(again.core.prepared) == []


def test_if_one_winner_cannot_be_committed_none_is_and_nothing_is_decided(
    world: World, queue: ManagedQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    for xid in ("w/1/0/a", "w/1/0/b", "w/1/1/a"):
        prepare(world, queue, xid)
    found = epochs(world)
    with monkeypatch.context() as patch:
        commit = ManagedTransaction.commit

        def broken(transaction: ManagedTransaction, *given: Any) -> None:
            commit(transaction, *given)
            if transaction.xid == "w/1/1/a":
                raise ZeroDivisionError

        patch.setattr(ManagedTransaction, "commit", broken)
        with pytest.raises(GenericError):
            world.done(found.commit("w", 1, ["w/1/0/b", "w/1/1/a"]))
    assert world.read(queue) == []
    assert len(world.core.prepared) == len(world.restart().core.prepared) == 3
    assert world.done(found.commit("w", 1, ["w/1/0/b", "w/1/1/a"])) is True
    assert sorted(world.read(queue)) == ["w/1/0/b", "w/1/1/a"]
    assert not world.core.prepared


def test_a_commit_that_fails_can_be_tried_again(world: World, queue: ManagedQueue) -> None:
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


def test_a_full_disk_fails_an_epoch_that_is_decided(world: World) -> None:
    """It is not tried again by itself, as what frees room would be."""
    plain = world.queue("plain")
    pending = epochs(world).commit("w", 1, [])
    world.enqueuer.send(plain, [message("x")], result=None)
    world.commit(StorageFull("disk"))
    assert isinstance(pending.error, StorageFull)


def test_a_winner_that_is_not_prepared_is_refused(world: World, queue: ManagedQueue) -> None:
    prepare(world, queue, "w/1/0/a")
    with pytest.raises(TransactionSequence, match="ghost is not prepared"):
        epochs(world).commit("w", 1, ["w/1/0/a", "ghost"])
    assert list(world.core.prepared) == ["w/1/0/a"]


@pytest.mark.parametrize("name", ["", "x" * 401, "\ud800"], ids=len)
def test_a_writer_needs_a_name(world: World, name: str) -> None:
    with pytest.raises(InvalidParameter):
        epochs(world).commit(name, 1, [])


def test_names_have_as_many_bytes_as_they_may(world: World) -> None:
    found, longest = epochs(world), "ü" * (EPOCH_NAME_MAX // 2) + "x" * (EPOCH_NAME_MAX % 2)
    assert world.done(found.commit(longest, 1, [], owner=longest)) is True
    assert found.last(longest) is not None
    for writer, owner in ((f"{longest}x", ""), ("w", f"{longest}x")):
        with pytest.raises(InvalidParameter, match=f"up to {EPOCH_NAME_MAX} bytes"):
            found.commit(writer, 2, [], owner=owner)


def test_a_writer_is_refused_to_another_owner(world: World, queue: ManagedQueue) -> None:
    prepare(world, queue, "w/0/0/a")
    assert world.done(epochs(world).commit("w", 0, ["w/0/0/a"], "query 1")) is True
    assert epochs(world).last("w") == Epoch(0, "query 1")
    assert world.done(epochs(world).commit("w", 0, [], "query 1")) is False
    for owner in ("query 2", ""):
        with pytest.raises(TransactionSequence, match="belongs to query 1"):
            epochs(world).commit("w", 0, [], owner)


def test_a_writer_without_an_owner_gets_one(world: World) -> None:
    assert world.done(epochs(world).commit("w", 0, [])) is True
    assert world.done(epochs(world).commit("w", 1, [], "query 1")) is True
    assert epochs(world).last("w") == Epoch(1, "query 1")


# Those that are late


def test_what_is_late_is_not_prepared(world: World, queue: ManagedQueue) -> None:
    found = epochs(world)
    world.done(found.commit("w", 1, []))
    for number in (0, 1):
        late = world.transactions.begin(f"w/{number}/0/a")
        with pytest.raises(EpochDecided, match=f"epoch {number} of w is decided"):
            found.prepare(late)
    for xid in ("w/2/0/a", "v/1/0/a", "w", "w/x", "/1/0", "\ud800/1/0", f"{'w' * 401}/1/0"):
        transaction = world.transactions.begin(xid)
        world.send(queue, "x", transaction=transaction)
        world.done(found.prepare(transaction))
        world.done(world.transactions.abort(transaction))


def test_what_is_prepared_meanwhile_is_dropped(world: World, queue: ManagedQueue) -> None:
    """It began before the epoch was decided, and is written by the same commit."""
    found = epochs(world)
    slow = world.transactions.begin("w/1/0/slow")
    world.send(queue, "slow", transaction=slow)
    found.prepare(slow)
    decided = found.commit("w", 1, [])
    later = world.transactions.begin("w/1/0/later")
    with pytest.raises(EpochDecided):
        found.prepare(later)
    assert world.done(decided) is True
    world.commit()
    assert world.core.prepared == {}


def test_to_decide_again_drops_what_was_prepared_again(world: World, queue: ManagedQueue) -> None:
    prepare(world, queue, "w/1/0/a")
    found = epochs(world)
    world.done(found.commit("w", 1, ["w/1/0/a"]))
    prepare(world, queue, "w/1/0/b")
    assert world.done(found.commit("w", 1, ["w/1/0/b"])) is False
    assert world.core.prepared == {}
    assert world.read(queue) == ["w/1/0/a"]


# Writers with one epoch


def test_one_epoch_is_decided_once_and_leaves_no_row_for_ever(
    world: World, queue: ManagedQueue
) -> None:
    prepare(world, queue, "w/0/0/a")
    assert world.done(epochs(world).commit("w", 0, ["w/0/0/a"], final=True)) is True
    assert epochs(world).last("w") is None
    again = world.restart()
    found = epochs(again)
    assert again.done(found.commit("w", 0, ["w/0/0/a"], final=True)) is False
    with pytest.raises(EpochDecided):
        found.prepare(again.transactions.begin("w/0/0/b"))
    assert len(again.read(again.core.queues.find(queue.name))) == 1


# Tokens

SENDER = Caller("sender", Grant("send", token="ab12"))
STRANGER = Caller("stranger", Grant("send", token="cd34"))


def test_who_has_prepared_may_decide(world: World, queue: ManagedQueue) -> None:
    prepare(world, queue, "w/0/0/a", "ab12")
    again = world.restart()
    found = epochs(again)
    with pytest.raises(AccessDenied, match="w/0/0/a was prepared with another token"):
        found.commit("w", 0, ["w/0/0/a"], caller=STRANGER)
    assert again.done(found.commit("w", 0, ["w/0/0/a"], caller=SENDER)) is True
    assert found.last("w") == Epoch(0, "", "ab12")


def test_no_one_else_drops_or_decides_it(world: World, queue: ManagedQueue) -> None:
    prepare(world, queue, "w/0/0/a", "ab12")
    found = epochs(world)
    assert world.done(found.commit("w", 0, [], "query 2", final=True, caller=STRANGER)) is True
    assert list(world.core.prepared) == ["w/0/0/a"]
    assert world.done(found.commit("w", 0, ["w/0/0/a"], caller=SENDER)) is True
    with pytest.raises(AccessDenied, match="w was used with another token"):
        found.commit("w", 1, [], caller=STRANGER)
    assert world.done(found.commit("w", 1, [])) is True, "an administrator may"


def test_who_knows_the_owner_may_come_with_another_token(world: World, queue: ManagedQueue) -> None:
    found = epochs(world)
    prepare(world, queue, "w/0/0/a", "ab12")
    world.done(found.commit("w", 0, ["w/0/0/a"], "query 1", caller=SENDER))
    prepare(world, queue, "w/1/0/a", "ab12")
    prepare(world, queue, "w/1/0/b", "ab12")
    assert world.done(found.commit("w", 1, ["w/1/0/a"], "query 1", caller=STRANGER)) is True
    assert world.core.prepared == {}
    assert world.read(queue) == ["w/0/0/a", "w/1/0/a"]
