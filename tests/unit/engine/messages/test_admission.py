"""Messages under ids of their own are sent once, whatever happens meanwhile."""

from __future__ import annotations

import pytest
from tests.unit.engine.world import World, letter

from openmsmq.engine.commit.batch import NewMessage
from openmsmq.engine.messages.dedup import dedup_key
from openmsmq.engine.queues.queue import ManagedQueue
from openmsmq.engine.transactions import transaction as transaction_module
from openmsmq.errors import QueueNotAvailable, QueueQuotaExceeded, StorageFailed


def once(queue: ManagedQueue, name: str, number: int, *, transactional: bool = False) -> NewMessage:
    sent = letter(f"{name}-{number}", number=number, transactional=transactional)
    return sent._replace(dedup_key=dedup_key(queue, name))


def test_a_message_is_sent_once_under_an_id(world: World, queue: ManagedQueue) -> None:
    assert world.done(world.enqueuer.post(queue, [once(queue, "a", 1)])) == [1]
    assert world.done(world.enqueuer.post(queue, [once(queue, "a", 2)])) == [1]
    assert world.bodies(queue) == ["a-1"]
    assert world.count("repeated sends") == 1


def test_it_is_so_after_it_was_received(world: World, queue: ManagedQueue) -> None:
    world.done(world.enqueuer.post(queue, [once(queue, "a", 1)]))
    world.take(queue)
    world.done(world.enqueuer.post(queue, [once(queue, "a", 2)]))
    assert world.bodies(queue) == []


def test_it_is_so_after_a_restart(world: World, queue: ManagedQueue) -> None:
    world.done(world.enqueuer.post(queue, [once(queue, "a", 1)]))
    again = world.restart()
    found = again.find()
    assert again.done(again.enqueuer.post(found, [once(found, "a", 2)])) == [1]
    assert again.bodies(found) == ["a-1"]


def test_two_that_are_committed_together_are_one(world: World, queue: ManagedQueue) -> None:
    first = world.enqueuer.post(queue, [once(queue, "a", 1)])
    second = world.enqueuer.post(queue, [once(queue, "b", 2), once(queue, "a", 3)])
    assert world.done(first) == [1]
    assert world.done(second) == [2, 1]
    assert world.bodies(queue) == ["a-1", "b-2"]


def test_the_same_id_twice_in_one_send_is_one_message(world: World, queue: ManagedQueue) -> None:
    both = [once(queue, "a", 1), once(queue, "a", 2)]
    assert world.done(world.enqueuer.post(queue, both)) == [1, 1]
    assert world.bodies(queue) == ["a-1"]
    assert world.count("repeated sends") == 1


def test_a_commit_that_failed_leaves_no_id(world: World, queue: ManagedQueue) -> None:
    sent = world.enqueuer.post(queue, [once(queue, "a", 1)])
    world.commit(StorageFailed("broken"))
    assert sent.error is not None
    assert queue.reserved == 0
    assert world.done(world.enqueuer.post(queue, [once(queue, "a", 2)])) == [2]


def test_a_known_message_needs_no_room(world: World) -> None:
    queue = world.queue(quota=1)
    first = letter("x" * 700)._replace(dedup_key=dedup_key(queue, "a"))
    world.done(world.enqueuer.post(queue, [first]))
    assert world.done(world.enqueuer.post(queue, [first])) == [1]
    with pytest.raises(QueueQuotaExceeded):
        world.enqueuer.post(queue, [first._replace(dedup_key=dedup_key(queue, "b"))])


def test_a_queue_that_is_deleted_meanwhile_takes_no_id(world: World, queue: ManagedQueue) -> None:
    sent = world.enqueuer.post(queue, [once(queue, "a", 1)])
    world.core.queue_lifecycle.delete(queue)
    with pytest.raises(QueueNotAvailable):
        world.done(sent)


def test_in_a_transaction_the_id_counts_when_it_commits(world: World) -> None:
    queue = world.queue(transactional=True)
    for number, ends in enumerate(("abort", "commit", "commit"), 1):
        transaction = world.transactions.begin()
        message = once(queue, "a", number, transactional=True)
        world.done(world.enqueuer.post(queue, [message], transaction))
        world.done(getattr(world.transactions, ends)(transaction))
    assert world.bodies(queue) == ["a-2"]


@pytest.mark.parametrize("spills", [False, True])
def test_of_two_transactions_with_the_same_id_the_first_that_commits_sends(
    world: World, monkeypatch: pytest.MonkeyPatch, spills: bool
) -> None:
    if spills:
        monkeypatch.setattr(transaction_module, "SPILL_SIZE", 0)
    queue = world.queue(transactional=True)
    both = [world.transactions.begin("x"), world.transactions.begin("y")]
    for number, transaction in enumerate(both, 1):
        message = once(queue, "a", number, transactional=True)
        world.done(world.enqueuer.post(queue, [message], transaction))
    world.done(world.transactions.prepare(both[0]))
    world.done(world.transactions.commit(both[1]))
    again = world.restart()
    again.done(again.transactions.commit_prepared("x"))
    assert again.bodies(again.find()) == ["a-2"]
    assert again.core.total_size == again.find().size
    assert again.count("repeated sends") == world.count("repeated sends") + 1
    assert again.count("arrived") == world.count("arrived") == 1
