"""Queues, handles, and commits that many callers share."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from tests.unit.engine.world import (
    MANY,
    NOW,
    OWNER,
    READER,
    World,
    commit_all,
    message,
    packets,
    properties,
)

from openmsmq.engine.commit.batch import Batch
from openmsmq.engine.commit.future import Future
from openmsmq.engine.queues import purge as emptying
from openmsmq.engine.queues.system import NAMES
from openmsmq.engine.storage.recovery import MESSAGE_ID_BLOCK, NUMBERS_LEFT
from openmsmq.engine.storage.tables import Table
from openmsmq.errors import (
    GenericError,
    IllegalPropertyValue,
    InsufficientResources,
    OperationCancelled,
    QueueExists,
    QueueNotAvailable,
    QueueNotFound,
    SharingViolation,
    StorageFailed,
    StorageFull,
)
from openmsmq.types.access import Access, Mode, Share
from openmsmq.types.settings import Settings


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Queues are emptied two messages a commit."""
    monkeypatch.setattr(emptying, "STEP", 2)


def names(world: World) -> list[str]:
    return [queue.properties.name for queue in world.core.queues]


# Commits


def test_one_commit_serves_all_who_asked_before_it(world: World) -> None:
    queue = world.queue()
    sends = [world.enqueuer.send(queue, [message(str(n))]) for n in range(5)]
    created = world.core.queues.create(properties("new"))
    commits = world.store.writes
    world.commit()
    assert all(pending.done for pending in sends)
    assert created.done
    assert not world.core.wants_commit
    assert world.store.writes > commits
    assert world.read(queue) == list("01234")


def test_how_much_waits_to_be_committed_is_known(world: World) -> None:
    queue = world.queue()
    assert world.core.operations_waiting == 0
    for number in range(3):
        world.enqueuer.send(queue, [message(str(number))])
    assert world.core.operations_waiting == 3
    world.commit()
    assert world.core.operations_waiting == 0


def test_what_is_asked_during_a_commit_belongs_to_the_next(world: World) -> None:
    queue = world.queue()
    first = world.enqueuer.send(queue, [message("1")])
    assert world.core.wants_commit
    assert not world.core.is_committing
    world.core.start_commit(world.store.begin())
    second = world.enqueuer.send(queue, [message("2")])
    assert world.core.is_committing
    assert not world.core.wants_commit
    world.store.commit()
    world.core.finish_commit()
    assert (first.done, second.done) == (True, False)
    assert world.core.wants_commit
    assert world.read(queue) == ["1"]
    world.commit()
    assert world.read(queue) == ["1", "2"]


def test_a_commit_cannot_be_finished_that_was_not_started(world: World) -> None:
    with pytest.raises(AssertionError):
        world.core.finish_commit()


def test_when_a_commit_fails_everybody_is_told_and_nothing_has_changed(world: World) -> None:
    queue = world.queue(label="old")
    world.send(queue, "a", "b")
    disk = world.store.committed
    asked: list[Future[Any]] = [
        world.enqueuer.send(queue, [message("c")]),
        world.receiver.receive(queue, 1, OWNER, wait=False),
        world.core.queues.create(properties("new")),
        world.core.queues.change(queue, NOW, {"label": "new"}),
    ]
    world.commit(StorageFailed("disk"))
    assert all(isinstance(pending.error, StorageFailed) for pending in asked)
    assert world.store.committed == disk
    assert names(world) == ["q"]
    assert world.read(queue) == ["a", "b"]
    assert queue.properties.label == "old"
    assert queue.total_size == 2
    assert not world.core.wants_commit


def test_on_a_full_disk_what_frees_room_is_tried_again(world: World) -> None:
    queue, other = world.queue(), world.queue("other")
    world.send(queue, "a", "b")
    sends = world.enqueuer.send(other, [message("c")])
    receives = world.receiver.receive(queue, 1, OWNER, wait=False)
    purge = world.core.queues.purge(queue)
    world.commit(StorageFull("disk"))
    later = world.enqueuer.send(other, [message("d")])
    assert isinstance(sends.error, StorageFull)
    assert not receives.done
    assert packets(world.done(receives)) == ["a"]
    assert purge.result() == 1
    assert later.done
    assert world.read(other) == ["d"]


