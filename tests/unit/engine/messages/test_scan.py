"""Finding messages and taking them, over what is on disk and what is in memory."""

from __future__ import annotations

from typing import NoReturn

import pytest
from tests.unit.engine.runs import fill
from tests.unit.engine.world import NOW, OWNER, World, letter, message, packets

from openmsmq.engine.commit.future import Future
from openmsmq.engine.commit.run_rows import NewRun
from openmsmq.engine.messages.cursor import CursorState, QueueCursor
from openmsmq.engine.messages.scan import (
    fetch,
    first_readable,
    first_sendable,
    hold,
    last_fitting,
    oldest,
    readable,
    readable_back,
    up_to,
)
from openmsmq.engine.queues.entry import Entry
from openmsmq.engine.queues.holds import Holder
from openmsmq.engine.queues.queue import ManagedQueue
from openmsmq.engine.queues.waiter import Waiter
from openmsmq.engine.storage.layout import CHUNK_SIZE, Record
from openmsmq.engine.storage.runs import Found
from openmsmq.engine.storage.tables import Snapshot, Table
from openmsmq.types.lookup import LOOKUP_MAX

PARTNER = Holder()


@pytest.fixture
def queue(world: World) -> ManagedQueue:
    """Two messages a priority, of both kinds, sent lowest priority first."""
    queue = world.queue()
    for priority in (1, 4, 6):
        world.send(queue, f"{priority}a", priority=priority)
        world.send(queue, f"{priority}b", priority=priority, express=True)
    return queue


ORDER = ["6a", "6b", "4a", "4b", "1a", "1b"]


def forward(world: World, queue: ManagedQueue, after: int = 0) -> list[str]:
    found = list(readable(world.core.snapshot, queue, after))
    return packets(fetch(world.core.snapshot, queue, found))


def backward(world: World, queue: ManagedQueue, before: int = LOOKUP_MAX) -> list[str]:
    found = list(readable_back(world.core.snapshot, queue, before))
    return packets(fetch(world.core.snapshot, queue, found))


def test_messages_are_found_by_priority_then_arrival(world: World, queue: ManagedQueue) -> None:
    """DMPR-043, DMPR-243, DMPR-244."""
    assert forward(world, queue) == ORDER
    assert backward(world, queue) == ORDER[::-1]


def test_a_search_begins_beside_the_place_it_is_given(world: World, queue: ManagedQueue) -> None:
    """DMPR-243, DMPR-244."""
    for place, lookup in enumerate(world.lookups(queue)):
        assert forward(world, queue, lookup) == ORDER[place + 1 :]
        assert backward(world, queue, lookup) == ORDER[:place][::-1]


def test_nothing_lies_behind_the_last_place(world: World, queue: ManagedQueue) -> None:
    assert forward(world, queue, LOOKUP_MAX) == []
    assert backward(world, queue, 0) == []


def test_an_empty_queue_has_nothing_to_find(world: World, queue: ManagedQueue) -> None:
    """Neighbours in the index are not its messages (DMPR-044)."""
    empty = world.queue("empty")
    world.send(world.queue("later"), "x")
    assert forward(world, empty) == backward(world, empty) == []


def test_messages_that_are_held_are_skipped(world: World, queue: ManagedQueue) -> None:
    """DMPR-204, DMPR-245."""
    for lookup in world.lookups(queue)[1:4]:
        queue.holds.hold([lookup], PARTNER)
    assert forward(world, queue) == ["6a", "1a", "1b"]
    assert backward(world, queue) == ["1b", "1a", "6a"]


def test_messages_that_were_purged_are_skipped_though_still_there(
    world: World, queue: ManagedQueue
) -> None:
    """DMPR-204."""
    world.core.queue_lifecycle.purge(queue)
    world.send(queue, "new", priority=1, express=True)
    assert forward(world, queue) == ["new"]
    assert backward(world, queue) == ["new"]


def test_the_first_messages_are_as_many_as_asked_for(world: World, queue: ManagedQueue) -> None:
    snapshot = world.core.snapshot
    assert len(first_readable(snapshot, queue, 4)) == 4
    assert len(first_readable(snapshot, queue, 100)) == 6
    lookups = world.lookups(queue)
    assert [item[0] for item in first_readable(snapshot, queue, 2, lookups[2])] == lookups[3:5]


@pytest.mark.parametrize("express", [False, True])
def test_packets_of_every_size_are_fetched_whole(world: World, express: bool) -> None:
    queue = world.queue()
    sent = [bytes([i]) * size for i, size in enumerate((1, CHUNK_SIZE, CHUNK_SIZE + 1, 50_000, 7))]
    world.send(queue, *(message(packet) for packet in sent))
    if express:
        world.send(queue, "last", express=True)
        sent.append(b"last")
    found = first_readable(world.core.snapshot, queue, 10)
    assert [entry.packet for entry in fetch(world.core.snapshot, queue, found)] == sent
    assert fetch(world.core.snapshot, queue, []) == []


def test_holding_the_first_messages_spares_the_next_search_to_pass_them(
    world: World, queue: ManagedQueue
) -> None:
    found = first_readable(world.core.snapshot, queue, 2)
    entries = fetch(world.core.snapshot, queue, found)
    hold(queue, entries, PARTNER, from_start=True)
    assert queue.start == entries[-1].lookup
    assert forward(world, queue) == ORDER[2:]


