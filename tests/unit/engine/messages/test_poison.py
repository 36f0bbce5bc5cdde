"""Messages that are aborted: they rest, and when that happens too often they are poison."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.engine.world import HERE, NOW, World, letter

from openmsmq.engine.queues.queue import ManagedQueue
from openmsmq.engine.storage.history import Event
from openmsmq.engine.storage.tables import Table
from openmsmq.errors import IllegalPropertyValue
from openmsmq.properties.message import Acknowledge, MessageClass
from openmsmq.types.queues import Poison


def abort(world: World, queue: ManagedQueue, count: int = 1) -> None:
    """Take messages in a transaction that is aborted."""
    transaction = world.transactions.begin()
    world.take(queue, count, transaction)
    world.done(world.transactions.abort(transaction))


def fill(world: World, queue: ManagedQueue, *bodies: str) -> None:
    world.send_in(
        queue, *(letter(body, number=at, transactional=True) for at, body in enumerate(bodies, 1))
    )


def test_without_rules_a_message_comes_back_for_ever(world: World) -> None:
    queue = world.queue(transactional=True)
    fill(world, queue, "a")
    for _ in range(20):
        abort(world, queue)
    assert [record.abort_count for record in world.records(queue)] == [20]


def test_poison_goes_to_the_subqueue_with_the_abort_that_is_too_much(world: World) -> None:
    queue = world.queue(transactional=True, abort_limit=3)
    sent = letter("bad", transactional=True)
    world.send_in(queue, sent, letter("good", number=2, transactional=True))
    for _ in range(2):
        abort(world, queue)
    assert world.bodies(queue) == ["bad", "good"]
    transaction = world.transactions.begin()
    world.take(queue, 1, transaction)
    world.transactions.abort(transaction)
    world.commit()  # the one that counts the abort
    poison = world.subqueue(queue, "poison")
    assert world.bodies(poison) == ["bad"]
    assert world.bodies(queue) == ["good"]
    (record,) = world.records(poison)
    assert (record.abort_count, record.move_count, record.last_move_time) == (3, 1, NOW)
    assert world.reported(sent)[-1] == (Event.POISONED, "q;poison")
    assert world.count("poisoned") == 1


def test_poison_survives_a_restart(world: World) -> None:
    queue = world.queue(transactional=True, abort_limit=1)
    fill(world, queue, "bad")
    abort(world, queue)
    assert (queue.messages, world.subqueue(queue, "poison").messages) == (0, 1)
    again = world.restart()
    assert again.bodies(again.subqueue(again.find(), "poison")) == ["bad"]
    assert again.bodies(again.find()) == [], "it is not in both"
    assert (again.find().messages, len(again.rows(Table.INDEX))) == (0, 1)


def test_poison_that_is_moved_back_is_tried_anew(world: World) -> None:
    queue = world.queue(transactional=True, abort_limit=2)
    fill(world, queue, "bad")
    for _ in range(2):
        abort(world, queue)
    poison = world.subqueue(queue, "poison")
    world.move(poison, world.lookups(poison)[0], queue)
    assert [record.abort_count for record in world.records(queue)] == [0]
    abort(world, queue)
    assert world.bodies(queue) == ["bad"]


def test_in_a_subqueue_aborts_are_only_counted(world: World) -> None:
    queue = world.queue(transactional=True, abort_limit=1, retry_delay=5)
    fill(world, queue, "bad")
    abort(world, queue)
    poison = world.subqueue(queue, "poison")
    abort(world, poison)
    assert [record.abort_count for record in world.records(poison)] == [2]


def test_poison_becomes_a_dead_letter_with_a_reason(world: World) -> None:
    queue = world.queue(transactional=True, abort_limit=1, poison=Poison.DEAD_LETTER)
    admin = world.queue("admin")
    sent = letter(
        "bad", transactional=True, acknowledge=Acknowledge.NEG_RECEIVE, admin=HERE + "admin"
    )
    world.send_in(queue, sent)
    abort(world, queue)
    dead = world.core.queues.transactional_dead_letter
    assert world.bodies(queue) == []
    assert world.bodies(dead) == ["bad"]
    assert [r.message_class for r in world.records(dead)] == [MessageClass.NACK_RECEIVE_REJECTED]
    assert [v.message_class for v in world.views(admin)] == [MessageClass.NACK_RECEIVE_REJECTED]
    assert not queue.subqueues


def test_without_room_for_dead_letters_poison_stays(world: World) -> None:
    queue = world.queue(transactional=True, abort_limit=1, poison=Poison.DEAD_LETTER)
    dead = world.core.queues.transactional_dead_letter
    world.done(world.core.queue_lifecycle.change(dead, NOW, {"quota": 0}))
    fill(world, queue, "bad")
    abort(world, queue)
    assert world.bodies(queue) == ["bad"]
    assert world.count("poisoned") == 0
    world.done(world.core.queue_lifecycle.change(queue, NOW, {"retry_delay": 5}))
    abort(world, queue)
    assert world.bodies(queue) == [], "it rests meanwhile, as any other"
    world.tick(5)
    world.done(world.core.queue_lifecycle.change(dead, NOW, {"quota": 10}))
    abort(world, queue)
    assert world.bodies(dead) == ["bad"]


def test_a_message_rests_after_an_abort_and_others_go_ahead(world: World) -> None:
    queue = world.queue(transactional=True, retry_delay=5)
    fill(world, queue, "bad", "good")
    lookups = world.lookups(queue)
    abort(world, queue)
    assert world.bodies(queue) == ["good"]
    world.tick(4.9)
    assert world.bodies(queue) == ["good"]
    world.tick(0.1)
    assert world.bodies(queue) == ["bad", "good"]
    assert world.lookups(queue) == lookups, "it is in its old place"
    assert [record.abort_count for record in world.records(queue)] == [1, 0]
    assert [record.arrived_time for record in world.records(queue)] == [NOW, NOW]


def test_it_rests_over_a_restart(world: World) -> None:
    queue = world.queue(transactional=True, retry_delay=5, abort_limit=2)
    fill(world, queue, "bad")
    abort(world, queue)
    again = world.restart(1)
    found = again.find()
    assert again.bodies(found) == []
    again.tick(4)
    abort(again, found)
    assert again.bodies(again.subqueue(found, "poison")) == ["bad"]


def test_what_rests_may_expire(world: World) -> None:
    queue = world.queue(transactional=True, retry_delay=50)
    world.send_in(queue, letter("bad", transactional=True, expires=NOW + 3, dead_letter=True))
    abort(world, queue)
    world.tick(4)
    assert world.bodies(world.core.queues.transactional_dead_letter) == ["bad"]
    assert world.rows(Table.DELAYED) == {}


@pytest.mark.parametrize("when", ["before the commit", "while it runs"])
def test_what_was_purged_does_not_come_back(world: World, when: str) -> None:
    queue = world.queue(transactional=True, retry_delay=5)
    fill(world, queue, "bad")
    abort(world, queue)
    world.tick(5)
    transaction = world.transactions.begin()
    world.take(queue, 1, transaction)
    ended = world.transactions.abort(transaction)
    if when == "before the commit":
        world.core.queue_lifecycle.purge(queue)
    world.core.start_commit(world.store.begin())
    if when == "while it runs":
        world.core.queue_lifecycle.purge(queue)
    world.store.commit()
    world.core.finish_commit()
    world.done(ended)
    world.tick(10)
    assert world.bodies(queue) == []
    assert world.rows(Table.INDEX) == world.rows(Table.DELAYED) == {}


def test_a_prepared_transaction_counts_when_it_is_aborted(world: World) -> None:
    queue = world.queue(transactional=True, abort_limit=1)
    fill(world, queue, "bad")
    transaction = world.transactions.begin("x")
    world.take(queue, 1, transaction)
    world.done(world.transactions.prepare(transaction))
    again = world.restart()
    again.done(again.transactions.abort_prepared("x"))
    assert again.bodies(again.subqueue(again.find(), "poison")) == ["bad"]


def test_a_reader_that_is_gone_counts_for_nothing(world: World) -> None:
    """As in MSMQ: what a crash of the manager or a read in two steps gives back is no abort."""
    queue = world.queue(transactional=True, abort_limit=1)
    fill(world, queue, "fine")
    transaction = world.transactions.begin()
    world.take(queue, 1, transaction)
    again = world.restart()
    assert [record.abort_count for record in again.records(again.find())] == [0]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"abort_limit": 1}, "abort_limit: nothing is aborted in a plain queue"),
        ({"retry_delay": 1}, "retry_delay: nothing is aborted"),
        ({"abort_limit": -1, "transactional": True}, "abort_limit -1: 0 to"),
        ({"poison": "bin"}, "poison 'bin': subqueue or dead-letter is possible"),
    ],
)
def test_rules_that_make_no_sense_are_refused(
    world: World, given: dict[str, Any], words: str
) -> None:
    with pytest.raises(IllegalPropertyValue, match=words):
        world.queue(**given)


def test_aborts_are_counted_once_for_each_message(world: World) -> None:
    queue = world.queue(transactional=True)
    fill(world, queue, "a", "b")
    abort(world, queue, 2)
    abort(world, queue)
    assert world.count("aborted") == 3


def test_a_message_that_rests_is_not_in_its_place(world: World) -> None:
    """The others can be read at once, and the abort is in its record when it is back."""
    queue = world.queue(transactional=True, retry_delay=5)
    fill(world, queue, "a", "b")
    abort(world, queue)
    assert world.bodies(queue) == ["b"]
    world.tick(6)
    assert world.bodies(queue) == ["a", "b"]
    assert [record.abort_count for record in world.records(queue)] == [1, 0]
