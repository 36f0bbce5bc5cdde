"""Create, change and delete queues."""

from __future__ import annotations

from uuid import UUID

import pytest
from tests.unit.engine.world import (
    NOW,
    OWNER,
    World,
    commit_all,
    letter,
    message,
    packets,
    properties,
)

from openmsmq.engine.commit.queue_counts import QueueCounts
from openmsmq.engine.queues import purge as emptying
from openmsmq.engine.queues.queue import ManagedQueue, journal_of
from openmsmq.engine.queues.system import NAMES
from openmsmq.engine.storage.tables import Table
from openmsmq.errors import (
    GenericError,
    IllegalPropertyValue,
    QueueDeleted,
    QueueExists,
    QueueNotAvailable,
    QueueNotFound,
    StorageFailed,
    StorageFull,
    UnsupportedFormatNameOperation,
)
from openmsmq.limits import NO_QUOTA
from openmsmq.names.format import parse_format_name

THERE = parse_format_name("DIRECT=OS:there\\private$\\orders")


@pytest.fixture
def queue(world: World) -> ManagedQueue:
    return world.queue()


def full(world: World) -> tuple[ManagedQueue, ManagedQueue, ManagedQueue]:
    """A queue with messages, a subqueue with some, a journal with some."""
    queue = world.queue(journal=True)
    world.send(queue, letter("received"), letter("moved"), letter("left"))
    world.send(queue, letter("express", express=True))
    world.take(queue)
    sub = world.subqueue(queue)
    world.move(queue, world.lookups(queue)[0], sub)
    return queue, sub, journal_of(queue)


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Queues are emptied two messages a commit."""
    monkeypatch.setattr(emptying, "STEP", 2)


def names(world: World) -> list[str]:
    return [queue.properties.name for queue in world.core.queues]


def test_a_queue_that_cannot_be_created_cannot_be_changed_with_the_same_commit(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as broken:
        broken.setattr(QueueCounts, "write_queue_number", None)
        made = world.core.queue_lifecycle.create(properties("new"))
        queue = world.core.queues.find("new")
        changed = world.core.queue_lifecycle.change(queue, NOW, {"label": "x"})
        sent = world.enqueuer.send(queue, [message("a")])
        commit_all(world.core)
    assert isinstance(made.error, GenericError)
    assert isinstance(changed.error, QueueNotAvailable)
    assert isinstance(sent.error, QueueNotAvailable)
    assert names(world) == names(world.restart()) == []


def test_a_new_queue_is_empty_and_has_what_it_was_given(world: World) -> None:
    """DMPR-119, DMPR-121, DMPR-122, DMPR-128."""
    given = properties("Orders", label="x", transactional=True, quota=5, type=UUID(int=9))
    pending = world.core.queue_lifecycle.create(given)
    assert not pending.done
    world.commit()
    queue = pending.result()
    assert queue.properties == given
    assert (queue.messages, queue.total_size, queue.modes) == (0, 0, [])
    assert world.read(queue) == []
    assert world.core.queues.find("orders") is queue
    assert world.core.queues.by_number[queue.number] is queue
    assert world.restart().core.queues.find("ORDERS").properties == given


def test_a_name_is_given_once(world: World) -> None:
    """Even before the first queue is on disk (DMPR-129)."""
    world.core.queue_lifecycle.create(properties("Orders"))
    for _ in range(2):
        with pytest.raises(QueueExists) as info:
            world.core.queue_lifecycle.create(properties("oRDERS", label="other"))
        assert info.value.hresult == 0xC00E0005
        commit_all(world.core)
    assert world.core.queues.find("orders").properties.label == ""


def test_a_queue_that_could_not_be_created_is_not_there(world: World) -> None:
    """A send that trusted in it is refused."""
    pending = world.core.queue_lifecycle.create(properties())
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
    pending = world.core.queue_lifecycle.change(queue, NOW + 1, {"label": "new", "quota": 3})
    assert queue.properties.label == ""
    world.done(pending)
    assert queue.properties == changed
    assert world.restart().core.queues.find("q").properties == changed


def test_changes_made_together_are_all_made(world: World) -> None:
    queue = world.queue()
    asked = [
        world.core.queue_lifecycle.change(queue, NOW + 1, {"label": "new"}),
        world.core.queue_lifecycle.change(queue, NOW + 2, {"quota": 3}),
    ]
    for pending in asked:
        world.done(pending)
    for found in (queue, world.restart().core.queues.find("q")):
        assert (found.properties.label, found.properties.quota) == ("new", 3)


def test_a_queue_is_created_changed_and_sent_to_with_one_commit(world: World) -> None:
    created = world.core.queue_lifecycle.create(properties("q"))
    queue = world.find()
    changed = world.core.queue_lifecycle.change(queue, NOW + 1, {"label": "new", "quota": 3})
    sent = world.enqueuer.post(queue, [letter("a")])
    commit_all(world.core)
    assert [created.error, changed.error, sent.error] == [None] * 3
    again = world.restart()
    found = again.find()
    assert (found.properties.label, found.properties.quota, found.messages) == ("new", 3, 1)
    assert again.bodies(found) == ["a"]


def test_a_change_that_is_not_possible_is_refused_at_once(world: World) -> None:
    queue = world.queue()
    with pytest.raises(IllegalPropertyValue):
        world.core.queue_lifecycle.change(queue, NOW, {"quota": -1})
    assert not world.core.wants_commit


def test_the_number_of_a_deleted_queue_is_never_given_again(world: World) -> None:
    """DMPR-035: a transaction may have sent to it and come to its end much later."""
    queue = world.queue()
    world.done(world.core.queue_lifecycle.delete(queue))
    again = world.restart()
    assert again.queue().number > queue.number


def test_a_deleted_queue_is_gone_with_its_messages(world: World, small_steps: None) -> None:
    """DMPR-130, DMPR-131, DMPR-132."""
    queue, other = world.queue(), world.queue("other")
    world.send(queue, *"abcdefg")
    world.send(queue, "x", express=True)
    world.send(other, "o")
    pending = world.core.queue_lifecycle.delete(queue)
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
    pending = world.core.queue_lifecycle.delete(queue)
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
    world.core.queue_lifecycle.delete(queue)
    world.commit()
    world.commit(StorageFailed("disk"))
    assert not world.core.wants_commit
    again = world.restart()
    again.commit()
    assert not again.rows(Table.INDEX)
    assert not again.rows(Table.QUEUES)


def test_a_queue_is_deleted_once(world: World) -> None:
    queue = world.queue()
    pending = world.core.queue_lifecycle.delete(queue)
    for _ in range(2):
        with pytest.raises(QueueNotFound):
            world.core.queue_lifecycle.delete(queue)
        world.done(pending)


def test_a_deleted_queue_is_neither_changed_nor_purged(world: World) -> None:
    """A change would bring it back after the next start."""
    queue = world.queue()
    world.done(world.core.queue_lifecycle.delete(queue))
    with pytest.raises(QueueNotAvailable):
        world.core.queue_lifecycle.change(queue, NOW, {})
    with pytest.raises(QueueNotAvailable):
        world.core.queue_lifecycle.purge(queue)
    assert names(world.restart()) == []


def test_a_delete_that_fails_leaves_the_queue_and_its_name(world: World) -> None:
    queue = world.queue()
    world.send(queue, "a")
    world.send(queue, "b", express=True)
    pending = world.core.queue_lifecycle.delete(queue)
    with pytest.raises(QueueExists):
        world.core.queue_lifecycle.create(properties())
    world.commit(StorageFailed("disk"))
    assert isinstance(pending.error, StorageFailed)
    assert names(world) == ["q"]
    assert world.core.queues.find("q") is queue
    assert world.read(queue) == ["a", "b"]
    world.send(queue, "c")
    world.done(world.core.queue_lifecycle.delete(queue))
    assert world.read(world.queue()) == []


def test_a_queue_deleted_before_it_was_created_on_a_full_disk_is_gone(world: World) -> None:
    created = world.core.queue_lifecycle.create(properties())
    deleted = world.core.queue_lifecycle.delete(world.core.queues.find("q"))
    world.commit(StorageFull("disk"))
    new = world.queue()
    assert isinstance(created.error, StorageFull)
    assert deleted.done
    assert world.core.queues.find("q") is new
    assert names(world.restart()) == ["q"]


def test_a_queue_that_could_be_neither_created_nor_deleted_is_not_there(world: World) -> None:
    created = world.core.queue_lifecycle.create(properties())
    deleted = world.core.queue_lifecycle.delete(world.core.queues.find("q"))
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
    world.core.queue_lifecycle.delete(queue)
    assert packets(world.done(pending)) == ["a"]
    assert not world.rows(Table.PACKETS)


def test_a_queue_that_is_deleted_leaves_long_work_to_the_next_start(
    world: World, small_steps: None
) -> None:
    queue = world.queue()
    world.send(queue, *"abcde")
    world.core.queue_lifecycle.delete(queue)
    world.commit()
    world.core.stop()
    commit_all(world.core)
    assert len(world.rows(Table.INDEX)) == 3
    again = world.restart()
    commit_all(again.core)
    assert not again.rows(Table.INDEX)


@pytest.mark.parametrize("kind", ["subqueue", "journal", "outgoing"])
def test_what_comes_by_itself_has_no_properties_to_change(
    world: World, queue: ManagedQueue, kind: str
) -> None:
    others = {
        "subqueue": world.subqueue(queue),
        "journal": journal_of(queue),
        "outgoing": world.core.queues.outgoing(THERE),
    }
    with pytest.raises(UnsupportedFormatNameOperation):
        world.core.queue_lifecycle.change(others[kind], NOW, {"label": "x"})
    with pytest.raises(UnsupportedFormatNameOperation):
        world.core.queue_lifecycle.delete(others[kind])


def test_system_queues_can_be_given_a_quota_but_not_deleted(world: World) -> None:
    dead = world.core.queues.dead_letter
    assert dead.properties.quota == NO_QUOTA
    world.done(world.core.queue_lifecycle.change(dead, NOW, {"quota": 5}))
    assert world.restart().core.queues.dead_letter.properties.quota == 5
    with pytest.raises(UnsupportedFormatNameOperation):
        world.core.queue_lifecycle.delete(dead)


def test_a_queue_takes_journal_and_subqueues_with_it(world: World) -> None:
    """DMPR-130, DMPR-132, DMPR-403."""
    family = full(world)
    world.done(world.core.queue_lifecycle.delete(family[0]))
    assert all(member.deleted for member in family)
    for name in ("q", "q;retry", "q;JOURNAL"):
        with pytest.raises(QueueNotFound):
            world.find(name)
    for table in (Table.INDEX, Table.PACKETS, Table.QUEUES):
        assert not world.rows(table)
    again = world.queue()
    assert again.subqueues == {}
    assert world.read(journal_of(again)) == []


def test_those_who_wait_are_notified(world: World, queue: ManagedQueue) -> None:
    """DMPR-135."""
    family = [queue, world.subqueue(queue), journal_of(queue)]
    waiting = [world.wait_receive(member) for member in family]
    world.done(world.core.queue_lifecycle.delete(queue))
    assert all(isinstance(pending.error, QueueDeleted) for pending in waiting)


@pytest.mark.parametrize("commits", [1, 2, 3])
def test_after_a_crash_all_of_it_is_removed(world: World, commits: int) -> None:
    """DMPR-130, DMPR-132."""
    queue, *_ = full(world)
    world.core.queue_lifecycle.delete(queue)
    for _ in range(commits):
        if world.core.wants_commit:
            world.commit()
    again = world.restart()
    commit_all(again.core)
    assert names(again) == []
    for table in (Table.INDEX, Table.PACKETS, Table.QUEUES):
        assert not again.rows(table)


def test_a_delete_that_fails_leaves_all_of_it(world: World) -> None:
    family = full(world)
    before = [world.bodies(member) for member in family]
    pending = world.core.queue_lifecycle.delete(family[0])
    world.commit(StorageFailed("disk"))
    assert isinstance(pending.error, StorageFailed)
    assert [world.bodies(member) for member in family] == before
    for member, name in zip(family, ("q", "q;retry", "q;JOURNAL"), strict=True):
        assert world.find(name) is member
        assert world.core.queues.get(member.number) is member
    world.done(world.core.queue_lifecycle.delete(family[0]))
    assert not world.rows(Table.INDEX)


def test_a_name_in_use_by_a_deleted_queue_is_free_when_that_is_answered(
    world: World, queue: ManagedQueue
) -> None:
    pending = world.core.queue_lifecycle.delete(queue)
    with pytest.raises(QueueExists):
        world.core.queue_lifecycle.create(properties())
    world.done(pending)
    assert world.queue().number != queue.number


def test_a_deleted_queue_is_not_opened_through_its_parts(world: World) -> None:
    queue, sub, journal = full(world)
    world.done(world.core.queue_lifecycle.delete(queue))
    for member in (queue, sub, journal):
        with pytest.raises(QueueNotAvailable):
            world.receiver.receive(member, 1, OWNER, wait=False)
        with pytest.raises(QueueNotAvailable):
            world.core.queue_lifecycle.purge(member)
