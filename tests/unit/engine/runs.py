"""Queues with runs of eight messages, for tests."""

from __future__ import annotations

from typing import Any

from tests.unit.engine.world import World, letter

from openmsmq.engine.commit.batch import NewMessage
from openmsmq.engine.queues.queue import ManagedQueue
from openmsmq.engine.storage.history import Event
from openmsmq.engine.storage.layout import split_index_key
from openmsmq.engine.storage.runs import MessageRun
from openmsmq.engine.storage.tables import Table
from openmsmq.store.check.check import check_tables
from openmsmq.types.read import Seek

BODIES = list("abcdefgh")


def letters(*, transactional: bool = False, first: int = 1, **given: Any) -> list[NewMessage]:
    """Messages whose identifiers count up."""
    return [
        letter(body, number=number, transactional=transactional, **given)
        for number, body in enumerate(BODIES, first)
    ]


def fill(world: World, queue: ManagedQueue, **given: Any) -> list[NewMessage]:
    """Send eight messages at once, which are a run."""
    sent = letters(transactional=queue.properties.transactional, **given)
    if queue.properties.transactional:
        world.send_in(queue, *sent)
    else:
        world.send(queue, *sent)
    assert len(runs(world)) == 1
    assert not rows(world, queue)
    return sent


def runs(world: World) -> list[MessageRun]:
    return [MessageRun.unpack(key, row) for key, row in world.rows(Table.RUNS).items()]


def rows(world: World, queue: ManagedQueue) -> list[int]:
    """The lookup identifiers of messages of a queue with rows of their own."""
    keys = [split_index_key(key) for key in sorted(world.rows(Table.INDEX))]
    return [lookup for number, lookup in keys if number == queue.number]


def take_at(world: World, queue: ManagedQueue, lookup: int) -> None:
    """Receive the message at one place."""
    world.done(world.receiver.by_lookup(queue, lookup, Seek.CURRENT, peek=False))


def check(world: World) -> None:
    """The tables agree with one another."""
    report = check_tables(world.store.snapshot, 0)
    assert report.findings == ()


def history(world: World, message: NewMessage) -> list[Event]:
    """What happened to a message."""
    return [event for event, _ in world.reported(message)]
