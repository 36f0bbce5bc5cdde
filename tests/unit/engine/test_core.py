"""Queues, handles, and commits that many callers share."""

from __future__ import annotations

from typing import Any

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

from openmsmq.engine.commit.batch import Batch
from openmsmq.engine.commit.future import Future
from openmsmq.engine.commit.run_rows import NewRun
from openmsmq.engine.queues import purge as emptying
from openmsmq.engine.subscriptions.reservations import Reservations
from openmsmq.engine.subscriptions.subscription import SubscriptionMode
from openmsmq.engine.transactions.transaction import SPILL_SIZE
from openmsmq.errors import (
    GenericError,
    IllegalPropertyValue,
    InsufficientResources,
    OperationCancelled,
    QueueNotFound,
    StorageFailed,
    StorageFull,
)
from openmsmq.types.caller import INTERNAL
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
    created = world.core.queue_lifecycle.create(properties("new"))
    commits = world.store.writes
    world.commit()
    assert all(pending.done for pending in sends)
    assert created.done
    assert not world.core.wants_commit
    assert world.store.writes > commits
    assert world.read(queue) == list("01234")


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


def test_when_a_commit_fails_everyone_is_notified_and_nothing_has_changed(world: World) -> None:
    queue = world.queue(label="old")
    world.send(queue, "a", "b")
    disk = world.store.committed
    asked: list[Future[Any]] = [
        world.enqueuer.send(queue, [message("c")]),
        world.receiver.receive(queue, 1, OWNER, wait=False),
        world.core.queue_lifecycle.create(properties("new")),
        world.core.queue_lifecycle.change(queue, NOW, {"label": "new"}),
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
    purge = world.core.queue_lifecycle.purge(queue)
    world.commit(StorageFull("disk"))
    later = world.enqueuer.send(other, [message("d")])
    assert isinstance(sends.error, StorageFull)
    assert not receives.done
    assert packets(world.done(receives)) == ["a"]
    assert purge.result() == 1
    assert later.done
    assert world.read(other) == ["d"]


def test_on_a_full_disk_what_needs_room_is_refused(world: World) -> None:
    """At once, and it is not tried again with what frees some."""
    queue, ordered = world.queue(), world.queue("ordered", transactional=True)
    staged = world.transactions.begin()
    world.done(world.enqueuer.send(ordered, [message("a", priority=0)], staged))
    prepared = world.transactions.begin("x")
    world.done(world.enqueuer.send(ordered, [message("b", priority=0)], prepared))
    known = letter("k", number=9)._replace(dedup_key=b"k" * 16)
    reservations = Reservations(world.core)
    run = NewRun(b"ab", [1, 1], 3)
    asked: dict[str, Future[Any]] = {
        "create": world.core.queue_lifecycle.create(properties("new")),
        "change": world.core.queue_lifecycle.change(queue, NOW, {"label": "new"}),
        "configure": world.core.configure(audit=0),
        "send": world.enqueuer.send(queue, [message("c")]),
        "send several": world.enqueuer.send(queue, [message("d"), message("e")]),
        "send a run": world.enqueuer.send_run(queue, run, None, INTERNAL, None),
        "send what is delayed": world.enqueuer.send(queue, [message("f")._replace(due=NOW + 9)]),
        "post": world.enqueuer.post(queue, [known]),
        "commit": world.transactions.commit(staged),
        "prepare": world.transactions.prepare(prepared),
        "subscribe": reservations.open("lake", queue, SubscriptionMode.COPY),
    }
    world.commit(StorageFull("disk"))
    assert {what: type(pending.error) for what, pending in asked.items()} == dict.fromkeys(
        asked, StorageFull
    )
    assert not world.core.wants_commit
    assert world.read(queue) == []
    assert sorted(names(world)) == ["ordered", "q"]


def test_on_a_full_disk_what_a_transaction_sends_is_refused(world: World) -> None:
    queue, other = world.queue(), world.queue("other", transactional=True)
    world.send(queue, "a")
    transaction = world.transactions.begin()
    sends = world.enqueuer.send(other, [message(b"x" * (SPILL_SIZE + 1))], transaction)
    receives = world.receiver.receive(queue, 1, OWNER, wait=False)
    world.commit(StorageFull("disk"))
    assert isinstance(sends.error, StorageFull)
    assert packets(world.done(receives)) == ["a"], "what frees room is tried again"


@pytest.mark.parametrize("grows", [True, False])
def test_on_a_full_disk_what_is_alone_is_refused(world: World, grows: bool) -> None:
    queue = world.queue()
    world.send(queue, "a")
    send = world.enqueuer.send
    pending: Future[Any] = (
        send(queue, [message("b")]) if grows else world.core.queue_lifecycle.purge(queue)
    )
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


def test_a_refusal_by_an_operation_is_reported_as_it_is(world: World) -> None:
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


def test_when_no_commit_can_be_begun_everyone_is_notified(world: World) -> None:
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


# Handles and readers


def test_all_reads_can_be_cancelled_at_once(world: World) -> None:
    waiting = [world.wait_receive(world.queue(name)) for name in "ab"]
    world.core.cancel_everywhere(OperationCancelled("closed"))
    assert all(isinstance(pending.error, OperationCancelled) for pending in waiting)


def test_after_a_full_disk_work_goes_on(world: World) -> None:
    queue = world.queue()
    send = world.enqueuer.send(queue, [message("x")])
    change = world.core.queue_lifecycle.change(queue, NOW, {})
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


def test_a_store_is_asked_for_room_once_for_each_commit(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue = world.queue()
    asked = []

    def has_room() -> bool:
        asked.append(1)
        return True

    monkeypatch.setattr(world.store, "has_room", has_room)
    for _ in range(2):
        for text in "abc":
            world.enqueuer.send(queue, [message(text)])
        commit_all(world.core)
    assert len(asked) == 2


# The end


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
