"""Events of one commit: those of a run in one piece, others as they are."""

from __future__ import annotations

import pytest
from tests.unit.engine.runs import fill, history
from tests.unit.engine.world import ME, World, letter

from openmsmq.engine.commit.events import Events
from openmsmq.engine.storage.history import Event
from openmsmq.engine.storage.layout import NEVER, Record
from openmsmq.engine.storage.runs import stored
from openmsmq.engine.storage.tables import Table

ROW = Record(1, 1, 1, NEVER).pack()


@pytest.fixture
def world() -> World:
    return World()


def noted(world: World, order: list[int]) -> tuple[int, list[int]]:
    """How many pieces an event takes of some messages of a run, and which of them it names."""
    queue = world.queue()
    sent = fill(world, queue)
    found = [(lookup, raw) for lookup, raw, _ in stored(world.store.snapshot, queue.number)]
    before = [len(history(world, message)) for message in sent]
    events = Events(world.core.history, 5)
    messages = [found[at] for at in order]
    events.note_many(Event.MOVED, queue, messages, [sent[at].packet for at in order], "", "")
    writer = world.store.begin()
    writer.put_many(Table.HISTORY, events.pages(writer), append=True)
    writer.put_many(Table.META, events.state_rows)
    world.store.commit()
    world.store.refresh()
    events.committed()
    after = [len(history(world, message)) for message in sent]
    return len(events._pieces), [at for at in range(8) if after[at] > before[at]]


@pytest.mark.parametrize("order", [[0], [0, 1, 2], [3, 4, 5, 6, 7], list(range(8))])
def test_messages_that_follow_each_other_in_a_run_are_named_by_the_first(
    world: World, order: list[int]
) -> None:
    assert noted(world, order) == (1, order)


@pytest.mark.parametrize("order", [[0, 2], [1, 0], [2, 5, 7], [0, 7, 1, 3]])
def test_others_are_named_each(world: World, order: list[int]) -> None:
    assert noted(world, order) == (1, sorted(order))


def test_messages_of_a_run_and_others_are_pieces_of_their_own(world: World) -> None:
    queue = world.queue()
    sent = fill(world, queue)
    found = [(lookup, raw) for lookup, raw, _ in stored(world.store.snapshot, queue.number)]
    events = Events(world.core.history, 5)
    messages = [*found[:3], (9, ROW), (10, ROW), *found[3:]]
    packets = [message.packet for message in sent]
    other = letter("x", number=77).packet
    starts = [*packets[:3], other, other, *packets[3:]]
    events.note_many(Event.MOVED, queue, messages, starts, "", "")
    assert len(events._pieces) == 3


def test_without_a_history_nothing_is_kept(world: World) -> None:
    queue = world.queue()
    world.core.history.limit = 0
    events = Events(world.core.history, 5)
    events.note_run(Event.ARRIVED, queue, 1, 8, bytes(20), str(ME))
    events.note_many(Event.ARRIVED, queue, [(1, ROW)], [letter("a").packet], "", "")
    assert not events._pieces
    assert not events.are_kept