@pytest.mark.parametrize("grows", [True, False])
def test_on_a_full_disk_what_is_alone_is_refused(world: World, grows: bool) -> None:
    queue = world.queue()
    world.send(queue, "a")
    send = world.enqueuer.send
    pending: Future[Any] = send(queue, [message("b")]) if grows else world.core.queues.purge(queue)
    world.commit(StorageFull("disk"))
    assert isinstance(pending.error, StorageFull)
    assert world.read(queue) == ["a"]


def test_an_operation_that_cannot_be_written_fails_alone(world: World) -> None:
    queue = world.queue()
    failed: list[BaseException] = []

    def apply(batch: Batch) -> None:
        batch.insert_many(queue, [message("never")], "")
        raise ZeroDivisionError("a mistake")

    first = world.enqueuer.send(queue, [message("1")])
    world.core.submit(apply, lambda: failed.clear(), failed.append)
    second = world.enqueuer.send(queue, [message("2")])
    commit_all(world.core)
    (error,) = failed
    assert isinstance(error, GenericError)
    assert "a mistake" in str(error)
    assert (first.error, second.error) == (None, None)
    assert world.read(queue) == ["1", "2"]
    assert world.restart().read(world.restart().find("q")) == ["1", "2"]
    assert world.core.statistics.counts["operations that failed alone"] == 1


def test_a_refusal_by_an_operation_is_told_as_it_is(world: World) -> None:
    failed: list[BaseException] = []

    def apply(batch: Batch) -> None:
        raise QueueNotFound("q")

    world.core.submit(apply, lambda: None, failed.append)
    commit_all(world.core)
    assert isinstance(failed[0], QueueNotFound)


@pytest.mark.parametrize("error", [StorageFull("disk"), StorageFailed("disk")])
def test_what_the_store_cannot_write_is_nobodys_fault(
    world: World, error: StorageFull | StorageFailed
) -> None:
    queue = world.queue()

    def apply(batch: Batch) -> None:
        raise error

    pending = world.enqueuer.send(queue, [message("1")])
    world.core.submit(apply, lambda: None, lambda error: None, grows=True)
    world.commit()
    assert pending.error is error


def test_rows_that_cannot_be_written_cost_only_the_operation_that_has_them(world: World) -> None:
    """Though all rows of a table are written in one go."""
    queue = world.queue()
    failed: list[BaseException] = []

    def apply(batch: Batch) -> None:
        batch._index_rows.append((b"", b"no key is empty"))

    sends = [world.enqueuer.send(queue, [message(str(n))]) for n in range(3)]
    world.core.submit(apply, lambda: None, failed.append)
    sends += [world.enqueuer.send(queue, [message(str(n))]) for n in range(3, 6)]
    commit_all(world.core)
    assert len(failed) == 1
    assert all(send.error is None for send in sends)
    assert world.read(queue) == list("012345")


def test_on_a_full_disk_ballast_lets_messages_be_received(world: World) -> None:
    queue = world.queue()
    world.send(queue, "a", "b")
    world.store.ballast = 1
    received = world.receiver.receive(queue, 1, OWNER, wait=False)
    world.commit(StorageFull("disk"))
    assert not received.done
    world.commit()
    assert packets(received.result()) == ["a"]
    received = world.receiver.receive(queue, 1, OWNER, wait=False)
    world.commit(StorageFull("disk"))
    assert isinstance(received.error, StorageFull), "there is none left"


def test_what_is_submitted_together_fails_together(world: World) -> None:
    answers: list[object] = []

    def apply(batch: Batch) -> None:
        raise ZeroDivisionError

    with world.core.together():
        for _ in range(2):
            world.core.submit(lambda batch: None, lambda: answers.append("done"), answers.append)
        world.core.submit(apply, lambda: answers.append("done"), answers.append)
    commit_all(world.core)
    assert [type(answer) for answer in answers] == [GenericError] * 3


