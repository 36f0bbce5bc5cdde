"""Single sends that wait for the same commit are put into their queue together."""

from __future__ import annotations

import pytest
from tests.unit.engine.world import World, letter, message

from openmsmq.engine.commit.batch import Batch, NewMessage
from openmsmq.engine.commit.future import Future
from openmsmq.engine.queues.queue import ManagedQueue
from openmsmq.engine.storage.tables import Table
from openmsmq.errors import GenericError, QueueNotAvailable, StorageFailed, StorageFull
from openmsmq.packet.view import PacketView
from openmsmq.types.caller import INTERNAL, Caller


@pytest.fixture
def world() -> World:
    return World()


def send(
    world: World, queue: ManagedQueue, *sent: str | NewMessage, caller: Caller = INTERNAL
) -> Future[str]:
    new = [message(one) if isinstance(one, str) else one for one in sent]
    return world.enqueuer.send(queue, new, caller=caller, result=sent[-1])


def test_all_that_wait_are_one_operation_and_each_has_its_answer(world: World) -> None:
    queue = world.queue()
    sent = [send(world, queue, one) for one in "abcde"]
    assert len(world.core.operations.waiting) == 1
    assert world.core.operations_waiting == 5
    assert queue.reserved == 5
    assert not any(pending.done for pending in sent)
    world.commit()
    assert [pending.result() for pending in sent] == list("abcde")
    assert (queue.reserved, world.core.reserved_size) == (0, 0)
    assert world.read(queue) == list("abcde")
    assert queue.messages == 5


def test_messages_that_were_gathered_are_a_run_and_one_event(world: World) -> None:
    queue = world.queue()
    letters = [letter(str(number), number=number) for number in range(1, 9)]
    for one in letters:
        send(world, queue, one)
    world.commit()
    assert len(world.rows(Table.RUNS)) == 1
    assert world.bodies(queue) == [str(number) for number in range(1, 9)]
    assert all(len(world.reported(one)) == 1 for one in letters)


def test_each_commit_has_groups_of_its_own(world: World) -> None:
    queue = world.queue()
    first = send(world, queue, "a")
    world.core.start_commit(world.store.begin())
    late = send(world, queue, "b")
    world.store.commit()
    world.core.finish_commit()
    assert (first.done, late.done) == (True, False)
    world.commit()
    assert late.done
    assert world.read(queue) == ["a", "b"]


def test_what_was_asked_for_between_two_sends_stays_between_them(world: World) -> None:
    queue = world.queue()
    send(world, queue, "a")
    send(world, queue, "b", "c")
    send(world, queue, "d")
    send(world, queue, "e")
    assert len(world.core.operations.waiting) == 3
    world.commit()
    assert world.read(queue) == list("abcde")


def test_a_purge_takes_what_was_there_and_spares_what_follows(world: World) -> None:
    queue = world.queue()
    world.send(queue, "0")
    purged = world.core.queue_lifecycle.purge(queue)
    send(world, queue, "a")
    send(world, queue, "b")
    assert world.done(purged) == 1
    assert world.read(queue) == ["a", "b"]


def test_receives_do_not_close_a_group(world: World) -> None:
    queue = world.queue()
    for one in "012":
        world.send(queue, one)
    sent = []
    for one in "abc":
        sent.append(send(world, queue, one))
        world.wait_receive(queue)
    assert len(world.core.operations.waiting) == 4
    world.commit()
    assert all(pending.done for pending in sent)
    assert world.read(queue) == list("abc")


def test_queues_have_groups_of_their_own(world: World) -> None:
    one, other = world.queue("one"), world.queue("other")
    for sent in "abc":
        send(world, one, sent)
        send(world, other, sent.upper())
    assert len(world.core.operations.waiting) == 2
    world.commit()
    assert (world.read(one), world.read(other)) == (list("abc"), list("ABC"))


def test_each_program_is_named_in_the_history(world: World) -> None:
    queue = world.queue()
    letters = [letter(str(number), number=number) for number in range(1, 7)]
    for number, one in enumerate(letters):
        send(world, queue, one, caller=Caller(f"program {number % 2}"))
    world.commit()
    bodies = world.bodies(queue)
    assert [body for body in bodies if body in "135"] == ["1", "3", "5"]
    assert [body for body in bodies if body in "246"] == ["2", "4", "6"]
    for number, one in enumerate(letters):
        identifier = PacketView(one.packet).identifier
        (event,) = world.core.history.of(world.core.snapshot, identifier)
        assert event.by == f"program {number % 2}"


def test_express_messages_and_those_that_are_owed_something_go_alone(world: World) -> None:
    queue = world.queue()
    send(world, queue, "a")
    send(world, queue, letter("b", journal=True))
    send(world, queue, letter("c", journal=True))
    assert len(world.core.operations.waiting) == 3
    send(world, queue, message("d", express=True))
    assert len(world.core.operations.waiting) == 3


def test_the_sends_of_a_queue_that_is_deleted_fail(world: World) -> None:
    queue = world.queue()
    world.core.queue_lifecycle.delete(queue)
    sent = [world.enqueuer._gathering.send(queue, message(one), "", one) for one in "ab"]
    world.commit()
    for pending in sent:
        with pytest.raises(QueueNotAvailable):
            pending.result()


@pytest.mark.parametrize("error", [StorageFull("disk"), StorageFailed("EIO")], ids=repr)
def test_a_store_that_fails_fails_for_all_of_a_group(world: World, error: Exception) -> None:
    queue = world.queue()
    sent = [send(world, queue, one) for one in "ab"]
    world.commit(error)
    for pending in sent:
        assert pending.error is error
    assert (queue.reserved, world.core.reserved_size) == (0, 0)
    assert not world.core.wants_commit


@pytest.mark.parametrize("bodies", [("a", "bad"), ("a", "bad", "c")])
def test_one_message_that_cannot_be_stored_fails_alone(
    world: World, monkeypatch: pytest.MonkeyPatch, bodies: tuple[str, ...]
) -> None:
    insert = Batch.insert_many

    def fail(batch: Batch, queue: ManagedQueue, messages: list[NewMessage], by: str) -> list[int]:
        if any(new.packet == b"bad" for new in messages):
            raise ValueError("bad")
        return insert(batch, queue, messages, by)

    monkeypatch.setattr(Batch, "insert_many", fail)
    queue = world.queue()
    sent = [send(world, queue, one) for one in bodies]
    while world.core.wants_commit:
        world.commit()
    assert [pending.error is None for pending in sent] == [one != "bad" for one in bodies]
    assert isinstance(sent[1].error, GenericError)
    assert world.read(queue) == [one for one in bodies if one != "bad"]
    assert (queue.reserved, world.core.reserved_size) == (0, 0)


def test_nothing_joins_what_others_commit_together(world: World) -> None:
    queue = world.queue()
    before = send(world, queue, "a")
    with world.core.together():
        send(world, queue, "b")
        world.core.submit(_raise, lambda: None, lambda error: None)
    after = send(world, queue, "c")
    while world.core.wants_commit:
        world.commit()
    assert (before.error, after.error) == (None, None)
    assert world.read(queue) == ["a", "c"]


def _raise(batch: Batch) -> None:
    raise ValueError("no")