def test_holding_a_message_elsewhere_leaves_those_before_it_readable(
    world: World, queue: ManagedQueue
) -> None:
    entries = fetch(world.core.snapshot, queue, first_readable(world.core.snapshot, queue, 3))
    hold(queue, entries[2:], PARTNER, from_start=False)
    hold(queue, [], PARTNER, from_start=True)
    assert forward(world, queue) == ["6a", "6b", "4b", "1a", "1b"]


def test_no_more_bytes_are_found_than_were_asked_for(world: World) -> None:
    """But one message in any case."""
    queue = world.queue()
    world.send(queue, "12345", "678", "90")
    found = first_readable(world.core.snapshot, queue, 9)
    expected = {0: 1, 5: 1, 7: 1, 8: 2, 9: 2, 10: 3, 100: 3}
    for size, count in expected.items():
        assert up_to(found, size) == found[:count]
    assert up_to([], 5) == []


def test_the_oldest_message_is_found_whatever_its_priority() -> None:
    world = World()
    queue = world.queue()
    assert oldest(world.core.snapshot, queue) is None
    for seconds, (priority, express) in enumerate([(3, True), (7, False), (0, False), (7, True)]):
        world.tick(float(seconds))
        world.send(queue, str(seconds), priority=priority, express=express)
    for expected in (NOW, NOW + 1, NOW + 3, NOW + 6):
        found = oldest(world.core.snapshot, queue)
        assert found == expected
        (entry,) = (
            e for e in world.entries(queue) if Record.unpack(e.record).arrived_time == found
        )
        world.lookup(queue, entry.lookup, peek=False)
    assert oldest(world.core.snapshot, queue) is None


def test_a_read_that_waits_no_longer_frees_its_cursor() -> None:
    """DMPR-104, DMPR-267."""
    pending: Future[list[Entry]] = Future()
    cursor = QueueCursor()
    cursor.wait(0, destructive=False)
    Waiter(lambda fresh: False, pending, OWNER, cursor).give_up()
    assert cursor.state is CursorState.UNREAD
    plain = Waiter(lambda fresh: False, pending, OWNER)
    assert plain.cursor is None
    plain.give_up()


@pytest.mark.parametrize(("overdue", "left"), [(0, "ab"), (NOW + 9, "ab"), (NOW + 10, "ab")])
def test_a_message_is_leaving_when_its_last_second_is_over(
    world: World, overdue: int, left: str
) -> None:
    queue = world.queue()
    world.send(queue, message("a", expires=NOW + 10), message("b"))
    snapshot = world.core.snapshot
    for find in (readable, first_sendable_of):
        found = list(find(snapshot, queue, 0, overdue))
        assert packets(fetch(snapshot, queue, found)) == list(left)
        found = list(find(snapshot, queue, 0, NOW + 11))
        assert packets(fetch(snapshot, queue, found)) == ["b"]


def fail(error: BaseException) -> NoReturn:
    """What no commit here comes to."""
    raise error


@pytest.mark.parametrize(("overdue", "left"), [(0, 8), (NOW + 10, 8), (NOW + 11, 0)])
def test_so_are_the_messages_of_a_run(world: World, overdue: int, left: int) -> None:
    queue = world.queue()
    sent = [letter(str(n), number=n).packet for n in range(1, 9)]
    run = NewRun(b"".join(sent), list(map(len, sent)), 3, expires=NOW + 10)
    world.core.submit(lambda batch: batch.insert_run(queue, run, ""), lambda: None, fail)
    world.commit()
    assert len(world.rows(Table.RUNS)) == 1
    snapshot = world.core.snapshot
    assert len(list(readable(snapshot, queue, 0, overdue))) == left
    assert len(list(readable_back(snapshot, queue, LOOKUP_MAX, overdue))) == left
    assert len(first_sendable(snapshot, queue, 10, overdue)) == left


def first_sendable_of(
    snapshot: Snapshot, queue: ManagedQueue, after: int, overdue: int
) -> list[Found]:
    return first_sendable(snapshot, queue, 10, overdue)


@pytest.mark.parametrize("more", [[], ["single"], ["single", "express"]])
def test_messages_of_runs_are_fetched_beside_others(world: World, more: list[str]) -> None:
    queue = world.queue()
    sent = fill(world, queue)
    for text in more:
        world.send(queue, text, express=text == "express")
    found = list(readable(world.core.snapshot, queue, 0))
    entries = fetch(world.core.snapshot, queue, found)
    expected = [one.packet for one in sent] + [text.encode() for text in more]
    assert [entry.packet for entry in entries] == expected
    assert [(entry.lookup, entry.record) for entry in entries] == [item[:2] for item in found]
    assert [entry.express for entry in entries] == [False] * 8 + [
        text == "express" for text in more
    ]


@pytest.mark.parametrize(("size_max", "texts"), [(1, ["cc"]), (3, ["cc"]), (4, ["cc", "bb"])])
def test_the_last_messages_are_as_many_as_fit(
    world: World, size_max: int, texts: list[str]
) -> None:
    queue = world.queue()
    world.send(queue, message("aa"), message("bb"), message("cc"))
    snapshot = world.core.snapshot
    found = last_fitting(snapshot, queue, 10, LOOKUP_MAX, 0, size_max)
    assert packets(fetch(snapshot, queue, found)) == texts