def test_a_queue_that_cannot_be_created_cannot_be_changed_with_the_same_commit(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as broken:
        broken.setattr(Batch, "write_queue_number", None)
        made = world.core.queues.create(properties("new"))
        queue = world.core.queues.find("new")
        changed = world.core.queues.change(queue, NOW, {"label": "x"})
        sent = world.enqueuer.send(queue, [message("a")])
        commit_all(world.core)
    assert isinstance(made.error, GenericError)
    assert isinstance(changed.error, QueueNotAvailable)
    assert isinstance(sent.error, QueueNotAvailable)
    assert names(world) == names(world.restart()) == []


def test_when_no_commit_can_be_begun_everybody_is_told(world: World) -> None:
    queue = world.queue()
    world.send(queue, "a")
    send = world.enqueuer.send(queue, [message("b")])
    receive = world.receiver.receive(queue, 1, OWNER, wait=False)
    waiting = world.wait_peek(queue)
    world.core.refuse(StorageFailed("disk"))
    assert isinstance(send.error, StorageFailed)
    assert isinstance(receive.error, StorageFailed)
    assert packets(waiting.result()) == ["a"]
    assert not world.core.wants_commit
    world.send(queue, "c")
    assert world.read(queue) == ["a", "c"]


def test_message_identifiers_are_reserved_before_they_are_used(world: World) -> None:
    """DMPR-053."""
    numbers = world.core.numbers
    world.core.take_message_ids(MESSAGE_ID_BLOCK // 2)
    assert not world.core.wants_commit
    world.core.take_message_ids(1)
    assert world.core.wants_commit
    world.commit()
    world.core.take_message_ids(MESSAGE_ID_BLOCK // 2)
    used = numbers.message_id
    assert world.restart().core.numbers.message_id >= used
    world.core.take_message_ids(1)
    world.commit(StorageFull("disk"))


# Creating, changing, deleting


def test_a_new_queue_is_empty_and_has_what_it_was_given(world: World) -> None:
    """DMPR-119, DMPR-121, DMPR-122, DMPR-128."""
    given = properties("Orders", label="x", transactional=True, quota=5, type=UUID(int=9))
    pending = world.core.queues.create(given)
    assert not pending.done
    world.commit()
    queue = pending.result()
    assert queue.properties == given
    assert (queue.messages, queue.total_size, queue.modes) == (0, 0, [])
    assert world.read(queue) == []
    assert world.core.queues.find("orders") is queue
    assert world.core.queues.by_number[queue.number] is queue
    assert world.restart().core.queues.find("ORDERS").properties == given


def test_queues_are_listed_by_name_and_found_whatever_the_case(world: World) -> None:
    for name in ("b", "a", "C"):
        world.queue(name)
    assert names(world) == ["a", "b", "C"]
    assert world.core.queues.find("c").properties.name == "C"


def test_an_unknown_queue_is_not_found(world: World) -> None:
    """DMPR-156."""
    with pytest.raises(QueueNotFound) as info:
        world.core.queues.find("nowhere")
    assert info.value.hresult == 0xC00E0003


def test_a_name_is_given_once(world: World) -> None:
    """Even before the first queue is on disk (DMPR-129)."""
    world.core.queues.create(properties("Orders"))
    for _ in range(2):
        with pytest.raises(QueueExists) as info:
            world.core.queues.create(properties("oRDERS", label="other"))
        assert info.value.hresult == 0xC00E0005
        commit_all(world.core)
    assert world.core.queues.find("orders").properties.label == ""


def test_a_queue_that_could_not_be_created_is_not_there(world: World) -> None:
    """A send that trusted in it is refused."""
    pending = world.core.queues.create(properties())
    queue = world.core.queues.find("q")
    world.core.start_commit(world.store.begin())
    send = world.enqueuer.send(queue, [message("a")])
    world.store.abort()
    world.core.finish_commit(StorageFailed("disk"))
    assert isinstance(pending.error, StorageFailed)
    assert names(world) == []
    with pytest.raises(QueueNotAvailable):
        world.done(send)
    assert world.read(world.queue()) == []


def test_a_change_counts_when_it_is_on_disk(world: World) -> None:
    """DMPR-001."""
    queue = world.queue()
    changed = queue.properties.changed(NOW + 1, label="new", quota=3)
    pending = world.core.queues.change(queue, NOW + 1, {"label": "new", "quota": 3})
    assert queue.properties.label == ""
    world.done(pending)
    assert queue.properties == changed
    assert world.restart().core.queues.find("q").properties == changed


def test_changes_made_together_are_all_made(world: World) -> None:
    queue = world.queue()
    asked = [
        world.core.queues.change(queue, NOW + 1, {"label": "new"}),
        world.core.queues.change(queue, NOW + 2, {"quota": 3}),
    ]
    for pending in asked:
        world.done(pending)
    for found in (queue, world.restart().core.queues.find("q")):
        assert (found.properties.label, found.properties.quota) == ("new", 3)


def test_a_change_that_is_not_possible_is_refused_at_once(world: World) -> None:
    queue = world.queue()
    with pytest.raises(IllegalPropertyValue):
        world.core.queues.change(queue, NOW, {"quota": -1})
    assert not world.core.wants_commit


def test_the_number_of_a_deleted_queue_is_never_given_again(world: World) -> None:
    """DMPR-035: a transaction may have sent to it and come to its end much later."""
    queue = world.queue()
    world.done(world.core.queues.delete(queue))
    again = world.restart()
    assert again.queue().number > queue.number


def test_a_deleted_queue_is_gone_with_its_messages(world: World, small_steps: None) -> None:
    """DMPR-130, DMPR-131, DMPR-132."""
    queue, other = world.queue(), world.queue("other")
    world.send(queue, *"abcdefg")
    world.send(queue, "x", express=True)
    world.send(other, "o")
    pending = world.core.queues.delete(queue)
    assert names(world) == ["other"]
    with pytest.raises(QueueNotFound):
        world.core.queues.find("q")
    world.done(pending)
    assert (len(world.rows(Table.INDEX)), len(world.rows(Table.PACKETS))) == (1, 1)
    assert len(world.rows(Table.QUEUES)) == 2
    assert world.core.express_size == 0
    assert world.read(other) == ["o"]


def test_a_delete_is_answered_before_all_messages_are_removed(
    world: World, small_steps: None
) -> None:
    queue = world.queue()
    world.send(queue, *"abcde")
    pending = world.core.queues.delete(queue)
    world.commit()
    assert pending.done
    assert len(world.rows(Table.INDEX)) == 5
    world.commit()
    assert len(world.rows(Table.INDEX)) == 3
    again = world.queue()
    assert world.read(again) == []
    assert again.number != queue.number
    assert not world.rows(Table.INDEX)


def test_removing_the_messages_of_a_deleted_queue_goes_on_after_the_next_start(
    world: World,
) -> None:
    queue = world.queue()
    world.send(queue, "a")
    world.core.queues.delete(queue)
    world.commit()
    world.commit(StorageFailed("disk"))
    assert not world.core.wants_commit
    again = world.restart()
    again.commit()
    assert not again.rows(Table.INDEX)
    assert not again.rows(Table.QUEUES)


def test_a_queue_is_deleted_once(world: World) -> None:
    queue = world.queue()
    pending = world.core.queues.delete(queue)
    for _ in range(2):
        with pytest.raises(QueueNotFound):
            world.core.queues.delete(queue)
        world.done(pending)


def test_a_deleted_queue_is_neither_changed_nor_purged(world: World) -> None:
    """A change would bring it back after the next start."""
    queue = world.queue()
    world.done(world.core.queues.delete(queue))
    with pytest.raises(QueueNotAvailable):
        world.core.queues.change(queue, NOW, {})
    with pytest.raises(QueueNotAvailable):
        world.core.queues.purge(queue)
    assert names(world.restart()) == []


def test_a_delete_that_fails_leaves_the_queue_and_its_name(world: World) -> None:
    queue = world.queue()
    world.send(queue, "a")
    world.send(queue, "b", express=True)
    pending = world.core.queues.delete(queue)
    with pytest.raises(QueueExists):
        world.core.queues.create(properties())
    world.commit(StorageFailed("disk"))
    assert isinstance(pending.error, StorageFailed)
    assert names(world) == ["q"]
    assert world.core.queues.find("q") is queue
    assert world.read(queue) == ["a", "b"]
    world.send(queue, "c")
    world.done(world.core.queues.delete(queue))
    assert world.read(world.queue()) == []


def test_a_queue_deleted_before_it_was_created_on_a_full_disk_is_gone(world: World) -> None:
    created = world.core.queues.create(properties())
    deleted = world.core.queues.delete(world.core.queues.find("q"))
    world.commit(StorageFull("disk"))
    new = world.queue()
    assert isinstance(created.error, StorageFull)
    assert deleted.done
    assert world.core.queues.find("q") is new
    assert names(world.restart()) == ["q"]


def test_a_queue_that_could_be_neither_created_nor_deleted_is_not_there(world: World) -> None:
    created = world.core.queues.create(properties())
    deleted = world.core.queues.delete(world.core.queues.find("q"))
    world.commit(StorageFailed("disk"))
    assert isinstance(created.error, StorageFailed)
    assert isinstance(deleted.error, StorageFailed)
    assert names(world) == []
    assert world.core.queues.by_number.keys() == NAMES.keys()
    world.queue()


def test_a_message_received_while_its_queue_is_deleted_is_received(world: World) -> None:
    queue = world.queue()
    world.send(queue, "a", "b")
    pending = world.receiver.receive(queue, 1, OWNER, wait=False)
    world.core.queues.delete(queue)
    assert packets(world.done(pending)) == ["a"]
    assert not world.rows(Table.PACKETS)


# Purging


def test_a_purge_removes_what_is_there_and_says_how_much(world: World, small_steps: None) -> None:
    """DMPR-136, DMPR-138."""
    queue, other = world.queue(), world.queue("other")
    world.send(queue, *"abcde")
    world.send(queue, "x", "y", express=True)
    world.send(other, "o")
    pending = world.core.queues.purge(queue)
    assert world.read(queue) == []
    assert world.done(pending) == 7
    assert (queue.messages, queue.total_size, world.core.express_size) == (0, 0, 0)
    assert len(world.rows(Table.QUEUES)) == 4
    assert world.read(other) == ["o"]
    world.send(queue, "new")
    assert world.read(queue) == ["new"]
    assert world.done(world.core.queues.purge(queue)) == 1
    assert world.done(world.core.queues.purge(queue)) == 0
    again = world.restart()
    assert again.read(again.core.queues.find("q")) == []


def test_a_purge_leaves_what_comes_after_it(world: World, small_steps: None) -> None:
    queue = world.queue()
    world.send(queue, *"abc")
    pending = world.core.queues.purge(queue)
    world.enqueuer.send(queue, [message("d"), message("e", priority=7)])
    world.commit()
    assert world.read(queue) == ["e", "d"]
    assert world.done(pending) == 3
    assert world.read(queue) == ["e", "d"]


def test_a_purge_leaves_locked_messages_to_whoever_holds_them(world: World) -> None:
    """They are removed when they are given back (DMPR-137)."""
    queue = world.queue()
    world.send(queue, "a", "b")
    world.send(queue, "c", express=True)
    taken = world.take(queue, MANY, READER)
    world.send(queue, "d")
    assert world.done(world.core.queues.purge(queue)) == 1
    assert queue.total_size == 3
    world.done(world.receiver.end(queue, [entry.lookup for entry in taken], READER, delete=False))
    assert world.read(queue) == []
    assert queue.total_size == 0


def test_two_purges_at_once_count_every_message_once(world: World) -> None:
    queue = world.queue()
    world.send(queue, *"abc")
    first = world.core.queues.purge(queue)
    second = world.core.queues.purge(queue)
    assert world.done(first) + world.done(second) == 3
    assert (queue.messages, queue.total_size) == (0, 0)


def test_a_purge_that_fails_leaves_the_messages_readable(world: World, small_steps: None) -> None:
    """Those it has not removed yet."""
    queue = world.queue()
    world.send(queue, *"abcde")
    taken = world.take(queue, 1, READER)
    pending = world.core.queues.purge(queue)
    world.commit()
    waiting = world.wait_peek(queue)
    world.commit(StorageFailed("disk"))
    assert isinstance(pending.error, StorageFailed)
    assert packets(waiting.result()) == ["c"]
    world.done(world.receiver.end(queue, [taken[0].lookup], READER, delete=False))
    assert world.read(queue) == list("acde")


def test_a_purge_tried_again_counts_once(world: World) -> None:
    queue = world.queue()
    world.send(queue, *"abc")
    pending = world.core.queues.purge(queue)
    world.enqueuer.send(queue, [message("d")])
    world.commit(StorageFull("disk"))
    assert world.done(pending) == 3


def test_a_queue_deleted_while_it_is_purged_is_gone(world: World, small_steps: None) -> None:
    queue = world.queue()
    world.send(queue, *"abcde")
    pending = world.core.queues.purge(queue)
    world.core.start_commit(world.store.begin())
    world.core.queues.delete(queue)
    world.store.commit()
    world.core.finish_commit()
    world.done(pending)
    assert not world.rows(Table.INDEX)
    assert not world.rows(Table.PACKETS)


# Handles and readers


def test_handles_share_a_queue_as_they_were_opened(world: World) -> None:
    """DMPR-169, DMPR-170, DMPR-176."""
    queue = world.queue()
    lone = Mode(Access.RECEIVE, Share.DENY_RECEIVE)
    world.core.queues.open(queue, lone)
    with pytest.raises(SharingViolation):
        world.core.queues.open(queue, Mode())
    assert queue.modes == [lone]
    world.core.queues.open(queue, Mode(Access.SEND))
    world.core.queues.close(queue, lone, OWNER)
    assert queue.modes == [Mode(Access.SEND)]
    world.core.queues.open(queue, Mode())


def test_closing_a_handle_cancels_the_reads_that_wait_on_it(world: World) -> None:
    """And no others (DMPR-174)."""
    queue = world.queue()
    mine, theirs = object(), object()
    for mode in (Mode(), Mode()):
        world.core.queues.open(queue, mode)
    waiting = world.wait_receive(queue, owner=mine)
    other = world.wait_receive(queue, owner=theirs)
    world.core.queues.close(queue, Mode(), mine)
    assert isinstance(waiting.error, OperationCancelled)
    assert waiting.error.hresult == 0xC00E0008
    assert not other.done
    assert len(queue.modes) == 1


def test_closing_the_handle_of_a_deleted_queue_is_harmless(world: World) -> None:
    """DMPR-172."""
    queue = world.queue()
    world.core.queues.open(queue, Mode())
    world.done(world.core.queues.delete(queue))
    world.core.queues.close(queue, Mode(), OWNER)
    assert not queue.modes


def test_all_reads_can_be_cancelled_at_once(world: World) -> None:
    waiting = [world.wait_receive(world.queue(name)) for name in "ab"]
    world.core.cancel_everywhere(OperationCancelled("closed"))
    assert all(isinstance(pending.error, OperationCancelled) for pending in waiting)


def test_the_size_of_all_queues_is_the_sum_of_theirs(world: World) -> None:
    first, second = world.queue("a"), world.queue("b")
    world.send(first, "12")
    world.send(second, "345")
    world.send(second, "6", express=True)
    assert world.core.total_size == 6


def test_readers_wake_after_all_effects_of_a_commit(world: World) -> None:
    """A reader that waits takes the first message, not the first that was written."""
    queue = world.queue()
    waiting = world.wait_receive(queue)
    for priority in (1, 7, 3):
        world.enqueuer.send(queue, [message(str(priority), priority=priority)])
    world.commit()
    assert packets(world.done(waiting)) == ["7"]
    assert world.read(queue) == ["3", "1"]


def test_after_a_full_disk_work_goes_on(world: World) -> None:
    queue = world.queue()
    send = world.enqueuer.send(queue, [message("x")])
    change = world.core.queues.change(queue, NOW, {})
    world.commit(StorageFull("disk"))
    assert isinstance(send.error, StorageFull)
    assert isinstance(change.error, StorageFull)
    world.send(queue, "a")
    assert world.read(queue) == ["a"]


# Settings


def test_settings_changed_together_are_all_changed(world: World) -> None:
    asked = [world.core.configure(quota=5), world.core.configure(history=7)]
    assert world.core.settings == Settings()
    for pending in asked:
        world.done(pending)
    for core in (world.core, world.restart().core):
        assert core.settings == Settings(quota=5, history=7)
        assert core.history.limit == 7 << 20


def test_what_is_set_for_one_run_does_not_last(world: World) -> None:
    world.core.settings = Settings(quota=5)
    world.done(world.core.configure(history=7))
    assert world.core.settings == Settings(quota=5, history=7)
    assert world.restart().core.settings == Settings(history=7)


def test_settings_that_could_not_be_written_are_not_changed(world: World) -> None:
    pending = world.core.configure(quota=5)
    world.commit(StorageFailed("disk"))
    assert isinstance(pending.error, StorageFailed)
    assert world.core.settings == Settings()
    with pytest.raises(IllegalPropertyValue):
        world.core.configure(quota=-1)


# Flow control


@pytest.mark.parametrize("express", [False, True])
def test_under_flow_control_nothing_new_is_accepted(world: World, express: bool) -> None:
    """DMPR-185, DMPR-319, DMPR-320."""
    queue = world.queue()
    world.send(queue, "a")
    world.core.begin_flow_control()
    assert world.core.is_throttled
    with pytest.raises(InsufficientResources):
        world.enqueuer.send(queue, [message("b", express=express)])
    assert world.receive(queue) == ["a"]
    world.core.end_flow_control()
    assert not world.core.is_throttled
    world.send(queue, "c", express=express)
    assert world.read(queue) == ["c"]


def test_flow_control_begins_and_ends_with_the_room_on_the_disk(world: World) -> None:
    """DMPR-185, DMPR-319, DMPR-320."""
    queue = world.queue()
    world.store.room = False
    for _ in range(2):
        with pytest.raises(StorageFull):
            world.enqueuer.send(queue, [message("a")])
    assert world.core.is_throttled
    assert world.count("flow control") == 1
    world.store.room = True
    world.send(queue, "b")
    assert not world.core.is_throttled
    world.core.begin_flow_control()
    with pytest.raises(InsufficientResources):
        world.enqueuer.send(queue, [message("c")])


# The end


def test_numbers_that_were_reserved_for_nothing_are_given_back(world: World) -> None:
    """DMPR-030, DMPR-053: and none is used twice."""
    queue = world.queue()
    for _ in range(5):
        world.send(queue, "a", "b")
        world.core.take_message_ids(2)
        used, given = world.core.numbers.arrival, world.core.numbers.message_id
        pending = world.enqueuer.send(queue, [message("c")])
        world.core.stop()
        world.done(pending)
        world = world.restart()
        queue = world.find()
        assert used < world.core.numbers.arrival <= used + 2 * NUMBERS_LEFT
        assert given <= world.core.numbers.message_id <= given + 2 * NUMBERS_LEFT


def test_what_was_counted_without_a_commit_is_written_at_the_end(world: World) -> None:
    queue = world.queue()
    world.done(world.core.configure(history=0))
    world.send(queue, "a", "b", express=True)
    world.receive(queue)
    assert world.restart().count("arrived") == 0
    world.core.stop()
    commit_all(world.core)
    again = world.restart()
    assert (again.count("arrived"), again.count("received")) == (2, 1)


def test_starts_are_remembered(world: World) -> None:
    """The last ones, so that the end of express messages can be explained."""
    for _ in range(300):
        world = world.restart(1)
    assert world.core.starts == list(range(NOW + 45, NOW + 301))


def test_a_queue_that_is_deleted_leaves_long_work_to_the_next_start(
    world: World, small_steps: None
) -> None:
    queue = world.queue()
    world.send(queue, *"abcde")
    world.core.queues.delete(queue)
    world.commit()
    world.core.stop()
    commit_all(world.core)
    assert len(world.rows(Table.INDEX)) == 3
    again = world.restart()
    commit_all(again.core)
    assert not again.rows(Table.INDEX)


# Time


def test_a_tick_says_whether_something_is_due(world: World) -> None:
    queue = world.queue()
    world.send(queue, message("a", expires=NOW + 1))
    assert world.core.next_deadline == 2
    assert not world.pass_time(1)
    assert world.pass_time(1)
    assert not world.pass_time(0)
    commit_all(world.core)
    assert world.core.next_deadline is None


def test_a_jump_of_the_clock_is_written_down(world: World) -> None:
    world.pass_time(1, jump=3600)
    assert world.core.wants_commit
    commit_all(world.core)
    assert (world.core.timeline.wall, world.core.timeline.now) == (NOW + 3601, NOW + 1)
    assert world.restart().core.timeline.now == NOW + 1
    world.pass_time(1, jump=-3600)
    world.commit(StorageFailed("disk"))
    assert world.core.timeline.now == NOW + 2
